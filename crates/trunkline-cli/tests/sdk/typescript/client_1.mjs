// The official TypeScript SDK before 2.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LATEST_PROTOCOL_VERSION, McpError } from '@modelcontextprotocol/sdk/types.js';

import { expect, main, walk } from './walk.mjs';

function open(transport, [first, ...rest]) {
  if (transport === 'stdio') return new StdioClientTransport({ command: first, args: rest });
  if (transport === 'sse') return new SSEClientTransport(new URL(first));
  return new StreamableHTTPClientTransport(new URL(first));
}

await main(async (version, transport, target) => {
  expect(version === LATEST_PROTOCOL_VERSION, 'the only revision that the SDK asks for', version);
  const client = new Client({ name: 'sdk-test', version: '1.0.0' });
  const opened = open(transport, target);
  // The SDK tells its transport what was negotiated, and nobody else.
  let negotiated;
  const tell = opened.setProtocolVersion?.bind(opened);
  opened.setProtocolVersion = (version) => {
    negotiated = version;
    tell?.(version);
  };
  await client.connect(opened);
  const connection = {
    version: negotiated,
    server: client.getServerVersion(),
    ping: () => client.ping(),
    listTools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    code: (error) => (error instanceof McpError ? error.code : undefined),
  };
  await walk(connection, version, transport);
  return client;
});
