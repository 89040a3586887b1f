// A small language model as an endpoint of chat completions.
//
//     node small.mjs MODEL.gguf
//
// Its own chat template knows no tools. So they stand in the system prompt, with a few examples of their
// use in another database, and what it may write in answer to a question is held to the form of a call:
// which tool that is and what stands in its arguments is the model's choice. Asked by a name that ends with
// `-text`, it is held to nothing, and its words are passed on as they are, as they come.

import { loadModel, toggleNativeLog } from '@fugood/llama.node';

import { serve } from './completions.mjs';

// It reads 35 tokens a second on two old cores, so a result is cut.
const LONGEST_RESULT = 400;
const CONTEXT = 4096;
const LONGEST_ANSWER = 96;

const EXAMPLES = [
  ['List the tables.', 'list_tables', {}, 'Person, City', 'The tables are Person and City.'],
  [
    'Which columns does the table Person have?',
    'describe_table',
    { table_name: 'Person' },
    'id, name, age',
    'Person has the columns id, name and age.',
  ],
  [
    'How many cities are in the table City?',
    'execute_raw_query',
    { query: 'SELECT count(*) FROM City' },
    'count(*)\n52',
    'There are 52 cities.',
  ],
  [
    'Describe the table City.',
    'describe_table',
    { table_name: 'City' },
    'id, name',
    'City has the columns id and name.',
  ],
  [
    'How many rows does the table Person have?',
    'execute_raw_query',
    { query: 'SELECT count(*) FROM Person' },
    'count(*)\n7',
    'There are 7 rows.',
  ],
];

// What llama.cpp says of itself is for its developers.
await toggleNativeLog(true);
const [path] = process.argv.slice(2);
const model = await loadModel({ model: path, n_ctx: CONTEXT, n_gpu_layers: 0, n_parallel: 1 });
// It has one context, so one question is answered after the other.
let last = Promise.resolve();

serve((request, say, signal) => {
  const answered = last.then(() => answer(request, say, signal));
  last = answered.catch(() => {});
  return answered;
});

async function answer({ model: name, messages, tools = [] }, say, signal) {
  const offered = tools.map((tool) => tool.function);
  const isQuestion = messages.at(-1).role === 'user';
  const isHeld = isQuestion && !name.endsWith('-text');
  const options = {
    messages: [...introduction(offered), ...conversation(messages)],
    temperature: 0,
    seed: 1,
    n_predict: LONGEST_ANSWER,
  };
  if (isHeld) options.response_format = { type: 'json_schema', json_schema: { schema: calls(offered) } };
  const stop = () => model.stopCompletion();
  signal.addEventListener('abort', stop, { once: true });
  const pass = ({ token }) => (token ? say(token) : undefined);
  const written = await model.completion(options, isHeld ? undefined : pass);
  signal.removeEventListener('abort', stop);
  const { tokens_evaluated: read, tokens_predicted: wrote, text } = written;
  const usage = { prompt_tokens: read, completion_tokens: wrote, total_tokens: read + wrote };
  return isHeld ? { calls: [JSON.parse(text)], usage } : { content: text, usage };
}

function introduction(tools) {
  const listed = tools.map(({ name, description, parameters }) => {
    return `${name}(${(parameters.required ?? []).join(', ')}): ${description}`;
  });
  const system = `Answer questions about a database with the tools.\n\n${listed.join('\n')}`;
  const known = EXAMPLES.filter(([, name]) => tools.some((tool) => tool.name === name));
  const turns = known.flatMap(([question, name, given, result, words]) => [
    { role: 'user', content: question },
    { role: 'assistant', content: JSON.stringify({ name, arguments: given }) },
    { role: 'user', content: `Result:\n${result}` },
    { role: 'assistant', content: words },
  ]);
  return [{ role: 'system', content: system }, ...turns];
}

// What was said, in the form of the examples.
function conversation(messages) {
  return messages.filter(({ role }) => role !== 'system').map(({ role, content, tool_calls }) => {
    if (role === 'tool') return { role: 'user', content: `Result:\n${data(content)}` };
    if (!tool_calls?.length) return { role, content };
    const { name, arguments: given } = tool_calls[0].function;
    return { role, content: JSON.stringify({ name, arguments: JSON.parse(given) }) };
  });
}

// What stands between the marks of a result, which would be read out as a part of it.
function data(result) {
  const [, , marked = result] = /<(data-\w+)>\n([^]*)\n<\/\1>/.exec(result) ?? [];
  return marked.slice(0, LONGEST_RESULT);
}

// A call of one of the tools, with the arguments that it needs and no others.
function calls(tools) {
  const oneOf = tools.map(({ name, parameters: { properties = {}, required = [] } }) => {
    const needed = Object.fromEntries(required.map((one) => [one, properties[one]]));
    return object({ name: { const: name }, arguments: object(needed) });
  });
  return { oneOf };
}

function object(properties) {
  const required = Object.keys(properties);
  return { type: 'object', properties, required, additionalProperties: false };
}
