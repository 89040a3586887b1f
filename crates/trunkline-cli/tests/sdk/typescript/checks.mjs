// Checks, the user of a client, and the command line of the scripts.

import { database } from './database.mjs';
import { features } from './features.mjs';
import { restart } from './restart.mjs';

// The first revision without sessions and `ping`.
export const STATELESS = '2026-07-28';
export const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
export const INVALID_PARAMS = -32602;

// Milliseconds. SDKs kill a process that has not ended after 2,000.
const CLOSING = 1900;
// Deadline of a run.
const DEADLINE = 50_000;
// Deadline of a condition.
export const SOON = 10_000;

export class Failed extends Error {}

export function expect(met, what, got) {
  if (!met) throw new Failed(`expected ${what}, got ${JSON.stringify(got)}`);
}

export function passed(what) {
  console.log(`  ok: ${what}`);
}

export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function textOf(result) {
  const { content } = result;
  expect(content?.length === 1 && content[0].type === 'text', 'one text block', content);
  return content[0].text;
}

// Waits until the condition holds.
export async function eventually(check, what) {
  const deadline = performance.now() + SOON;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Failed(`${what} did not happen within ${SOON} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// The answers to the server's requests, and the notifications that the client has received.
export class User {
  static ROOTS = ['file:///srv/one', 'file:///srv/two'];
  static ANSWERS = {
    name: 'Ada',
    username: 'ada',
    email: 'ada@example.org',
    color: 'blue',
    context: 'tests',
    ok: true,
  };
  static CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: {} };

  logs = [];
  // `tools`, `prompts`, `resources`, or the URI of a changed resource.
  changes = [];

  elicited({ message, requestedSchema }) {
    if (['decline', 'cancel'].includes(message)) return { action: message };
    const properties = Object.entries(requestedSchema.properties);
    const content = properties.map(([name, schema]) => [name, this.#answer(name, schema)]);
    return { action: 'accept', content: Object.fromEntries(content) };
  }

  #answer(name, schema) {
    if ('default' in schema) return schema.default;
    if (schema.type === 'array') return [this.#answer(name, schema.items)];
    if (schema.enum) return schema.enum[0];
    const titled = schema.oneOf ?? schema.anyOf;
    return titled ? titled[0].const : User.ANSWERS[name];
  }

  sampled({ messages }) {
    const content = [messages[0].content].flat();
    const text = content[0].text.includes('capital of France') ? 'Paris' : 'Good morning';
    return { role: 'assistant', model: 'test', content: { type: 'text', text } };
  }

  listedRoots() {
    return { roots: User.ROOTS.map((uri) => ({ uri })) };
  }

  notified({ method, params }) {
    if (method === 'notifications/message') this.logs.push(params);
    if (method === 'notifications/resources/updated') this.changes.push(params.uri);
    const list = /^notifications\/(\w+)\/list_changed$/.exec(method);
    if (list) this.changes.push(list[1]);
  }
}

// What both SDKs have in common. `adapter` has `client`, `version`, `callTool(params, options)`, `request(request)`,
// `code(error)`, the code of a JSON-RPC error of the server, and `resourceNotFound`, its code for unknown resources in
// the legacy era.
export function connection(adapter) {
  const { client, version } = adapter;
  const isStateless = version === STATELESS;
  let meta;
  return {
    ...adapter,
    isStateless,
    server: client.getServerVersion(),
    sessionId: () => client.transport?.sessionId,
    ping: () => client.ping(),
    // Sends `initialize` again. The SDKs have no method for that.
    initialize: async () => {
      const clientInfo = { name: 'sdk-test', version: '1.0.0' };
      const params = { protocolVersion: version, capabilities: User.CAPABILITIES, clientInfo };
      await adapter.request({ method: 'initialize', params });
      await client.notification({ method: 'notifications/initialized' });
    },
    listTools: async () => (await client.listTools()).tools,
    call: (name, args, options) =>
      adapter.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, options),
    listResources: async () => (await client.listResources()).resources,
    listTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: async (uri) => (await client.readResource({ uri })).contents,
    listPrompts: async () => (await client.listPrompts()).prompts,
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
    complete: async (name, argument, value) => {
      const ref = { type: 'ref/prompt', name };
      const { completion } = await client.complete({ ref, argument: { name: argument, value } });
      return completion.values;
    },
    // Sets the minimum level of log messages of later calls.
    logLevel: async (level) => {
      if (isStateless) meta = { [LOG_LEVEL]: level };
      else await client.setLoggingLevel(level);
    },
    // Subscribes to the lists and a resource. The result ends the subscription.
    watch: async (uri) => {
      if (!isStateless) {
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
      }
      const subscription = await client.listen({
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: [uri],
      });
      return () => subscription.close();
    },
  };
}

// Runs a suite with the connection that `open(version, transport, target, user)` opens.
export async function main(open) {
  const [suite, version, transport, ...target] = process.argv.slice(2);
  const run = { database, features, restart }[suite];
  const one = ['http', 'sse'].includes(transport) && target.length === 1;
  if (!run || (!one && !(transport === 'stdio' && target.length > 0))) {
    console.error('usage: SCRIPT SUITE VERSION http URL | sse URL | stdio COMMAND ARGS…');
    process.exit(2);
  }
  const timer = setTimeout(() => {
    console.error(`FAILED: did not end within ${DEADLINE} ms`);
    process.exit(1);
  }, DEADLINE);
  // The SDK warns of schemas that it cannot process, for example.
  const warnings = [];
  console.warn = (...words) => warnings.push(words.join(' '));
  try {
    const user = new User();
    const again = () => open(version, transport, target, user);
    const connection = await again();
    await run(connection, { version, transport, target, user, again });
    const done = performance.now();
    await connection.client.close();
    const closing = performance.now() - done;
    const inTime = transport !== 'stdio' || closing < CLOSING;
    expect(inTime, `the process to end within ${CLOSING} ms`, closing);
    passed('closed');
    expect(warnings.length === 0, 'no warnings', [...new Set(warnings)]);
    passed('no warnings of the SDK');
    clearTimeout(timer);
  } catch (error) {
    console.error(error instanceof Failed ? `FAILED: ${error.message}` : error);
    process.exit(1);
  }
}
