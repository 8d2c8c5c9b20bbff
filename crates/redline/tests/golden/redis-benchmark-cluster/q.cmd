redis-benchmark -p 7001 --cluster -n 300 -t set,get,lpush,mset -q -r 1000
