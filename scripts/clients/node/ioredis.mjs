import { setTimeout } from 'node:timers/promises';

const [host, ports, library = 'ioredis'] = process.argv.slice(2);
const { Redis } = await import(library);

const nodes = ports.split(',').map((port) => new Redis({ host, port }));
const [redis] = nodes; // of one node, or of all of a cluster

// Two requests an hour. The third is denied; that is a reply, not an exception.
for (let i = 0; i < 3; i++) {
  const [allowed, limit, remaining, waitMs, resetMs] = await redis.call('RL.ALLOW', 'user:7', 2, '1h');
  console.log('allow', allowed, limit, remaining, waitMs, resetMs);
}

// As redis-cell: a burst of 1 + 1, then 2 an hour.
for (let i = 0; i < 3; i++) {
  const [limited, limit, remaining, retryAfter, resetAfter] = await redis.call('CL.THROTTLE', 'user:8', 1, 2, 3600);
  console.log('throttle', limited, limit, remaining, retryAfter, resetAfter);
}

// Several decisions in one round trip; each has its own error, or null.
const pipeline = redis.pipeline();
for (let i = 0; i < 3; i++) pipeline.call('RL.ALLOW', 'user:9', 2, '1h');
console.log('pipeline', ...(await pipeline.exec()).map(([error, reply]) => error ?? reply[0]));

// MULTI ... EXEC.
const multi = redis.multi();
for (let i = 0; i < 3; i++) multi.call('RL.ALLOW', 'user:10', 2, '1h');
console.log('transaction', ...(await multi.exec()).map(([error, reply]) => error ?? reply[0]));

// A map is an array of names and values in RESP2, and in RESP3 what the library makes of it.
const fields = (reply) => (Array.isArray(reply) ? Object.fromEntries(reply.flatMap((name, i) => (i % 2 ? [] : [[name, reply[i + 1]]]))) : reply);

// A policy is a limit that the server keeps and all of its users share.
await redis.call('RL.POLICY.SET', 'logins', 'LIMIT', '2', 'WINDOW', '1h', 'ENDPOINT', 'POST /login');
const policy = fields(await redis.call('RL.POLICY.GET', 'logins'));
console.log('policy', policy.limit, policy.window);
const [cursor, policies] = await redis.call('RL.POLICY.LIST');
console.log('policies', ...policies.map((policy) => fields(policy).name));
for (let i = 0; i < 3; i++) {
  const [allowed, limit, remaining, waitMs, resetMs, name] = await redis.call('RL.CHECK', 'user:11', 'ENDPOINT', 'POST /login');
  console.log('check', allowed, limit, remaining, name);
}

// The node that was told has it at once; the others have it a moment later.
const deadline = Date.now() + 2000;
for (const node of nodes) {
  let reply;
  while (!(reply = await node.call('RL.POLICY.GET', 'logins')) && Date.now() < deadline) await setTimeout(20);
  const { limit, window } = fields(reply);
  console.log('node', limit, window);
}
console.log('reset', await redis.call('RL.RESET', 'user:11', 'POLICY', 'logins'));
console.log('deleted', await redis.call('RL.POLICY.DEL', 'logins'));

for (const node of nodes) await node.quit();
