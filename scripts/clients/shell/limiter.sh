#!/bin/sh
set -eu
host=$1 port=$2
# With -e an error is an exit code. A denial is none.
ask() { redis-cli -e -h "$host" -p "$port" "$@"; }

# Two requests an hour. The third is denied; the first line of a reply says so.
for _ in 1 2 3; do
    reply=$(ask RL.ALLOW user:7 2 1h)
    echo allow $reply
done

# As redis-cell: a burst of 1 + 1, then 2 an hour.
for _ in 1 2 3; do
    reply=$(ask CL.THROTTLE user:8 1 2 3600)
    echo throttle $reply
done

# Several decisions on one connection: five lines each.
replies=$(for _ in 1 2 3; do echo RL.ALLOW user:9 2 1h; done | ask)
echo pipeline $(echo "$replies" | awk 'NR % 5 == 1')

# MULTI ... EXEC: behind an OK and a QUEUED for each come the replies.
replies=$({ echo MULTI; for _ in 1 2 3; do echo RL.ALLOW user:10 2 1h; done; echo EXEC; } | ask)
echo transaction $(echo "$replies" | awk 'NR > 4 && NR % 5 == 0')
