const [host, port, library = 'ioredis', redirects] = process.argv.slice(2);
const { Cluster } = await import(library);

const redis = new Cluster([{ host, port }]); // one node, from which it learns the others
const range = (n) => [...Array(n).keys()];

// Two requests an hour, for keys that all nodes count. The library does not know
// which word is the key of a command that is not Redis': it asks any node.
for (let round = 0; round < 3; round++) {
  let allowed = 0;
  for (const i of range(30)) allowed += (await redis.call('RL.ALLOW', `user:${i}`, 2, '1h'))[0];
  console.log('allow', allowed);
}

// For the same reason a pipeline goes to one node, which must ask the others:
// with --redirect send commands by themselves.
const commands = range(30).map((i) => ['call', 'RL.ALLOW', `pipeline:${i}`, 2, '1h']);
const replies = redirects
  ? await Promise.all(commands.map(([, ...words]) => redis.call(...words)))
  : (await redis.pipeline(commands).exec()).map(([error, reply]) => error ?? reply);
console.log('pipeline', replies.reduce((sum, reply) => sum + reply[0], 0));

let checked = 0;
for (const i of range(5)) checked += (await redis.call('RL.CHECK', `client:${i}`))[0];
console.log('check', checked);
await redis.quit();
