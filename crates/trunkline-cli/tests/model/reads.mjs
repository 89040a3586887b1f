// Asks an agent how many tracks there are, and looks for every hop of it in the history.
//
//     node reads.mjs URL ENDPOINT TOOL whole|pieces TRACKS

import assert from 'node:assert/strict';

import { Client, KEY, SECRET } from './client.mjs';

const [url, endpoint, tool, form, tracks] = process.argv.slice(2);
const server = new Client(url);
const QUESTION = { message: 'how many tracks are there?' };
const ANSWER = `There are ${tracks} tracks.`;
// Of 1,000 rows each, the last one not full.
const CALLS = tool === 'query_records' ? Math.floor(tracks / 1000) + 1 : 1;

const plain = await server.call('/api', 'agent.chat', QUESTION);
answered(plain.result);
await askedTheModel(plain.trace);
await hops(plain.trace);

const streamed = await server.stream('agent.chat', QUESTION);
told(streamed.events);
await askedTheModel(streamed.trace);
await hops(streamed.trace);

await everyDoor();
await redacted();
await logged(plain.trace, streamed.trace);
console.log(`  ok: ${tool}, ${form}: ${ANSWER} (calls: ${CALLS})`);

function answered({ response, conversation_id, status_updates, steps, usage, metadata, pending }) {
  assert.equal(response, ANSWER);
  assert.match(conversation_id, /^[0-9a-f-]{36}$/);
  assert.equal(steps.length, CALLS);
  for (const step of steps) {
    assert.equal(step.tool, tool);
    assert.ok(step.arguments && step.result && step.ms >= 0, JSON.stringify(step));
    assert.equal(step.error, undefined);
  }
  assert.equal(status_updates.filter((update) => update === `Calling ${tool}`).length, CALLS);
  // Each question to the model takes 120, and its prompt is new once.
  assert.deepEqual(usage, {
    prompt_tokens: 100 * (CALLS + 1),
    completion_tokens: 20 * (CALLS + 1),
    total_tokens: 120 * (CALLS + 1),
    counted_tokens: 100 + 20 * (CALLS + 1),
    estimated: false,
  });
  assert.equal(metadata.model, 'scripted');
  assert.equal(metadata.model_calls, CALLS + 1);
  assert.equal(pending, undefined);
}

function told(events) {
  const names = events.map((event) => event.name);
  const of = (name) => events.filter((event) => event.name === name).map((event) => event.data);
  assert.equal(of('tool_call').length, CALLS);
  assert.equal(of('tool_result').length, CALLS);
  assert.ok(names.indexOf('tool_call') < names.indexOf('tool_result'), names);
  assert.equal(of('token').map((token) => token.text).join(''), ANSWER);
  assert.deepEqual(names.slice(-2), ['done', 'response']);
  answered(of('response')[0].result);
}

// With its key and in the caller's trace, as a stream unless it has refused one.
async function askedTheModel(trace) {
  const asked = await (await fetch(`${endpoint}/asked`)).json();
  const answers = asked.filter(({ body }) => form === 'pieces' || !body.stream);
  assert.equal(answers.length, CALLS + 1);
  for (const { headers, body } of asked) {
    assert.equal(headers.authorization, `Bearer ${KEY}`);
    assert.equal(headers.traceparent.split('-')[1], trace);
    assert.ok(body.tools.some((offered) => offered.function.name === tool));
  }
}

// One trace holds the question and all calls that were made for it, whichever way it is looked for.
async function hops(trace) {
  const entries = await server.history(`trace_id=${trace}`);
  const call = ({ endpoint, method, status }) => `${endpoint} ${method} ${status}`;
  const expected = ['api agent.chat result', ...Array(CALLS).fill(`agent db.${tool} result`)];
  assert.deepEqual(entries.map(call).sort(), expected.sort());
  for (const entry of entries) {
    assert.equal(entry.trace_id, trace);
    assert.ok(entry.ms >= 0 && entry.request.text && entry.response, JSON.stringify(entry));
  }
  const chat = entries.find((entry) => entry.endpoint === 'api');
  assert.ok(chat.request.text.includes(QUESTION.message));
  const numbers = (some) => some.map((entry) => entry.sequence);
  assert.deepEqual(numbers(await server.history(`trace_id=${trace}`, 1)), numbers(entries));
  const calls = entries.filter((entry) => entry.endpoint === 'agent');
  for (const filter of ['endpoint=agent', 'method=db.*', `method=db.${tool}&status=result`]) {
    const found = await server.history(`trace_id=${trace}&${filter}`);
    assert.deepEqual(numbers(found), numbers(calls), filter);
  }
  for (const filter of ['status=error', 'endpoint=mcp', 'since=2999-01-01T00:00:00Z']) {
    assert.deepEqual(await server.history(`trace_id=${trace}&${filter}`), [], filter);
  }
}

// One operation behind all endpoints.
async function everyDoor() {
  const params = { query: 'SELECT count(*) AS tracks FROM Track' };
  const revision = { 'MCP-Protocol-Version': '2025-11-25' };
  const accept = { Accept: 'application/json, text/event-stream' };
  const named = { name: 'execute_raw_query', arguments: params };
  const executed = { tool: 'execute_raw_query', params };
  const calls = [
    await server.call('/', 'db.execute_raw_query', params),
    await server.call('/mcp', 'tools/call', named, { ...revision, ...accept }),
    await server.call('/api', 'agent.execute_tool', executed),
  ];
  const [rpc, mcp, step] = calls.map(({ result }) => result);
  const { elapsed_ms: _, ...first } = rpc;
  assert.deepEqual(first.rows, [[Number(tracks)]]);
  const { elapsed_ms: __, ...executedByAgent } = step.result;
  assert.deepEqual(executedByAgent, first);
  assert.match(mcp.content[0].text, new RegExp(`^${tracks}$`, 'm'));
  const endpoints = [['json-rpc'], ['mcp'], ['agent', 'api']];
  for (const [index, { trace }] of calls.entries()) {
    const entries = await server.history(`trace_id=${trace}`);
    assert.deepEqual(entries.map((entry) => entry.endpoint).sort(), endpoints[index]);
    for (const { endpoint, method, operation } of entries) {
      assert.ok(endpoint === 'api' || (operation ?? method) === 'db.execute_raw_query');
    }
  }
}

// Neither a secret of a request nor the server's own key reaches the history or the log.
async function redacted() {
  const params = { query: 'SELECT length(:password) AS said', params: { password: SECRET } };
  const executed = { tool: 'execute_raw_query', params };
  const { result, trace } = await server.call('/api', 'agent.execute_tool', executed);
  assert.deepEqual(result.result.rows, [[SECRET.length]]);
  const entries = await server.history(`trace_id=${trace}`);
  assert.deepEqual(entries.map((entry) => entry.endpoint).sort(), ['agent', 'api']);
  for (const { request } of entries) assert.ok(request.text.includes('[redacted]'), request.text);
  const of = (line) => line.includes(trace);
  const written = (log) => log.split('\n').slice(0, -1).filter(of).length === entries.length;
  const log = await server.once('/logs/current', written, `both entries of ${trace}`);
  for (const text of [JSON.stringify(await server.history('')), log]) {
    assert.ok(!text.includes(SECRET) && !text.includes(KEY), 'a secret is kept');
  }
}

async function logged(...traces) {
  const log = await server.until('/logs/current', ...traces);
  const lines = log.trimEnd().split('\n').map((line) => JSON.parse(line));
  for (const trace of traces) {
    const hops = lines.filter((line) => line.trace_id === trace);
    assert.equal(hops.length, CALLS + 1);
  }
  const stats = JSON.parse(await server.until('/logs/stats', 'by_endpoint'));
  assert.equal(stats.by_method['agent.chat'].calls, traces.length);
  assert.equal(stats.by_endpoint.agent, lines.filter((line) => line.endpoint === 'agent').length);
  const { logs } = await (await server.get('/logs')).json();
  assert.equal(logs.filter((one) => one.current).length, 1);
}
