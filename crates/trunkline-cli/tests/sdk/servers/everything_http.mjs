// Starts server-everything on a free port of the loopback interface, for which it has no settings.
//
// usage: everything_http.mjs streamableHttp | sse

import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function (_port, ...rest) {
  const path = process.argv[2] === 'sse' ? 'sse' : 'mcp';
  this.once('listening', () => console.log(`listening http://127.0.0.1:${this.address().port}/${path}`));
  return listen.call(this, 0, '127.0.0.1', ...rest);
};
await import('@modelcontextprotocol/server-everything/dist/index.js');
