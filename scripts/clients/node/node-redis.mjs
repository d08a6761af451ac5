import { setTimeout } from 'node:timers/promises';

const [host, ports, library = 'redis', RESP] = process.argv.slice(2);
const { createClient } = await import(library);

const nodes = ports.split(',').map((port) => createClient({ socket: { host, port: Number(port) }, RESP: RESP && Number(RESP) }));
for (const node of nodes) {
  node.on('error', (error) => { throw error; });
  await node.connect();
}
const [client] = nodes; // of one node, or of all of a cluster

// Two requests an hour. The third is denied; that is a reply, not an exception.
for (let i = 0; i < 3; i++) {
  const [allowed, limit, remaining, waitMs, resetMs] = await client.sendCommand(['RL.ALLOW', 'user:7', '2', '1h']);
  console.log('allow', allowed, limit, remaining, waitMs, resetMs);
}

// As redis-cell: a burst of 1 + 1, then 2 an hour.
for (let i = 0; i < 3; i++) {
  const [limited, limit, remaining, retryAfter, resetAfter] = await client.sendCommand(['CL.THROTTLE', 'user:8', '1', '2', '3600']);
  console.log('throttle', limited, limit, remaining, retryAfter, resetAfter);
}

// What is sent in one tick is pipelined.
const replies = await Promise.all([1, 2, 3].map(() => client.sendCommand(['RL.ALLOW', 'user:9', '2', '1h'])));
console.log('pipeline', ...replies.map(([allowed]) => allowed));

// MULTI ... EXEC.
const multi = client.multi();
for (let i = 0; i < 3; i++) multi.addCommand(['RL.ALLOW', 'user:10', '2', '1h']);
console.log('transaction', ...(await multi.exec()).map(([allowed]) => allowed));

// A map is an array of names and values in RESP2, and in RESP3 what the library makes of it.
const fields = (reply) => (Array.isArray(reply) ? Object.fromEntries(reply.flatMap((name, i) => (i % 2 ? [] : [[name, reply[i + 1]]]))) : reply);

// A policy is a limit that the server keeps and all of its users share.
await client.sendCommand(['RL.POLICY.SET', 'logins', 'LIMIT', '2', 'WINDOW', '1h', 'ENDPOINT', 'POST /login']);
const policy = fields(await client.sendCommand(['RL.POLICY.GET', 'logins']));
console.log('policy', policy.limit, policy.window);
const [cursor, policies] = await client.sendCommand(['RL.POLICY.LIST']);
console.log('policies', ...policies.map((policy) => fields(policy).name));
for (let i = 0; i < 3; i++) {
  const [allowed, limit, remaining, waitMs, resetMs, name] = await client.sendCommand(['RL.CHECK', 'user:11', 'ENDPOINT', 'POST /login']);
  console.log('check', allowed, limit, remaining, name);
}

// The node that was told has it at once; the others have it a moment later.
const deadline = Date.now() + 2000;
for (const node of nodes) {
  let reply;
  while (!(reply = await node.sendCommand(['RL.POLICY.GET', 'logins'])) && Date.now() < deadline) await setTimeout(20);
  const { limit, window } = fields(reply);
  console.log('node', limit, window);
}
console.log('reset', await client.sendCommand(['RL.RESET', 'user:11', 'POLICY', 'logins']));
console.log('deleted', await client.sendCommand(['RL.POLICY.DEL', 'logins']));

for (const node of nodes) await node.quit();
