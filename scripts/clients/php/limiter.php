<?php

$nodes = [];
foreach (explode(',', $argv[2]) as $port) { // of one node, or of all of a cluster
    $node = new Redis();
    $node->connect($argv[1], (int) $port);
    $nodes[] = $node;
}
$redis = $nodes[0];

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

// A map is an array of names and values in RESP2.
function fields(array $reply): array
{
    return array_column(array_chunk($reply, 2), 1, 0);
}

// A policy is a limit that the server keeps and all of its users share.
$redis->rawCommand('RL.POLICY.SET', 'logins', 'LIMIT', 2, 'WINDOW', '1h', 'ENDPOINT', 'POST /login');
$policy = fields($redis->rawCommand('RL.POLICY.GET', 'logins'));
echo "policy {$policy['limit']} {$policy['window']}\n";
[$cursor, $policies] = $redis->rawCommand('RL.POLICY.LIST');
echo 'policies ', implode(' ', array_column(array_map('fields', $policies), 'name')), "\n";
for ($i = 0; $i < 3; $i++) {
    [$allowed, $limit, $remaining, $waitMs, $resetMs, $name] = $redis->rawCommand('RL.CHECK', 'user:11', 'ENDPOINT', 'POST /login');
    echo "check $allowed $limit $remaining $name\n";
}

// The node that was told has it at once; the others have it a moment later.
$deadline = microtime(true) + 2;
foreach ($nodes as $node) {
    while (!($reply = $node->rawCommand('RL.POLICY.GET', 'logins')) && microtime(true) < $deadline) {
        usleep(20000);
    }
    $policy = fields($reply);
    echo "node {$policy['limit']} {$policy['window']}\n";
}
echo 'reset ', $redis->rawCommand('RL.RESET', 'user:11', 'POLICY', 'logins'), "\n";
echo 'deleted ', $redis->rawCommand('RL.POLICY.DEL', 'logins'), "\n";
