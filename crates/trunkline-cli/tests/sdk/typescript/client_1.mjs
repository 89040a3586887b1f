// The official TypeScript SDK before 2.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  InitializeResultSchema,
  LATEST_PROTOCOL_VERSION,
  ListRootsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';

import { connection, expect, main, User } from './checks.mjs';

function transportTo(transport, [first, ...rest]) {
  if (transport === 'stdio') return new StdioClientTransport({ command: first, args: rest });
  if (transport === 'sse') return new SSEClientTransport(new URL(first));
  return new StreamableHTTPClientTransport(new URL(first));
}

await main(async (version, transport, target, user) => {
  expect(version === LATEST_PROTOCOL_VERSION, 'the only revision that the SDK requests', version);
  const capabilities = User.CAPABILITIES;
  const client = new Client({ name: 'sdk-test', version: '1.0.0' }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => user.elicited(params));
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => user.sampled(params));
  client.setRequestHandler(ListRootsRequestSchema, () => user.listedRoots());
  client.fallbackNotificationHandler = async (notification) => user.notified(notification);
  const opened = transportTo(transport, target);
  // The SDK reports the negotiated revision only to its transport.
  let negotiated;
  const setVersion = opened.setProtocolVersion?.bind(opened);
  opened.setProtocolVersion = (version) => {
    negotiated = version;
    setVersion?.(version);
  };
  await client.connect(opened);
  return connection({
    client,
    version: negotiated,
    callTool: (params, options) => client.callTool(params, undefined, options),
    request: (request) => client.request(request, InitializeResultSchema),
    resourceNotFound: -32002,
    code: (error) => (error instanceof McpError ? error.code : undefined),
  });
});
