require "redis"

host, ports = ARGV[0], ARGV[1].split(",") # of one node, or of all of a cluster
nodes = ports.map { |port| Redis.new(host: host, port: port) }
redis = nodes.first

# Two requests an hour. The third is denied; that is a reply, not an exception.
3.times do
  allowed, limit, remaining, wait_ms, reset_ms = redis.call("RL.ALLOW", "user:7", 2, "1h")
  puts "allow #{allowed} #{limit} #{remaining} #{wait_ms} #{reset_ms}"
end

# As redis-cell: a burst of 1 + 1, then 2 an hour.
3.times do
  limited, limit, remaining, retry_after, reset_after = redis.call("CL.THROTTLE", "user:8", 1, 2, 3600)
  puts "throttle #{limited} #{limit} #{remaining} #{retry_after} #{reset_after}"
end

# Several decisions in one round trip.
replies = redis.pipelined do |pipeline|
  3.times { pipeline.call("RL.ALLOW", "user:9", 2, "1h") }
end
puts "pipeline #{replies.map(&:first).join(" ")}"

# MULTI ... EXEC.
replies = redis.multi do |transaction|
  3.times { transaction.call("RL.ALLOW", "user:10", 2, "1h") }
end
puts "transaction #{replies.map(&:first).join(" ")}"

# A policy is a limit that the server keeps and all of its users share. A map is
# an array of names and values in RESP2.
redis.call("RL.POLICY.SET", "logins", "LIMIT", 2, "WINDOW", "1h", "ENDPOINT", "POST /login")
policy = Hash[*redis.call("RL.POLICY.GET", "logins")]
puts "policy #{policy["limit"]} #{policy["window"]}"
_cursor, policies = redis.call("RL.POLICY.LIST")
puts "policies #{policies.map { |fields| Hash[*fields]["name"] }.join(" ")}"
3.times do
  allowed, limit, remaining, wait_ms, reset_ms, name = redis.call("RL.CHECK", "user:11", "ENDPOINT", "POST /login")
  puts "check #{allowed} #{limit} #{remaining} #{name}"
end

# The node that was told has it at once; the others have it a moment later.
deadline = Time.now + 2
nodes.each do |node|
  sleep 0.02 until (reply = node.call("RL.POLICY.GET", "logins")) || Time.now > deadline
  policy = Hash[*reply]
  puts "node #{policy["limit"]} #{policy["window"]}"
end
puts "reset #{redis.call("RL.RESET", "user:11", "POLICY", "logins")}"
puts "deleted #{redis.call("RL.POLICY.DEL", "logins")}"
