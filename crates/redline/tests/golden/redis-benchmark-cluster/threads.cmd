redis-benchmark -p 7001 --cluster -n 300 -t get --threads 2 -P 4 -c 5
