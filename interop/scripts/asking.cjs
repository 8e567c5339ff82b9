// An MCP server whose tool asks its client for everything that a client can be asked for,
// whether the client says that it can or not, and tells what it was answered.
const { Server } = require('@modelcontextprotocol/sdk/server/index.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
const types = require('@modelcontextprotocol/sdk/types.js');
const { z } = require('zod');

const server = new Server({ name: 'asking', version: '1' }, { capabilities: { tools: {} } });
// The library looks at the client's capabilities before it asks; this one doesn't.
server.assertCapabilityForMethod = () => {};

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

server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }));
server.setRequestHandler(types.CallToolRequestSchema, async () => {
  const answers = {};
  await Promise.all(questions.map(async (question) => {
    answers[question.method] = await server.request(question, z.any()).catch((error) => error.code);
  }));
  return { content: [{ type: 'text', text: JSON.stringify(answers) }] };
});
server.connect(new StdioServerTransport());
