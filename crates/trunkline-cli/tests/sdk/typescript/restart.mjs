// The checks of a client whose server is restarted. The SDK does not notice it, or opens a new session.

import { createInterface } from 'node:readline/promises';

import { expect, passed, textOf } from './checks.mjs';

export async function restart(connection) {
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  // Waits until xtask has restarted the server.
  const restarted = async () => {
    console.log('restart');
    const { value } = await lines.next();
    expect(value === 'restarted', 'a restart', value);
  };
  await works(connection, 'before a restart');
  const first = connection.sessionId();
  expect(first, 'a session', first);
  await restarted();
  await works(connection, 'after a restart');
  expect(connection.sessionId() === first, 'the same session', [first, connection.sessionId()]);
  passed('the same session');
  await restarted();
  await connection.initialize();
  const next = connection.sessionId();
  expect(next && next !== first, 'a new session', [first, next]);
  await works(connection, 'after another `initialize`');
  await restarted();
  await works(connection, 'after a third restart');
  input.close();
}

async function works(connection, when) {
  await connection.ping();
  const text = textOf(await connection.call('list_tables', {}));
  expect(text.includes('Artist'), 'the tables', text);
  passed(`a ping and a call ${when}`);
}
