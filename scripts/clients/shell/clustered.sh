#!/bin/sh
set -eu
host=$1 port=$2 # of one node
# With -c it goes where it is sent, and asks the next one there.
ask() { redis-cli -c -e -h "$host" -p "$port" "$@"; }

# Two requests an hour, for keys that all nodes count. The first line of five is
# whether it may pass.
for _ in 1 2 3; do
    echo allow $(for i in $(seq 0 29); do ask RL.ALLOW "user:$i" 2 1h; done | awk 'NR % 5 == 1 { n += $1 } END { print n }')
done

# On one connection, as long as nobody sends it elsewhere.
echo pipeline $(for i in $(seq 0 29); do echo "RL.ALLOW pipeline:$i 2 1h"; done | ask | awk '/^[0-9]+$/ && ++line % 5 == 1 { n += $1 } END { print n }')

echo check $(for i in 0 1 2 3 4; do ask RL.CHECK "client:$i" | head -n 1; done | awk '{ n += $1 } END { print n }')
