// Reads progress over HTTP as server-sent events, with node's own client and eventsource-parser;
// then hangs up in the middle of a second call. Prints one JSON line per message.
const { EventSourceParserStream } = require('eventsource-parser/stream');

const { url, token } = JSON.parse(process.argv[2]);

async function follow(step, id, params, hangUpAfter) {
  const hangUp = new AbortController();
  const reply = await fetch(url, {
    method: 'POST', signal: hangUp.signal,
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'demo.slow', params, meta: { progressToken: step } }),
  });
  console.log(JSON.stringify({ step, code: reply.status, message: reply.headers.get('content-type') }));
  const events = reply.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  let seen = 0;
  for await (const event of events) {
    console.log(JSON.stringify({ step, value: JSON.parse(event.data) }));
    if (++seen === hangUpAfter) return hangUp.abort();
  }
}

(async () => {
  await follow('whole', 1, { duration: 0.2, steps: 3 });
  await follow('half', 2, { duration: 15, steps: 300 }, 2);
})().catch((error) => { console.error(error); process.exit(1); });
