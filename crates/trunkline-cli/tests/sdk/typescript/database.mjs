// The calls of all tools of a writable server of the Chinook sample.

import { expect, Failed, INVALID_PARAMS, passed, same, STATELESS, textOf } from './checks.mjs';

const TOOLS = [
  'create_table',
  'delete_record',
  'describe_table',
  'execute_raw_query',
  'insert_record',
  'list_tables',
  'query_records',
  'update_record',
];
export async function database(connection, { version, transport }) {
  negotiated(connection, version, transport);
  if (!connection.isStateless) {
    await connection.ping();
    passed('ping');
  }
  await listsTools(connection);
  await readsTables(connection);
  await runsQueries(connection);
  await writes(connection);
  await reportsErrors(connection);
  await refusesAnUnknownTool(connection);
  await answersManyAtOnce(connection);
}

function negotiated({ version, server }, asked, transport) {
  const allowed = [asked === 'auto' ? STATELESS : asked];
  // The transport is older than all revisions but one, and a server may say so.
  if (transport === 'sse') allowed.push('2024-11-05');
  expect(allowed.includes(version), `version ${allowed}`, version);
  expect(server?.name?.includes('trunkline'), 'a server named trunkline', server);
  passed(`${server.name} ${server.version} speaks ${version}`);
}

async function listsTools(connection) {
  const tools = await connection.listTools();
  const names = tools.map((tool) => tool.name).sort();
  expect(same(names, TOOLS), 'eight tools', names);
  for (const tool of tools) {
    expect(tool.description, `a description of ${tool.name}`, tool);
    expect(tool.inputSchema?.type === 'object', `an input schema of ${tool.name}`, tool);
    expect(tool.outputSchema, `an output schema of ${tool.name}`, tool);
  }
  passed('tools/list has eight tools with their schemas');
}

async function readsTables(connection) {
  const listed = await works(connection, 'list_tables', {}, 'PlaylistTrack');
  expect(listed.tables.length === 11, 'eleven tables', listed);
  passed('list_tables');

  const table = { table_name: 'Album', sample_rows: 1 };
  const described = await works(connection, 'describe_table', table, 'ArtistId');
  const columns = described.columns.map((column) => column.name);
  expect(same(columns, ['AlbumId', 'Title', 'ArtistId']), 'three columns', described);
  expect(same(described.primary_key, ['AlbumId']), 'the primary key', described);
  expect(described.foreign_keys[0].references_table === 'Artist', 'a reference', described);
  passed('describe_table');

  const query = {
    table_name: 'Customer',
    filters: { Country: 'Brazil', Company: { is_null: false } },
    columns: ['LastName', 'City'],
    order_by: 'LastName',
  };
  const rowset = await works(connection, 'query_records', query, 'Gonçalves');
  const gonçalves = ['Gonçalves', 'São José dos Campos'];
  expect(rowset.row_count === rowset.rows.length, 'as many rows as counted', rowset);
  expect(rowset.rows.some((row) => same(row, gonçalves)), 'a customer', rowset);
  passed('query_records');
}

async function runsQueries(connection) {
  const query = {
    query: 'SELECT Name, Milliseconds FROM Track WHERE TrackId = ?',
    params: [1],
  };
  const rowset = await works(connection, 'execute_raw_query', query, '343719');
  const names = rowset.columns.map((column) => column.name);
  expect(same(names, ['Name', 'Milliseconds']), 'two columns', rowset);
  expect(same(rowset.rows, [['For Those About To Rock (We Salute You)', 343719]]), 'a row', rowset);
  expect(rowset.truncated === false, 'a whole result', rowset);
  passed('execute_raw_query');
}

async function writes(connection) {
  const table = {
    table_name: 'Gig',
    schema: { GigId: 'INTEGER', City: 'TEXT', Seats: 'INTEGER' },
    primary_key: 'GigId',
  };
  const created = await works(connection, 'create_table', table, 'Gig');
  expect(created.table === 'Gig', 'the table', created);
  passed('create_table');

  for (const [index, City] of ['Ærøskøbing', 'São Paulo', '東京'].entries()) {
    const record = { table_name: 'Gig', data: { City, Seats: 100 * (index + 1) } };
    const inserted = await works(connection, 'insert_record', record, '1');
    expect(inserted.rows_affected === 1 && inserted.id === index + 1, 'one new row', inserted);
  }
  passed('insert_record');

  const change = { table_name: 'Gig', filters: { City: '東京' }, data: { Seats: 7 } };
  const updated = await works(connection, 'update_record', change, '1');
  expect(updated.rows_affected === 1, 'one row', updated);
  passed('update_record');

  const removal = { table_name: 'Gig', filters: { Seats: { gte: 100 } } };
  const deleted = await works(connection, 'delete_record', removal, '2');
  expect(deleted.rows_affected === 2, 'two rows', deleted);
  const left = await works(connection, 'query_records', { table_name: 'Gig' }, '東京');
  expect(same(left.rows, [[3, '東京', 7]]), 'the one row that is left', left);
  passed('delete_record');
}

async function reportsErrors(connection) {
  await fails(connection, 'describe_table', { table_name: 'Trak' }, 'Trak');
  await fails(connection, 'query_records', { table_name: 'Track', limit: 'many' }, 'limit');
  await fails(connection, 'execute_raw_query', { query: 'SELEC 1' }, 'SELEC');
  passed('errors are results that name the problem');
}

async function refusesAnUnknownTool(connection) {
  let answer;
  try {
    answer = await connection.call('drop_everything', {});
  } catch (error) {
    const code = connection.code(error);
    if (code === undefined) throw error;
    expect(code === INVALID_PARAMS, `error ${INVALID_PARAMS}`, code);
    passed('an unknown tool is a JSON-RPC error');
    return;
  }
  throw new Failed(`an unknown tool answered ${JSON.stringify(answer)}`);
}

async function answersManyAtOnce(connection) {
  const one = async (number) => {
    const query = {
      query: "SELECT ? AS n, 'call ' || ? AS call",
      params: [number, number],
    };
    const rowset = await works(connection, 'execute_raw_query', query, `call ${number}`);
    expect(same(rowset.rows, [[number, `call ${number}`]]), `row ${number}`, rowset);
  };
  await Promise.all(Array.from({ length: 20 }, (_, number) => one(number)));
  passed('20 calls at once, each with its own result');
}

// The structured result of a call that works, with this in its text.
async function works(connection, name, args, text) {
  const result = await connection.call(name, args);
  expect(!result.isError, `${name} to work`, result);
  expect(textOf(result).includes(text), `"${text}" in the text of ${name}`, result);
  expect(result.structuredContent, `structured content of ${name}`, result);
  return result.structuredContent;
}

async function fails(connection, name, args, text) {
  const result = await connection.call(name, args);
  expect(result.isError === true, `${name} to fail`, result);
  expect(textOf(result).includes(text), `"${text}" in the text of ${name}`, result);
}
