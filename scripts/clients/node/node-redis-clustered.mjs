const [host, port, library = 'redis'] = process.argv.slice(2);
const { createCluster } = await import(library);

// One node, from which it learns the others.
const redis = createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }] });
await redis.connect();
const range = (n) => [...Array(n).keys()];
// The key is named apart, so that the library knows the node.
const send = (name, key, ...more) => redis.sendCommand(key, false, [name, key, ...more]);

// Two requests an hour, for keys that all nodes count.
for (let round = 0; round < 3; round++) {
  let allowed = 0;
  for (const i of range(30)) allowed += (await send('RL.ALLOW', `user:${i}`, '2', '1h'))[0];
  console.log('allow', allowed);
}

// What is sent at the same time is pipelined to each node.
const replies = await Promise.all(range(30).map((i) => send('RL.ALLOW', `pipeline:${i}`, '2', '1h')));
console.log('pipeline', replies.reduce((sum, reply) => sum + reply[0], 0));

let checked = 0;
for (const i of range(5)) checked += (await send('RL.CHECK', `client:${i}`))[0];
console.log('check', checked);
await (redis.close ? redis.close() : redis.quit());
