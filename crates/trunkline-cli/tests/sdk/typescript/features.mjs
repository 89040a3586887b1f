// The features of the protocol, with the example `conformance_server`.

import {
  eventually,
  expect,
  Failed,
  INVALID_PARAMS,
  passed,
  same,
  SOON,
  STATELESS,
  textOf,
  User,
} from './checks.mjs';

const WATCHED = 'test://watched-resource';

export async function features(connection, session) {
  const checks = [
    negotiation,
    tools,
    content,
    errors,
    mirroredParams,
    progress,
    logging,
    resources,
    prompts,
    completion,
    elicitation,
    sampling,
    roots,
    rounds,
    concurrency,
    cancellation,
    changes,
    reconnection,
    lostSession,
  ];
  for (const check of checks) {
    try {
      await check(connection, session);
    } catch (error) {
      throw new Failed(`${check.name}: ${error.message ?? error}`);
    }
  }
}

async function textFrom(connection, name, args = {}) {
  const result = await connection.call(name, args);
  expect(!result.isError, `${name} to succeed`, result);
  const text = textOf(result);
  // A string result without blocks is JSON.
  return text.startsWith('"') ? JSON.parse(text) : text;
}

async function prints(connection, expected, name, args) {
  const text = await textFrom(connection, name, args);
  expect(text === expected, `'${expected}' from ${name}`, text);
}

async function negotiation(connection, { version: asked }) {
  const { version, server, isStateless } = connection;
  expect(version === (asked === 'auto' ? STATELESS : asked), `version ${asked}`, version);
  expect(server?.name === 'conformance-server', 'the server', server);
  if (!isStateless) await connection.ping();
  passed(`${version} with ${server.name} ${server.version}`);
}

async function tools(connection) {
  const listed = await connection.listTools();
  expect(listed.length > 20, 'more than 20 tools', listed);
  const tool = (name) => listed.find((tool) => tool.name === name);
  const { inputSchema } = tool('json_schema_2020_12_tool');
  expect(inputSchema.$defs.address.$anchor, 'an anchor in the schema', inputSchema);
  const { annotations } = tool('test_simple_text');
  expect(annotations.readOnlyHint, 'annotations', annotations);
  passed(`${listed.length} tools`);
}

async function content(connection) {
  await prints(connection, 'This is a simple text response for testing.', 'test_simple_text');
  const tools = {
    test_image_content: ['image image/png'],
    test_audio_content: ['audio audio/wav'],
    test_embedded_resource: ['resource text/plain'],
    test_multiple_content_types: ['text', 'image image/png', 'resource application/json'],
  };
  for (const [name, expected] of Object.entries(tools)) {
    const result = await connection.call(name, {});
    const found = result.content.map(({ type, mimeType, resource }) =>
      [type, mimeType ?? resource?.mimeType ?? []].flat().join(' '),
    );
    expect(same(found, expected), `blocks ${expected} from ${name}`, result);
  }
  passed('content of all types');
}

async function errors(connection) {
  const failing = [
    ['test_error_handling', {}, 'intentionally'],
    ['json_schema_2020_12_tool', { contactMethod: 'phone' }, 'phone'],
  ];
  for (const [name, args, part] of failing) {
    const result = await connection.call(name, args);
    expect(result.isError === true, `${name} to fail`, result);
    expect(textOf(result).includes(part), `'${part}' in the text of ${name}`, result);
  }
  await refused(connection, INVALID_PARAMS, connection.call('no_such_tool', {}));
  await refused(connection, INVALID_PARAMS, connection.prompt('no_such_prompt', {}));
  const notFound = connection.isStateless ? INVALID_PARAMS : connection.resourceNotFound;
  await refused(connection, notFound, connection.read('test://no-such-resource'));
  passed('errors of tools, and JSON-RPC errors');
}

async function refused(connection, code, request) {
  const result = await request.catch((error) => ({ code: connection.code(error), error: `${error}` }));
  expect(result.code === code, `error ${code}`, result);
}

async function mirroredParams(connection) {
  for (const region of ['eu-west', 'Ærøskøbing 東京']) {
    await prints(connection, region, 'test_mirrored_param', { region });
  }
  passed('params that are mirrored in headers');
}

async function progress(connection) {
  const reports = [];
  const onprogress = ({ progress, total }) => reports.push([progress, total]);
  await connection.call('test_tool_with_progress', {}, { onprogress });
  const expected = [0, 50, 100].map((done) => [done, 100]);
  await eventually(() => same(reports, expected), `progress ${expected}`);
  passed('progress of a call');
}

async function logging(connection, { user }) {
  for (const [level, count] of [['error', 0], ['info', 3]]) {
    user.logs = [];
    await connection.logLevel(level);
    await textFrom(connection, 'test_tool_with_logging');
    await eventually(() => user.logs.length >= count, `${count} messages of the level ${level}`);
    expect(user.logs.length === count, `${count} messages of the level ${level}`, user.logs);
  }
  const [first] = user.logs;
  expect(first.level === 'info' && first.data === 'Tool execution started', 'the first', first);
  passed('log messages of a level');
}

async function resources(connection) {
  const uris = (await connection.listResources()).map(({ uri }) => uri);
  expect(same(uris, ['test://static-text', 'test://static-binary', WATCHED]), 'resources', uris);
  const templates = (await connection.listTemplates()).map(({ uriTemplate }) => uriTemplate);
  expect(same(templates, ['test://template/{id}/data']), 'the template', templates);
  const expected = [
    ['test://static-text', 'text/plain', 'content of the static text'],
    ['test://static-binary', 'image/png', 'iVBORw0KGgo'],
    ['test://template/4%202/data', 'application/json', 'Data for ID: 4 2'],
  ];
  for (const [uri, mimeType, part] of expected) {
    const contents = await connection.read(uri);
    const [found] = contents;
    expect(contents.length === 1 && found.uri === uri, `the URI ${uri}`, contents);
    expect(found.mimeType === mimeType, `the type ${mimeType}`, found);
    expect((found.text ?? found.blob).includes(part), `'${part}' in ${uri}`, found);
  }
  passed('resources and templates');
}

async function prompts(connection) {
  const listed = await connection.listPrompts();
  const prompt = listed.find(({ name }) => name === 'test_prompt_with_arguments');
  const names = prompt.arguments.map(({ name }) => name);
  expect(same(names, ['arg1', 'arg2']), 'two arguments', prompt);
  const expected = [
    ['test_simple_prompt', {}, ['text'], 'simple prompt'],
    ['test_prompt_with_arguments', { arg1: 'a', arg2: 'ü' }, ['text'], "arg2='ü'"],
    ['test_prompt_with_embedded_resource', { resourceUri: 'test://x' }, ['resource', 'text'], 'process'],
    ['test_prompt_with_image', {}, ['image', 'text'], 'analyze'],
    ['test_input_required_result_prompt', {}, ['text'], 'tests'],
  ];
  for (const [name, args, types, part] of expected) {
    const messages = await connection.prompt(name, args);
    const found = messages.map(({ content }) => content.type);
    expect(same(found, types), `messages ${types} of ${name}`, messages);
    expect(messages.at(-1).content.text.includes(part), `'${part}' in ${name}`, messages);
  }
  passed('prompts');
}

async function completion(connection) {
  const expected = { par: ['paris', 'park', 'party'], pari: ['paris'], x: [] };
  for (const [value, values] of Object.entries(expected)) {
    const found = await connection.complete('test_prompt_with_arguments', 'arg1', value);
    expect(same(found, values), `${values} for ${value}`, found);
  }
  passed('completion');
}

async function elicitation(connection) {
  const expected = [
    ['test_elicitation', { message: 'Who are you?' }, 'ada@example.org'],
    ['test_elicitation', { message: 'decline' }, 'action=decline'],
    ['test_elicitation', { message: 'cancel' }, 'action=cancel'],
    ['test_elicitation_sep1034_defaults', {}, '95.5'],
    ['test_elicitation_sep1330_enums', {}, '"titledMulti":["value1"]'],
  ];
  for (const [name, args, part] of expected) {
    const text = await textFrom(connection, name, args);
    expect(text.includes(part), `'${part}' from ${name} ${JSON.stringify(args)}`, text);
  }
  await prints(connection, 'Hello, Ada!', 'test_streaming_elicitation');
  passed('elicitation');
}

async function sampling(connection) {
  const args = { prompt: 'What is the capital of France?' };
  await prints(connection, 'LLM response: Paris', 'test_sampling', args);
  passed('sampling');
}

async function roots(connection) {
  const expected = `2 roots: ${User.ROOTS.join(', ')}`;
  await prints(connection, expected, 'test_input_required_result_list_roots');
  passed('roots');
}

async function rounds(connection) {
  await prints(connection, 'Ada likes blue.', 'test_input_required_result_multi_round');
  const expected = 'Good morning Ada, 2 roots';
  await prints(connection, expected, 'test_input_required_result_multiple_inputs');
  await prints(connection, 'state-ok', 'test_input_required_result_request_state');
  passed('several requests of one call');
}

async function concurrency(connection) {
  const regions = Array.from({ length: 20 }, (_, number) => `region ${number}`);
  await Promise.all(
    regions.map((region) => prints(connection, region, 'test_mirrored_param', { region })),
  );
  passed('20 concurrent calls');
}

async function cancellation(connection) {
  const waits = async (count) => (await textFrom(connection, 'test_count_waits')) === count;
  const abort = new AbortController();
  const call = connection.call('test_wait', {}, { signal: abort.signal });
  const ended = call.then((result) => `${result}`, () => 'cancelled');
  await eventually(() => waits('1 running, 0 cancelled'), 'the start of the call');
  abort.abort('a test');
  await eventually(() => waits('0 running, 1 cancelled'), 'the end of the cancelled call');
  expect((await ended) === 'cancelled', 'an error of the cancelled call', await ended);
  passed('cancellation');
}

async function changes(connection, { user }) {
  const end = await connection.watch(WATCHED);
  const next = async (expected) => {
    await eventually(() => user.changes.length > 0, `a notification of ${expected}`);
    const found = user.changes.shift();
    expect(found === expected, `a notification of ${expected}`, found);
  };
  for (const [kind, list] of [
    ['tool', 'listTools'],
    ['prompt', 'listPrompts'],
    ['resource', 'listResources'],
  ]) {
    const before = await connection[list]();
    for (const added of [1, 0]) {
      await textFrom(connection, `test_trigger_${kind}_change`);
      await next(`${kind}s`);
      const after = await connection[list]();
      expect(after.length === before.length + added, `${added} added ${kind}`, after);
    }
  }
  await textFrom(connection, 'test_trigger_resource_update');
  await next(WATCHED);
  await end();
  passed('list_changed, and updates of a resource');
}

async function reconnection(connection) {
  await prints(connection, 'The reply after the reconnection.', 'test_reconnection');
  passed('a reply after its stream was closed');
}

async function lostSession(connection, { transport, target, again }) {
  const id = connection.sessionId();
  if (connection.isStateless || transport !== 'http') {
    expect(id === undefined, 'no session', id);
    return;
  }
  expect(id, 'a session', id);
  const headers = { 'Mcp-Session-Id': id, 'Mcp-Protocol-Version': connection.version };
  const signal = AbortSignal.timeout(SOON);
  const response = await fetch(target[0], { method: 'DELETE', headers, signal });
  expect(response.ok, 'the end of the session', response.status);
  const result = await connection.call('test_simple_text', {}).catch(() => 'refused');
  expect(result === 'refused', 'an error in the session that has ended', result);
  const other = await again();
  await other.ping();
  await other.client.close();
  passed('a new session after the end of the first');
}
