require "redis"

redis = Redis.new(host: ARGV[0], port: ARGV[1])

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
