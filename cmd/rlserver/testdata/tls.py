# redis-py over TLS: HOST PORT CA CERT KEY PASSWORD.
import sys

import redis

host, port, ca, cert, key, password = sys.argv[1:]
client = redis.Redis(
    host=host, port=int(port), password=password,
    ssl=True, ssl_ca_certs=ca, ssl_certfile=cert, ssl_keyfile=key, ssl_check_hostname=True,
)
print(*client.execute_command("RL.ALLOW", "user:7", "10", "1h")[:3])
