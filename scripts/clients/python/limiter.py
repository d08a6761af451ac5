import sys

import redis

r = redis.Redis(host=sys.argv[1], port=int(sys.argv[2]))

# Two requests an hour. The third is denied; that is a reply, not an exception.
for _ in range(3):
    allowed, limit, remaining, wait_ms, reset_ms = r.execute_command("RL.ALLOW", "user:7", 2, "1h")
    print("allow", allowed, limit, remaining, wait_ms, reset_ms)

# As redis-cell: a burst of 1 + 1, then 2 an hour.
for _ in range(3):
    limited, limit, remaining, retry_after, reset_after = r.execute_command("CL.THROTTLE", "user:8", 1, 2, 3600)
    print("throttle", limited, limit, remaining, retry_after, reset_after)

# Several decisions in one round trip.
pipe = r.pipeline(transaction=False)
for _ in range(3):
    pipe.execute_command("RL.ALLOW", "user:9", 2, "1h")
print("pipeline", *(allowed for allowed, *_ in pipe.execute()))

# The default pipeline is MULTI ... EXEC.
pipe = r.pipeline()
for _ in range(3):
    pipe.execute_command("RL.ALLOW", "user:10", 2, "1h")
print("transaction", *(allowed for allowed, *_ in pipe.execute()))
