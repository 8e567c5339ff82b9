// Plays an editor: vscode-jsonrpc with Content-Length framing, over a child's stdio, a unix
// socket or TCP. Prints one JSON line per step; what it sends and receives goes to stderr.
const net = require('node:net');
const { spawn } = require('node:child_process');
const rpc = require('vscode-jsonrpc/node');

const to = JSON.parse(process.argv[2]); // {command} or {path} or {port, token}
const child = to.command && spawn(to.command[0], to.command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
const socket = child ? undefined : net.connect(to.path ? { path: to.path } : { port: to.port, host: '127.0.0.1' });
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(child ? child.stdout : socket), new rpc.StreamMessageWriter(child ? child.stdin : socket));
connection.onError(([error]) => say('connection error', { error: String(error) }));
connection.onUnhandledNotification((message) => say('unhandled', { value: message }));
connection.listen();

function say(step, what) { console.log(JSON.stringify({ step, ...what })); }

// ask sends a request and says what it was answered with.
async function ask(step, method, ...rest) {
  await connection.sendRequest(method, ...rest).then(
    (value) => say(step, { value }), (e) => say(step, { code: e.code, message: e.message, data: e.data }));
}

// follow asks for progress under a token; each is told of every report.
async function follow(step, token, params, each) {
  const reports = [];
  const source = new rpc.CancellationTokenSource();
  const ear = connection.onProgress(new rpc.ProgressType(), token, (value) => {
    reports.push(value);
    each?.(reports.length, source);
  });
  await ask(step, 'demo.slow', { ...params, _meta: { progressToken: token } }, source.token);
  ear.dispose();
  say(`${step} reports`, { value: reports });
}

(async () => {
  await connection.trace(rpc.Trace.Verbose, { log: (data) => console.error(JSON.stringify(data)) },
    { sendNotification: true, traceFormat: rpc.TraceFormat.JSON });
  if (to.token) {
    await ask('unauthenticated', 'demo.echo', { message: 'x' });
    await ask('authenticate', 'rpc.authenticate', { token: to.token });
  }
  await ask('echo', 'demo.echo', { message: 'é 😀 \u2028 <&>' });
  await ask('large', 'demo.echo', { message: 'x'.repeat(100_000) });
  await Promise.all([...Array(Number(process.env.PARALLEL)).keys()].map((n) => ask(`parallel ${n}`, 'demo.sum', { a: n, b: 1 })));
  await connection.sendNotification('demo.echo', { message: 'nobody hears this' });
  await connection.sendNotification('demo.nothing');
  await ask('resolve', 'identifier.resolve', { identifier: 'doi:10.1000/182' });
  await ask('tool error', 'identifier.resolve', { identifier: 'doi:none' });
  await ask('unknown', 'demo.nothing', {});
  await ask('invalid', 'demo.echo', { message: 7 });
  await ask('by position', 'demo.echo', [1, 2]);
  await ask('denied', 'note.add', { text: 'x' });
  await follow('integer token', 7, { duration: 0.2, steps: 4 });
  await follow('string token', 'seven', { duration: 0.2, steps: 4 });
  await follow('cancelled', 'c', { duration: 15, steps: 300 }, (n, source) => n === 2 && source.cancel());
  await ask('alive', 'demo.sum', { a: 1, b: 1 });
  await ask('discover', 'rpc.discover');
  if (!child) return connection.end();
  child.on('exit', (code, signal) => say('exit', { code, message: signal }));
  await follow('drained', 'd', { duration: 1, steps: 10 }, (n) => {
    if (n === 1) child.kill('SIGTERM');
    if (n === 5) ask('late', 'demo.sum', { a: 1, b: 1 });
  });
})().catch((error) => { console.error(error); process.exit(1); });
