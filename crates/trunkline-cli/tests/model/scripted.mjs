// A model that plays a part: which tool it calls is written here, what it says then is taken from what
// the tool returned.
//
//     node scripted.mjs TOOL whole|pieces

import { serve } from './completions.mjs';

const [counter, form] = process.argv.slice(2);
const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

const page = (more) => ({
  name: 'query_records',
  arguments: { table_name: 'Track', columns: ['TrackId'], limit: 1000, ...more },
});
const count = { name: 'execute_raw_query', arguments: { query: 'SELECT count(*) FROM Track' } };
const insertion = {
  name: 'execute_raw_query',
  arguments: { query: "INSERT INTO Genre (Name) VALUES ('Skiffle')", read_only: false },
};
const deletion = {
  name: 'delete_record',
  arguments: { table_name: 'PlaylistTrack', filters: {}, all: true },
};

const PARTS = {
  'how many tracks are there?': counter === 'query_records' ? addsPages : readsCount,
  'Add the genre Skiffle.': (results) => results.length === 0 ? call(insertion) : tells(results),
  'Empty all playlists.': (results) => results.length === 0 ? call(deletion) : tells(results),
};

serve(
  ({ messages }) => {
    // What was said last, and what the tools have returned since.
    const begin = messages.findLastIndex((message) => message.content in PARTS);
    if (begin < 0) return { content: 'I do not know that part.', usage };
    const results = messages.slice(begin).filter((message) => message.role === 'tool');
    return PARTS[messages[begin].content](results.map((result) => result.content));
  },
  { streams: form === 'pieces' },
);

// Reads the whole table, page by page, and adds what each page says of itself.
function addsPages(results) {
  if (results.length === 0) return call(page({}));
  const last = results.at(-1);
  const cursor = /next_cursor: (\S+)/.exec(last)?.[1];
  if (cursor) return call(page({ cursor }));
  const rows = results.map((result) => Number(/^(\d+) rows?\b/.exec(result)?.[1]));
  return says(`There are ${rows.reduce((sum, one) => sum + one, 0)} tracks.`);
}

function readsCount(results) {
  if (results.length === 0) return call(count);
  // The one line that is a number, among those that say what it is.
  return says(`There are ${/^\d+$/m.exec(results[0])?.[0]} tracks.`);
}

function tells(results) {
  return says(`I was told: ${results.at(-1)}`);
}

function call(one) {
  return { calls: [one], usage };
}

function says(content) {
  return { content, usage };
}
