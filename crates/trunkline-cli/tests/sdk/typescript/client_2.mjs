// The official TypeScript SDK: by handshake, without one, and finding out which.

import {
  Client,
  ProtocolError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { main, STATELESS, walk } from './walk.mjs';

function open(transport, [first, ...rest]) {
  if (transport === 'stdio') return new StdioClientTransport({ command: first, args: rest });
  if (transport === 'sse') return new SSEClientTransport(new URL(first));
  return new StreamableHTTPClientTransport(new URL(first));
}

const MODES = { auto: 'auto', [STATELESS]: { pin: STATELESS } };

await main(async (version, transport, target) => {
  const client = new Client(
    { name: 'sdk-test', version: '1.0.0' },
    { versionNegotiation: { mode: MODES[version] ?? 'legacy' } },
  );
  await client.connect(open(transport, target));
  const connection = {
    version: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    ping: () => client.ping(),
    listTools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    code: (error) => (error instanceof ProtocolError ? error.code : undefined),
  };
  await walk(connection, version, transport);
  return client;
});
