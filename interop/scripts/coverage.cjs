// Lets @open-rpc/test-coverage call everything that rpc.discover describes. Prints the
// document, whether OpenRPC's own tools can read it, and one JSON line per call.
const coverage = require('@open-rpc/test-coverage').default;
const { parseOpenRPCDocument } = require('@open-rpc/schema-utils-js');

const { url } = JSON.parse(process.argv[2]);
const quiet = { onBegin() {}, onTestBegin() {}, onTestEnd() {}, onEnd() {} };
const say = (step, what) => console.log(JSON.stringify({ step, ...what }));

(async () => {
  const reply = await fetch(url, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'rpc.discover' }),
  });
  const document = (await reply.json()).result;
  say('document', { value: document });
  await parseOpenRPCDocument(document).then(
    (parsed) => say('parsed', { value: parsed.methods.map((method) => method.name) }),
    (error) => say('parsed', { message: error.message }));
  document.servers ??= [{ name: 'here', url }];
  const calls = await coverage({ openrpcDocument: document, reporters: [quiet] });
  for (const { methodName, params, valid, result, error, reason, requestError } of calls) {
    say(methodName, { value: { params, valid, result, error, reason, requestError: requestError && String(requestError) } });
  }
})().catch((error) => { console.error(error); process.exit(1); });
