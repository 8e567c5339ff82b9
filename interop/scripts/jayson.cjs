// Plays a client of jayson over HTTP or TCP: a connection for each request. Prints one JSON
// line per step.
const { parse } = require('node:url');
const jayson = require('jayson');

const to = JSON.parse(process.argv[2]); // {url, token, ca} or {port}
const headers = to.token ? { Authorization: `Bearer ${to.token}` } : {};
const client = !to.url ? jayson.Client.tcp({ host: '127.0.0.1', port: to.port })
  : to.ca ? jayson.Client.https({ ...parse(to.url), headers, ca: to.ca })
    : jayson.Client.http({ ...parse(to.url), headers });

const send = (...request) => new Promise((resolve) => client.request(...request, (error, reply) => resolve({ error, reply })));
async function step(name, ...request) {
  const { error, reply } = await send(...request);
  console.log(JSON.stringify({ step: name, value: reply, code: error?.code, message: error?.message }));
}

(async () => {
  await step('echo', 'demo.echo', { message: 'é 😀 \u2028 <&>' });
  await step('string id', 'demo.sum', { a: 1, b: 2 }, 'an id');
  await step('zero id', 'demo.sum', { a: 1, b: 2 }, 0);
  await step('fractional id', 'demo.sum', { a: 1, b: 2 }, 1.5);
  await step('notification', 'demo.echo', { message: 'nobody hears this' }, null);
  await step('unknown', 'demo.nothing', {}, 1);
  await step('invalid', 'demo.echo', {}, 2);
  await step('denied', 'note.add', { text: 'x' }, 3);
  await step('batch', [
    client.request('demo.sum', { a: 1, b: 1 }, 'a'),
    client.request('demo.echo', { message: 'nor this' }, null),
    client.request('demo.nothing', {}, 'b'),
    client.request('demo.sum', { a: 2, b: 2 }, 'c'),
  ]);
  // Over TCP the library would wait for a reply that never comes.
  if (to.url) await step('batch of notifications', [client.request('demo.echo', { message: 'nor that' }, null)]);
  await step('empty batch', []);
  await step('version 1', { method: 'demo.sum', params: [1, 2], id: 9 });
  await Promise.all([...Array(Number(process.env.PARALLEL)).keys()].map((n) => step(`parallel ${n}`, 'demo.sum', { a: n, b: 1 }, n)));
})().catch((error) => { console.error(error); process.exit(1); });
