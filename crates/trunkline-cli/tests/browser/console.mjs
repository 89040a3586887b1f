// Opens each page of the web console in headless Chromium, and uses it as a person would.
//
//     node console.mjs OPEN_URL LOCKED_URL TOKEN FOLDER
//
// Fails on errors in the browser's console, which include violations of the content security policy, on
// findings of axe, on pages that are wider than the window, and on pages whose first paint takes too long. Writes a
// screenshot of each page at two widths, and the report of axe, to FOLDER.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

const [open, locked, token, folder] = process.argv.slice(2);
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const WIDTHS = [1280, 390];
const TIMEOUT = 30_000;
// Of one machine with two cores that also runs other tests. A user's goal is 300 ms.
const FIRST_PAINT = 5_000;

const profile = mkdtempSync(join(tmpdir(), 'trunkline-console-'));
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const options = { executablePath, args: FLAGS, headless: true, viewport: { width: WIDTHS[0], height: 800 } };
const context = await chromium.launchPersistentContext(profile, options);
context.setDefaultTimeout(TIMEOUT);
const problems = [];
const findings = [];
const paints = [];
let expected = [];

// A page of the browser that reports what goes wrong in it.
async function opened() {
  const page = await context.newPage();
  page.on('console', (message) => {
    const text = message.text();
    if (!['error', 'warning'].includes(message.type())) return;
    if (!expected.some((part) => text.includes(part))) problems.push(`${page.url()}: ${text}`);
  });
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  return page;
}

async function call(method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(open, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  return response.json();
}

// Checks the current state of a page, at both widths.
async function check(page, name) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (excess > 0) problems.push(`${name}: ${excess} pixels wider than ${width}`);
    await page.screenshot({ path: join(folder, `${name}-${width}.png`) });
  }
  await page.setViewportSize({ width: WIDTHS[0], height: 800 });
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    for (const { id, impact, help, nodes } of violations) {
      const finding = { page: name, colorScheme, id, impact, help, nodes: nodes.map(({ target }) => target.join(' ')) };
      findings.push(finding);
      problems.push(`${name}, ${colorScheme}: ${impact}: ${id}: ${help}: ${finding.nodes[0]}`);
    }
  }
  console.log(`  ok: ${name}`);
}

async function visit(page, name, path, base = open) {
  await page.goto(base + path, { waitUntil: 'load' });
  const paint = await page.evaluate(() => new Promise((resolve) => {
    const found = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
    const wait = () => (found() === undefined ? requestAnimationFrame(wait) : resolve(found()));
    wait();
  }));
  paints.push([name, paint]);
  if (paint > FIRST_PAINT) problems.push(`${name}: the first paint took ${Math.round(paint)} ms`);
  await check(page, name);
}

const page = await opened();

// Operations: search, form, call, confirmation, shared URL.
await visit(page, 'operations', '/console/operations');
await page.keyboard.press('/');
await page.keyboard.type('db.query_rec');
assert.equal(await page.locator('li[data-filtered]:visible').count(), 1);
await page.locator('li[data-filtered]:visible a').click();
await page.fill('[name="p.table_name"]', 'Genre');
await page.fill('[name="p.limit"]', '3');
await page.click('button:text-is("Call")');
await page.waitForSelector('#answer table');
assert.equal(await page.locator('#answer tbody tr').count(), 3);
await check(page, 'operation-result');
const shared = await page.getAttribute('a[data-copy-link]', 'href');
await visit(page, 'operation-form', shared);
assert.equal(await page.inputValue('[name="p.table_name"]'), 'Genre');
await page.goto(`${open}/console/operations/db.delete_record`);
await page.fill('[name="p.table_name"]', 'Genre');
await page.fill('[name="p.filters"]', '{"Name": "none"}');
await page.click('button:text-is("Call")');
await page.waitForSelector('button:text-is("Confirm and call")');
await check(page, 'operation-confirmation');
await page.click('button:text-is("Confirm and call")');
assert.match(await page.textContent('#answer'), /rows_affected/);

// Databases: tables, rows with filter and pages, columns, relations, query with plan and chart, export.
await visit(page, 'tables', '/console/databases/main');
await visit(page, 'relations', '/console/databases/main/relations');
await visit(page, 'columns', '/console/databases/main/tables/Track/columns');
await visit(page, 'rows', '/console/databases/main/tables/Track');
await page.keyboard.press('n');
await page.waitForURL(/cursor=/);
await page.selectOption('#f', 'Milliseconds');
await page.selectOption('#op', 'gt');
await page.fill('#v', '5000000');
await page.click('button:text-is("Add filter")');
await page.waitForURL(/op=gt/);
assert.equal(await page.locator('tbody tr').count(), 2);
await check(page, 'rows-filtered');
await page.click('tbody tr:first-child td a');
await page.waitForSelector('.chip');
await page.goto(`${open}/console/databases/main/query`);
await page.fill('#sql', 'SELECT g.Name, count(*) AS tracks FROM Track t JOIN Genre g USING (GenreId) GROUP BY 1 ORDER BY 2 DESC LIMIT 10');
await page.click('button:text-is("Plan")');
await page.waitForSelector('.plan');
await check(page, 'query-plan');
await page.focus('#sql');
await page.keyboard.press('Control+Enter');
await page.waitForSelector('#chart');
await page.selectOption('#chart', 'bar');
await page.click('button:text-is("Draw")');
await page.waitForSelector('.chart rect.mark');
assert.equal(await page.locator('.chart rect.mark').count(), 10);
await check(page, 'query');
const download = page.waitForEvent('download');
await page.click('.exports a:text-is("CSV")');
const csv = readFileSync(await (await download).path(), 'utf8');
assert.match(csv, /^Name,tracks\r?\n/);

// History: live calls, filter, one call, repetition.
await visit(page, 'history', '/console/history');
await page.waitForFunction(() => document.querySelector('[data-live]').getAttribute('aria-pressed') === 'true');
const before = await page.locator('[data-calls] tr').count();
await call('db.list_tables', { pattern: '<img src=x onerror=alert(1)>' });
await page.waitForFunction((count) => document.querySelectorAll('[data-calls] tr').length > count, before);
await page.click('[data-calls] tr:first-child a');
await page.waitForSelector('button:text-is("Repeat the call")');
await check(page, 'history-call');
await page.click('button:text-is("Repeat the call")');
await page.waitForSelector('#answer');

// Overview.
await visit(page, 'overview', '/console');

// Records: form, change, history of the record, undo.
await visit(page, 'record-new', '/console/records/todo/new');
await page.fill('[name="p.title"]', 'tea');
await page.click('button:text-is("Create")');
await page.waitForURL(/done=created/);
await page.fill('[name="p.title"]', 'coffee');
await page.click('button:text-is("Save")');
await page.waitForURL(/done=updated/);
await check(page, 'record');
await page.click('.notice button:text-is("Undo")');
await page.waitForURL(/done=reverted/);
assert.equal(await page.inputValue('[name="p.title"]'), 'tea');
await visit(page, 'records', '/console/records/todo');

// Tools and upstreams.
await visit(page, 'tools', '/console/tools');
await page.click('button:text-is("Reload")');
await page.waitForSelector('.notice.ok');
await page.locator('.upstream', { hasText: 'broken' }).locator('button').click();
await page.waitForURL(/done=reconnected/);
assert.match(await page.textContent('.upstream .notice.error'), /Last error/);

// Agent: streaming, tool calls, confirmation.
await visit(page, 'agent', '/console/agent');
await page.fill('#message', 'Empty all playlists.');
await page.keyboard.press('Enter');
await page.waitForSelector('button:text-is("Confirm")');
await check(page, 'agent-confirmation');
await page.click('button:text-is("New conversation"), a:text-is("New conversation")');
await page.fill('#message', 'how many tracks are there?');
await page.keyboard.press('Enter');
await page.waitForFunction(() => /There are \d+ tracks/.test(document.querySelector('[data-log]').textContent));
assert.equal(await page.locator('.step').count() > 0, true);
await check(page, 'agent-answer');

// A server with a token: sign in, sign out.
expected = ['401'];
await visit(page, 'sign-in', '/console/databases/main', locked);
await page.fill('#token', 'wrong');
await page.click('button:text-is("Sign in")');
await page.waitForSelector('.notice.error');
await page.fill('#token', token);
await page.click('button:text-is("Sign in")');
await page.waitForURL(/\/console\/databases\/main$/);
await page.goto(`${locked}/console/history`);
await page.waitForFunction(() => document.querySelector('[data-live]').getAttribute('aria-pressed') === 'true');
await page.click('button:text-is("Sign out")');
await page.waitForSelector('#token');
expected = [];

// The keyboard: the first stop leads to the content.
await page.goto(`${open}/console`);
await page.keyboard.press('Tab');
await page.keyboard.press('Enter');
assert.equal(await page.evaluate(() => document.activeElement.id), 'main');

// Without a script, forms work all the same.
const browser = await chromium.launch({ executablePath, args: FLAGS });
const plain = await browser.newContext({ javaScriptEnabled: false });
plain.setDefaultTimeout(TIMEOUT);
const still = await plain.newPage();
await still.goto(`${open}/console/operations/db.list_tables`);
await still.click('button:text-is("Call")');
await still.waitForSelector('#answer table');
await still.goto(`${open}/console/agent`);
await still.fill('#message', 'Empty all playlists.');
await still.click('button:text-is("Send")');
await still.waitForSelector('button:text-is("Confirm")');
await still.goto(`${open}/console/agent`);
await still.fill('#message', 'how many tracks are there?');
await still.click('button:text-is("Send")');
await still.waitForSelector('.message:text("tracks.")');
await browser.close();
console.log('  ok: without a script');

await context.close();
rmSync(profile, { recursive: true, force: true });
writeFileSync(join(folder, 'axe.json'), JSON.stringify(findings, null, 2));
paints.sort(([, one], [, other]) => other - one);
console.log(`  first paint: ${paints.slice(0, 3).map(([name, ms]) => `${name} ${Math.round(ms)} ms`).join(', ')}`);
console.log(`  axe: ${findings.length} findings`);
for (const problem of problems) console.error(`  problem: ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
