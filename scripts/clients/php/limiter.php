<?php

$redis = new Redis();
$redis->connect($argv[1], (int) $argv[2]);

// Two requests an hour. The third is denied; that is a reply, not an exception.
for ($i = 0; $i < 3; $i++) {
    [$allowed, $limit, $remaining, $waitMs, $resetMs] = $redis->rawCommand('RL.ALLOW', 'user:7', 2, '1h');
    echo "allow $allowed $limit $remaining $waitMs $resetMs\n";
}

// As redis-cell: a burst of 1 + 1, then 2 an hour.
for ($i = 0; $i < 3; $i++) {
    [$limited, $limit, $remaining, $retryAfter, $resetAfter] = $redis->rawCommand('CL.THROTTLE', 'user:8', 1, 2, 3600);
    echo "throttle $limited $limit $remaining $retryAfter $resetAfter\n";
}

// Several decisions in one round trip.
$redis->multi(Redis::PIPELINE);
for ($i = 0; $i < 3; $i++) {
    $redis->rawCommand('RL.ALLOW', 'user:9', 2, '1h');
}
echo 'pipeline ', implode(' ', array_column($redis->exec(), 0)), "\n";

// MULTI ... EXEC.
$redis->multi();
for ($i = 0; $i < 3; $i++) {
    $redis->rawCommand('RL.ALLOW', 'user:10', 2, '1h');
}
echo 'transaction ', implode(' ', array_column($redis->exec(), 0)), "\n";
