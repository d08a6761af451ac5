const [host, port, library = 'ioredis'] = process.argv.slice(2);
const { Redis } = await import(library);

const redis = new Redis({ host, port });

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

await redis.quit();
