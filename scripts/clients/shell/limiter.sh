#!/bin/sh
set -eu
host=$1 ports=$(echo "$2" | tr , ' ') # of one node, or of all of a cluster
port=${ports%% *}
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

# A policy is a limit that the server keeps and all of its users share. A map is
# a line for each name, and one below it for its value.
values() { awk -v names="$1" 'NR % 2 == 0 && names ~ name { print } { name = "<" $0 ">" }'; }
ask RL.POLICY.SET logins LIMIT 2 WINDOW 1h ENDPOINT 'POST /login' >/dev/null
echo policy $(ask RL.POLICY.GET logins | values '<limit> <window>')
echo policies $(ask RL.POLICY.LIST | tail -n +2 | values '<name>')
for _ in 1 2 3; do
    echo check $(ask RL.CHECK user:11 ENDPOINT 'POST /login' | awk 'NR < 4 || NR == 6')
done

# The node that was told has it at once; the others have it a moment later.
for port in $ports; do
    for _ in $(seq 100); do
        policy=$(ask RL.POLICY.GET logins)
        [ -z "$policy" ] || break
        sleep 0.02
    done
    echo node $(echo "$policy" | values '<limit> <window>')
done
echo reset $(ask RL.RESET user:11 POLICY logins)
echo deleted $(ask RL.POLICY.DEL logins)
