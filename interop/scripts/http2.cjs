// Speaks HTTP/2 over TLS with node's own client. Prints status and body of each request.
const http2 = require('node:http2');

const { url, token, ca } = JSON.parse(process.argv[2]);
const { origin, pathname } = new URL(url);
const session = http2.connect(origin, { ca });
const json = { 'content-type': 'application/json', authorization: `Bearer ${token}` };

async function send(step, headers, body) {
  const stream = session.request({ ':path': pathname, ':method': 'POST', ...headers });
  stream.end(body);
  let code, challenge;
  stream.on('response', (h) => { code = h[':status']; challenge = h['www-authenticate']; });
  let text = '';
  for await (const piece of stream.setEncoding('utf8')) text += piece;
  console.log(JSON.stringify({ step, code, message: challenge ?? text }));
}

const sum = (id) => JSON.stringify({ jsonrpc: '2.0', id, method: 'demo.sum', params: { a: id, b: 1 } });
(async () => {
  await Promise.all([1, 2, 3].map((id) => send(`call ${id}`, json, sum(id))));
  await send('notification', json, '{"jsonrpc":"2.0","method":"demo.sum","params":{"a":1,"b":1}}');
  await send('no token', { 'content-type': 'application/json' }, sum(1));
  await send('another origin', { ...json, origin: 'https://elsewhere.example' }, sum(1));
  await send('no JSON', { ...json, 'content-type': 'text/plain' }, sum(1));
  await send('too large', json, ' '.repeat(2 << 20));
  await send('get', { ':method': 'GET' });
  await send('health', { ':method': 'GET', ':path': '/healthz' });
  await send('ready', { ':method': 'GET', ':path': '/readyz' });
  session.close();
})().catch((error) => { console.error(error); process.exit(1); });
