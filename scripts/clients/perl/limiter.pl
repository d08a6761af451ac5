use strict;
use warnings;
use Redis;

my ($host, $port) = @ARGV;
my $redis = Redis->new(server => "$host:$port");

# The module makes a command of a method's name; ours have a dot, which a string may have.
my ($allow, $throttle) = ('RL.ALLOW', 'CL.THROTTLE');

# Two requests an hour. The third is denied; that is a reply, not an exception.
for (1 .. 3) {
    my ($allowed, $limit, $remaining, $wait_ms, $reset_ms) = $redis->$allow('user:7', 2, '1h');
    print "allow $allowed $limit $remaining $wait_ms $reset_ms\n";
}

# As redis-cell: a burst of 1 + 1, then 2 an hour.
for (1 .. 3) {
    my ($limited, $limit, $remaining, $retry_after, $reset_after) = $redis->$throttle('user:8', 1, 2, 3600);
    print "throttle $limited $limit $remaining $retry_after $reset_after\n";
}

# Several decisions in one round trip: a callback for each, then a wait for all.
my @granted;
for (1 .. 3) {
    $redis->$allow('user:9', 2, '1h', sub { my ($reply, $error) = @_; push @granted, $reply->[0] });
}
$redis->wait_all_responses;
print "pipeline @granted\n";

# MULTI ... EXEC.
$redis->multi;
$redis->$allow('user:10', 2, '1h') for 1 .. 3;
print "transaction @{[map { $_->[0] } $redis->exec]}\n";
