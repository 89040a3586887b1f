// A client of the server, over its sockets.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';

// Milliseconds, for what is written behind the calls.
const PATIENCE = 10_000;

export class Client {
  constructor(url) {
    this.url = url;
  }

  // A response of JSON-RPC, and the trace in which it was asked for.
  async ask(path, method, params, headers = {}) {
    const { response, trace } = await this.post(path, method, params, headers);
    assert.equal(response.headers.get('content-type'), 'application/json');
    return { ...(await response.json()), trace };
  }

  // The result, of a call that has one.
  async call(path, method, params, headers) {
    const { result, error, trace } = await this.ask(path, method, params, headers);
    assert.ok(result, `${method} at ${path}: ${JSON.stringify(error)}`);
    return { result, trace };
  }

  // The events of a call, in order, each with its name and data.
  async stream(method, params) {
    const accept = { Accept: 'text/event-stream' };
    const { response, trace } = await this.post('/api', method, params, accept);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    const frames = (await response.text()).split('\n\n').filter((frame) => /^event: /.test(frame));
    const events = frames.map((frame) => {
      const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(frame);
      return { name, data: JSON.parse(data) };
    });
    return { events, trace };
  }

  async get(path) {
    const response = await fetch(this.url + path);
    assert.equal(response.status, 200, path);
    return response;
  }

  // The entries of the history, newest first, over all of its pages.
  async history(query, limit = 100) {
    const entries = [];
    let before = '';
    for (;;) {
      const page = await this.get(`/history?${query}&limit=${limit}${before}`);
      const { entries: some, next } = await page.json();
      entries.push(...some);
      if (next === null) return entries;
      before = `&before=${next}`;
    }
  }

  // What a path says once it holds all of these, as text.
  until(path, ...wanted) {
    const told = (text) => wanted.every((one) => text.includes(one));
    return this.once(path, told, wanted.join(', '));
  }

  // What a path says once that is so, as text.
  async once(path, isSo, what) {
    for (const deadline = Date.now() + PATIENCE; ; ) {
      const text = await (await this.get(path)).text();
      if (isSo(text)) return text;
      assert.ok(Date.now() < deadline, `${path} does not come to tell of ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async post(path, method, params, headers) {
    const trace = randomBytes(16).toString('hex');
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01`,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    assert.equal(response.status, 200, `${method} at ${path}`);
    return { response, trace };
  }
}

// The server's key for the model, and what a caller would not want to be kept.
export const KEY = process.env.TRUNKLINE_AGENT_KEY;
export const SECRET = 'correct-horse-battery-staple';
