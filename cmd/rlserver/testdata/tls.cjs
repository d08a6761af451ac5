// node-redis over TLS: HOST PORT CA CERT KEY PASSWORD.
const { readFileSync } = require('node:fs');
const { createClient } = require('redis-6');

const [host, port, ca, cert, key, password] = process.argv.slice(2);

async function main() {
  const client = createClient({
    password,
    socket: { host, port: Number(port), tls: true, ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) },
  });
  client.on('error', (error) => { throw error; });
  await client.connect();
  console.log(...(await client.sendCommand(['RL.ALLOW', 'user:7', '10', '1h'])).slice(0, 3));
  await client.close();
}
main();
