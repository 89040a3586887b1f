// The official TypeScript SDK, with `initialize`, without it, and with negotiation.

import {
  Client,
  ProtocolError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { connection, INVALID_PARAMS, main, STATELESS, User } from './checks.mjs';

function transportTo(transport, [first, ...rest]) {
  if (transport === 'stdio') return new StdioClientTransport({ command: first, args: rest });
  if (transport === 'sse') return new SSEClientTransport(new URL(first));
  return new StreamableHTTPClientTransport(new URL(first));
}

const MODES = { auto: 'auto', [STATELESS]: { pin: STATELESS } };

await main(async (version, transport, target, user) => {
  const client = new Client(
    { name: 'sdk-test', version: '1.0.0' },
    {
      capabilities: User.CAPABILITIES,
      versionNegotiation: { mode: MODES[version] ?? 'legacy' },
    },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => user.elicited(params));
  client.setRequestHandler('sampling/createMessage', ({ params }) => user.sampled(params));
  client.setRequestHandler('roots/list', () => user.listedRoots());
  client.fallbackNotificationHandler = async (notification) => user.notified(notification);
  await client.connect(transportTo(transport, target));
  return connection({
    client,
    version: client.getNegotiatedProtocolVersion(),
    callTool: (params, options) => client.callTool(params, options),
    request: (request) => client.request(request),
    // The SDK replaces the code -32002 of the legacy era.
    resourceNotFound: INVALID_PARAMS,
    code: (error) => (error instanceof ProtocolError ? error.code : undefined),
  });
});
