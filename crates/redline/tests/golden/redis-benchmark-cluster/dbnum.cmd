redis-benchmark -p 7001 --cluster -n 30 -t set -q --dbnum 3
