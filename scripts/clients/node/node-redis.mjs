const [host, port, library = 'redis', RESP] = process.argv.slice(2);
const { createClient } = await import(library);

const client = createClient({ socket: { host, port: Number(port) }, RESP: RESP && Number(RESP) });
client.on('error', (error) => { throw error; });
await client.connect();

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

await client.quit();
