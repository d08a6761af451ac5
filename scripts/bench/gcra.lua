-- GCRA in whole microseconds: what a team without a limiter writes on Redis.
-- KEYS[1]: the key. ARGV: the limit, which is the burst too, and the window in
-- milliseconds. Replies like RL.ALLOW: allowed, limit, remaining, wait_ms,
-- reset_ms.
local limit = tonumber(ARGV[1])
local unit = math.floor(tonumber(ARGV[2]) * 1000 / limit)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full = tonumber(redis.call('GET', KEYS[1]) or now)
if full < now then full = now end
local after = full + unit - now
if after > limit * unit then
  return {0, limit, 0, math.ceil((after - limit * unit) / 1000), math.ceil((full - now) / 1000)}
end
redis.call('SET', KEYS[1], now + after, 'PX', math.ceil(after / 1000))
return {1, limit, math.floor((limit * unit - after) / unit), 0, math.ceil(after / 1000)}
