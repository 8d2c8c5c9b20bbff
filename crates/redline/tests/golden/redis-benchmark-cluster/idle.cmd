redis-benchmark -p 7001 --cluster -I -c 5
