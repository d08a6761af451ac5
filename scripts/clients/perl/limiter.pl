use strict;
use warnings;
use Redis;
use Time::HiRes qw(sleep time);

my ($host, $ports) = @ARGV; # the ports of one node, or of all of a cluster
my @nodes = map { Redis->new(server => "$host:$_") } split /,/, $ports;
my $redis = $nodes[0];

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

# A policy is a limit that the server keeps and all of its users share. A map is
# a list of names and values in RESP2.
my ($set, $get, $list, $delete) = map { "RL.POLICY.$_" } qw(SET GET LIST DEL);
my ($check, $reset) = ('RL.CHECK', 'RL.RESET');
$redis->$set('logins', 'LIMIT', 2, 'WINDOW', '1h', 'ENDPOINT', 'POST /login');
my %policy = $redis->$get('logins');
print "policy $policy{limit} $policy{window}\n";
my ($cursor, $policies) = $redis->$list;
print "policies @{[map { my %fields = @$_; $fields{name} } @$policies]}\n";
for (1 .. 3) {
    my ($allowed, $limit, $remaining, $wait_ms, $reset_ms, $name) = $redis->$check('user:11', 'ENDPOINT', 'POST /login');
    print "check $allowed $limit $remaining $name\n";
}

# The node that was told has it at once; the others have it a moment later.
my $deadline = time + 2;
for my $node (@nodes) {
    my @reply;
    sleep 0.02 until @reply = grep { defined } $node->$get('logins') or time > $deadline;
    my %policy = @reply;
    print "node $policy{limit} $policy{window}\n";
}
print "reset @{[$redis->$reset('user:11', 'POLICY', 'logins')]}\n";
print "deleted @{[$redis->$delete('logins')]}\n";
