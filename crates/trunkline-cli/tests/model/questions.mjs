// Asks an agent with a small model about Chinook, and looks which tool it calls for that.
//
//     node questions.mjs URL FACTS LEAST
//
// FACTS is `{tables, album, customer, tracks}`: what the database holds. It is looked for in what the tools
// return. What the model makes of that in words is shown, and not judged: a model this small gets it wrong.
// At LEAST so many calls have to be right, and all turns have to end.

import { Client } from './client.mjs';

const [url, told, least] = process.argv.slice(2);
const facts = JSON.parse(told);
const server = new Client(url);

const tables = ({ tables }) => same(tables.map((table) => table.name).sort(), [...facts.tables].sort());
const columns = (expected) => (result) => same(result.columns.map((column) => column.name), expected);
const counted = ({ rows }) => same(rows, [[facts.tracks]]);
const table = (name) => (given) => given.table_name?.toLowerCase() === name;
const count = ({ query }) => /^select count\(.+\) from track\b/i.test(query);

// The question, the tool, what its arguments are to be, and what its result.
const QUESTIONS = [
  ['Which tables are there?', 'list_tables', () => true, tables],
  ['What tables does the database have?', 'list_tables', () => true, tables],
  ['Describe the table Album.', 'describe_table', table('album'), columns(facts.album)],
  ['Which columns does the Customer table have?', 'describe_table', table('customer'), columns(facts.customer)],
  ['How many records are in the Track table?', 'execute_raw_query', count, counted],
  ['how many tracks are there?', 'execute_raw_query', count, counted],
];

let right = 0;
let ended = 0;
for (const [question, tool, fits, holds] of QUESTIONS) {
  const begin = performance.now();
  const { result, error } = await server.ask('/api', 'agent.chat', { message: question });
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  const verdict = judged(result, tool, fits, holds);
  if (result) ended += 1;
  if (verdict === 'right') right += 1;
  const step = result?.steps[0];
  show('question', question);
  show('called', step ? `${step.tool} ${JSON.stringify(step.arguments)}` : 'nothing');
  if (step) show('result', cut(JSON.stringify(step.result ?? step.error)));
  show('answer', result ? cut(result.response) : JSON.stringify(error));
  show('took', `${result?.usage.total_tokens ?? 0} tokens, ${seconds} s, ${result?.steps.length ?? 0} calls`);
  show('verdict', `${verdict}\n`);
}
const all = QUESTIONS.length;
console.log(`${right} of ${all} questions: the right tool, the right arguments, the true result (at least ${least} wanted)`);
console.log(`${ended} of ${all} turns ended without an error of the protocol`);
process.exit(right >= Number(least) && ended === all ? 0 : 1);

function judged(result, tool, fits, holds) {
  const step = result?.steps[0];
  if (!step) return `wrong: ${tool} was to be called`;
  if (step.tool !== tool) return `wrong: not ${tool}`;
  if (!fits(step.arguments)) return 'wrong: not these arguments';
  // The agent makes no call whose arguments are not those of the tool's schema.
  if (!step.result || !holds(step.result)) return 'wrong: not this result';
  return 'right';
}

function show(what, text) {
  console.log(`  ${what.padEnd(9)} ${text}`);
}

function cut(text) {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 110 ? `${line.slice(0, 110)}…` : line;
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
