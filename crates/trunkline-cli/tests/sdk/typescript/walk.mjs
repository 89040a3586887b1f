// What every SDK does with a writable server of the Chinook sample. An SDK is wrapped in a
// connection; the walk sees plain JSON and is the same for all of them.

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
const INVALID_PARAMS = -32602;

// Milliseconds. An SDK waits 2,000 for a server to end by itself, and kills it then.
const SOON = 1500;

// The first revision without `ping`.
export const STATELESS = '2026-07-28';

class Failed extends Error {}

export function expect(met, what, got) {
  if (!met) throw new Failed(`expected ${what}, got ${JSON.stringify(got)}`);
}

export function passed(what) {
  console.log(`  ok: ${what}`);
}

// `connection` has `version`, `server`, `ping()`, `listTools()`, `call(name, args)`, and `code(error)`,
// which gives the code of an error that the server answered with.
export async function walk(connection, asked, transport) {
  negotiated(connection, asked, transport);
  if (connection.version < STATELESS) {
    await connection.ping();
    passed('ping');
  }
  await listsTools(connection);
  await readsTables(connection);
  await runsQueries(connection);
  await writes(connection);
  await tellsOfFailures(connection);
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

async function tellsOfFailures(connection) {
  await fails(connection, 'describe_table', { table_name: 'Trak' }, 'Trak');
  await fails(connection, 'query_records', { table_name: 'Track', limit: 'many' }, 'limit');
  await fails(connection, 'execute_raw_query', { query: 'SELEC 1' }, 'SELEC');
  passed('failures are results that say what is wrong');
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
  expect(onlyText(result).includes(text), `"${text}" in the text of ${name}`, result);
  expect(result.structuredContent, `structured content of ${name}`, result);
  return result.structuredContent;
}

async function fails(connection, name, args, text) {
  const result = await connection.call(name, args);
  expect(result.isError === true, `${name} to fail`, result);
  expect(onlyText(result).includes(text), `"${text}" in what ${name} says`, result);
}

function onlyText(result) {
  expect(result.content?.length === 1 && result.content[0].type === 'text', 'one text block', result);
  return result.content[0].text;
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

// Runs `run(version, transport, target)` with the arguments of the command line. It returns the
// client, which is closed here.
export async function main(run) {
  const [version, transport, ...target] = process.argv.slice(2);
  const one = ['http', 'sse'].includes(transport) && target.length === 1;
  if (!one && !(transport === 'stdio' && target.length > 0)) {
    console.error('usage: SCRIPT VERSION http URL | sse URL | stdio COMMAND ARGS…');
    process.exit(2);
  }
  // The SDK says here what it finds odd about a server, such as a schema that it cannot follow.
  const warnings = [];
  console.warn = (...words) => warnings.push(words.join(' '));
  try {
    const client = await run(version, transport, target);
    const done = performance.now();
    await client.close();
    const closing = performance.now() - done;
    expect(closing < SOON, `the connection to close within ${SOON} ms`, closing);
    passed('closed');
    expect(warnings.length === 0, 'no warnings', [...new Set(warnings)]);
    passed('the SDK had nothing to warn of');
  } catch (error) {
    console.error(error instanceof Failed ? `FAILED: ${error.message}` : error);
    process.exit(1);
  }
}
