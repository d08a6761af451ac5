import { Batch, GlideClient } from '@valkey/valkey-glide';

const [host, port] = process.argv.slice(2);
const client = await GlideClient.createClient({ addresses: [{ host, port: Number(port) }] });

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

client.close();
