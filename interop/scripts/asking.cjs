// An MCP server made of the TypeScript SDK, over stdio, or over HTTP: in sessions ("stream"), in
// sessions with plain JSON replies ("json"), or without sessions ("stateless"). Its tool can ask
// the client for everything that a client can be asked for, whether the client says that it can
// or not, and tells what it was answered.
const http = require('node:http');
const { randomUUID } = require('node:crypto');
const { Server } = require('@modelcontextprotocol/sdk/server/index.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const types = require('@modelcontextprotocol/sdk/types.js');
const { z } = require('zod');

const questions = [
  { method: 'ping' },
  { method: 'roots/list' },
  {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }], maxTokens: 10 },
  },
  {
    method: 'elicitation/create',
    params: { mode: 'form', message: 'who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
  },
];

function newServer() {
  const server = new Server({ name: 'asking', version: '1' }, { capabilities: { tools: {} } });
  // The library looks at the client's capabilities before it asks; this one doesn't.
  server.assertCapabilityForMethod = () => {};
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }));
  server.setRequestHandler(types.CallToolRequestSchema, async (request, extra) => {
    const answers = { said: request.params.arguments.message };
    await Promise.all((request.params.arguments.ask ? questions : []).map(async (question) => {
      answers[question.method] = await extra.sendRequest(question, z.any()).catch((error) => error.code);
    }));
    return { content: [{ type: 'text', text: JSON.stringify(answers) }] };
  });
  return server;
}

const mode = process.argv[2];
if (mode === 'stdio') {
  newServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const begin = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: mode === 'stateless' ? undefined : randomUUID, enableJsonResponse: mode === 'json',
      onsessioninitialized: (id) => sessions.set(id, transport), onsessionclosed: (id) => sessions.delete(id),
    });
    await newServer().connect(transport);
    return transport;
  };
  http.createServer(async (req, res) => {
    const id = req.headers['mcp-session-id'];
    if (id && !sessions.has(id)) return res.writeHead(404).end();
    await (sessions.get(id) ?? await begin()).handleRequest(req, res);
  }).listen(0, () => {});
}
