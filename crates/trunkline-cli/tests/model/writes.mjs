// What an agent may only do once it is confirmed, and what is left of it when the server was killed.
//
//     node writes.mjs URL before|after

import assert from 'node:assert/strict';

import { Client } from './client.mjs';

const [url, moment] = process.argv.slice(2);
const server = new Client(url);
const REMOVE = 'Empty all playlists.';
const ADD = 'Add the genre Skiffle.';

const chat = async (params) => (await server.call('/api', 'agent.chat', params)).result;
const conversations = async () =>
  (await server.call('/api', 'agent.list_conversations', {})).result.conversations;

if (moment === 'before') {
  await leftAlone();
  await confirmed();
} else {
  await kept();
}

// What waits to be confirmed has not happened, and does not happen when something else is said.
async function leftAlone() {
  const before = await count('PlaylistTrack');
  const asked = await chat({ message: REMOVE });
  waits(asked, 'delete_record', { table_name: 'PlaylistTrack', filters: {}, all: true });
  assert.equal(await count('PlaylistTrack'), before);
  await chat({ message: 'Rather not.', conversation_id: asked.conversation_id });
  const late = { conversation_id: asked.conversation_id, confirm: asked.pending.confirm };
  const { error } = await server.ask('/api', 'agent.chat', late);
  assert.equal(error?.code, -32011, JSON.stringify(error));
  assert.equal(await count('PlaylistTrack'), before);
  const { result } = await server.call('/api', 'agent.delete_conversation', {
    conversation_id: asked.conversation_id,
  });
  assert.equal(result.conversation_id, asked.conversation_id);
  console.log(`  ok: the ${before} rows stay where they are`);
}

// Exactly the call that was shown is made, once.
async function confirmed() {
  const query = "INSERT INTO Genre (Name) VALUES ('Skiffle')";
  const asked = await chat({ message: ADD });
  waits(asked, 'execute_raw_query', { query, read_only: false });
  assert.equal(await count("Genre WHERE Name = 'Skiffle'"), 0);

  const { conversation_id, pending } = asked;
  const confirm = { conversation_id, confirm: pending.confirm };
  const { result, trace } = await server.call('/api', 'agent.chat', confirm);
  assert.equal(result.pending, undefined);
  assert.equal(result.steps.length, 1);
  assert.deepEqual(result.steps[0].arguments, pending.arguments);
  assert.equal(result.steps[0].result.rows_affected, 1);
  assert.match(result.response, /^I was told: /);
  const [made] = await server.history(`trace_id=${trace}&endpoint=agent`);
  assert.deepEqual(JSON.parse(made.request.text).params, pending.arguments);

  const { error } = await server.ask('/api', 'agent.chat', confirm);
  assert.equal(error?.code, -32011, JSON.stringify(error));
  assert.equal(await count("Genre WHERE Name = 'Skiffle'"), 1);
  console.log('  ok: one row was added, when that was confirmed');
}

async function kept() {
  assert.equal(await count("Genre WHERE Name = 'Skiffle'"), 1);
  const listed = await conversations();
  assert.equal(listed.length, 1, JSON.stringify(listed));
  const { conversation_id } = listed[0];
  const { response } = await chat({ message: 'And now?', conversation_id });
  assert.match(response, /^I was told: /, 'the model is sent what was said before');
  await server.call('/api', 'agent.delete_conversation', { conversation_id });
  assert.deepEqual(await conversations(), []);
  console.log('  ok: the row and the conversation are there again');
}

function waits({ pending, steps }, tool, given) {
  assert.deepEqual(pending && { tool: pending.tool, arguments: pending.arguments }, {
    tool,
    arguments: given,
  });
  assert.equal(steps.length, 1, JSON.stringify(steps));
  assert.ok(steps.every((step) => step.error), JSON.stringify(steps));
}

async function count(from) {
  const query = `SELECT count(*) FROM ${from}`;
  const { result } = await server.call('/', 'db.execute_raw_query', { query });
  return result.rows[0][0];
}
