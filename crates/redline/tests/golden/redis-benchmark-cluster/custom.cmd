redis-benchmark -p 7001 --cluster -n 300 -q set key:{tag}:x v
