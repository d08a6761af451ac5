import { setTimeout } from 'node:timers/promises';

import { Batch, GlideClient } from '@valkey/valkey-glide';

const [host, ports] = process.argv.slice(2);
const nodes = [];
for (const port of ports.split(',')) {
  nodes.push(await GlideClient.createClient({ addresses: [{ host, port: Number(port) }] }));
}
const [client] = nodes; // of one node, or of all of a cluster

// Two requests an hour. The third is denied; that is a reply, not an exception.
for (let i = 0; i < 3; i++) {
  const [allowed, limit, remaining, waitMs, resetMs] = await client.customCommand(['RL.ALLOW', 'user:7', '2', '1h']);
  console.log('allow', allowed, limit, remaining, waitMs, resetMs);
}

// As redis-cell: a burst of 1 + 1, then 2 an hour.
for (let i = 0; i < 3; i++) {
  const [limited, limit, remaining, retryAfter, resetAfter] = await client.customCommand(['CL.THROTTLE', 'user:8', '1', '2', '3600']);
  console.log('throttle', limited, limit, remaining, retryAfter, resetAfter);
}

// Several decisions in one round trip: a batch that is not atomic.
const pipeline = new Batch(false);
for (let i = 0; i < 3; i++) pipeline.customCommand(['RL.ALLOW', 'user:9', '2', '1h']);
console.log('pipeline', ...(await client.exec(pipeline, true)).map(([allowed]) => allowed));

// An atomic batch is MULTI ... EXEC.
const transaction = new Batch(true);
for (let i = 0; i < 3; i++) transaction.customCommand(['RL.ALLOW', 'user:10', '2', '1h']);
console.log('transaction', ...(await client.exec(transaction, true)).map(([allowed]) => allowed));

// A map is an array of keys and values.
const fields = (reply) => Object.fromEntries(reply.map(({ key, value }) => [key, value]));

// A policy is a limit that the server keeps and all of its users share.
await client.customCommand(['RL.POLICY.SET', 'logins', 'LIMIT', '2', 'WINDOW', '1h', 'ENDPOINT', 'POST /login']);
const policy = fields(await client.customCommand(['RL.POLICY.GET', 'logins']));
console.log('policy', policy.limit, policy.window);
const [cursor, policies] = await client.customCommand(['RL.POLICY.LIST']);
console.log('policies', ...policies.map((policy) => fields(policy).name));
for (let i = 0; i < 3; i++) {
  const [allowed, limit, remaining, waitMs, resetMs, name] = await client.customCommand(['RL.CHECK', 'user:11', 'ENDPOINT', 'POST /login']);
  console.log('check', allowed, limit, remaining, name);
}

// The node that was told has it at once; the others have it a moment later.
const deadline = Date.now() + 2000;
for (const node of nodes) {
  let reply;
  while (!(reply = await node.customCommand(['RL.POLICY.GET', 'logins'])) && Date.now() < deadline) await setTimeout(20);
  const { limit, window } = fields(reply);
  console.log('node', limit, window);
}
console.log('reset', await client.customCommand(['RL.RESET', 'user:11', 'POLICY', 'logins']));
console.log('deleted', await client.customCommand(['RL.POLICY.DEL', 'logins']));

for (const node of nodes) node.close();
