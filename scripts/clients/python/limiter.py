import sys
import time

import redis

host, ports = sys.argv[1], sys.argv[2].split(",")  # of one node, or of all of a cluster
nodes = [redis.Redis(host=host, port=int(port), decode_responses=True) for port in ports]
r = nodes[0]

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


def fields(reply):
    """A map is a list of names and values in RESP2."""
    return dict(zip(reply[::2], reply[1::2]))


# A policy is a limit that the server keeps and all of its users share.
r.execute_command("RL.POLICY.SET", "logins", "LIMIT", 2, "WINDOW", "1h", "ENDPOINT", "POST /login")
policy = fields(r.execute_command("RL.POLICY.GET", "logins"))
print("policy", policy["limit"], policy["window"])
cursor, policies = r.execute_command("RL.POLICY.LIST")
print("policies", *(fields(policy)["name"] for policy in policies))
for _ in range(3):
    allowed, limit, remaining, wait_ms, reset_ms, policy, *_ = r.execute_command("RL.CHECK", "user:11", "ENDPOINT", "POST /login")
    print("check", allowed, limit, remaining, policy)

# The node that was told has it at once; the others have it a moment later.
deadline = time.monotonic() + 2
for node in nodes:
    while (reply := node.execute_command("RL.POLICY.GET", "logins")) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    policy = fields(reply)
    print("node", policy["limit"], policy["window"])
print("reset", r.execute_command("RL.RESET", "user:11", "POLICY", "logins"))
print("deleted", r.execute_command("RL.POLICY.DEL", "logins"))
