// An endpoint of chat completions in the manner of OpenAI's, for models that are played or small.

import { createServer } from 'node:http';

const LONGEST = 8 << 20;
const REMEMBERED = 100;

// `complete(request, say, signal)` answers a request with `{ content, calls, usage }`, in which a call is
// `{ name, arguments }`. What it says in words it may `say` while it comes. The signal tells that nobody
// waits any more. `GET /asked` tells what was asked since it was last asked that.
export function serve(complete, { streams = true } = {}) {
  const asked = [];
  const server = createServer(async (request, response) => {
    try {
      if (request.method === 'GET' && request.url === '/asked') {
        return json(response, 200, asked.splice(0));
      }
      if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
        return refuse(response, 404, `there is no ${request.method} ${request.url}`);
      }
      const body = JSON.parse(await text(request));
      asked.push({ headers: request.headers, body });
      asked.splice(0, asked.length - REMEMBERED);
      if (body.stream && !streams) return refuse(response, 400, 'stream is not supported');
      await answer(response, body, complete);
    } catch (error) {
      console.error(error);
      if (response.headersSent) response.destroy();
      else refuse(response, 500, String(error));
    }
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`listening http://127.0.0.1:${server.address().port}`);
  });
}

async function answer(response, body, complete) {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const chunk = (delta, finish_reason = null, rest = {}) => {
    const choices = [{ index: 0, delta, finish_reason }];
    event(response, { object: 'chat.completion.chunk', model: body.model, choices, ...rest });
  };
  let said = '';
  const say = (piece) => {
    said += piece;
    if (body.stream) chunk({ content: piece });
  };
  if (body.stream) response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const { content = '', calls = [], usage } = await complete(body, say, gone.signal);
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
  if (!body.stream) {
    const tool_calls = calls.map((call, index) => ({
      id: `call_${index}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    }));
    const message = { role: 'assistant', content: said || content, tool_calls };
    const choices = [{ index: 0, message, finish_reason }];
    return json(response, 200, { object: 'chat.completion', model: body.model, choices, usage });
  }
  if (content && !said) chunk({ content });
  calls.forEach((call, index) => {
    for (const piece of pieces(call, index)) chunk({ tool_calls: [piece] });
  });
  chunk({}, finish_reason);
  event(response, { object: 'chat.completion.chunk', model: body.model, choices: [], usage });
  response.end('data: [DONE]\n\n');
}

// The name comes first, and the arguments in bits that end anywhere.
function* pieces({ name, arguments: given }, index) {
  const id = `call_${index}`;
  yield { index, id, type: 'function', function: { name, arguments: '' } };
  const written = JSON.stringify(given);
  for (let begin = 0; begin < written.length; begin += 7) {
    yield { index, function: { arguments: written.slice(begin, begin + 7) } };
  }
}

function event(response, data) {
  response.write(`data: ${JSON.stringify(data)}\n\n`);
}

function json(response, status, value) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
}

function refuse(response, status, message) {
  json(response, status, { error: { message } });
}

async function text(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > LONGEST) throw new Error(`a request has over ${LONGEST} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
