import sys

from redis.cluster import RedisCluster

host, port = sys.argv[1:3]  # of one node, from which it learns the others
redis = RedisCluster(host=host, port=int(port))

# Two requests an hour, for keys that all nodes count.
for _ in range(3):
    print("allow", sum(redis.execute_command("RL.ALLOW", f"user:{i}", 2, "1h")[0] for i in range(30)))

# One round trip to each node.
pipeline = redis.pipeline()
for i in range(30):
    pipeline.execute_command("RL.ALLOW", f"pipeline:{i}", 2, "1h")
print("pipeline", sum(reply[0] for reply in pipeline.execute()))

print("check", sum(redis.execute_command("RL.CHECK", f"client:{i}")[0] for i in range(5)))
redis.close()
