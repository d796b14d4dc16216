// Who comes in: the link, tabs, a reload, a restart of the view, a phone's width; and what pages on other ports get, in a real browser.
// Prints "ok - …" or "not ok - …" for each; the exit status is 1 if one failed. usage: node entering.mjs [chrome | firefox [WORD]]: those whose name holds it

import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {spawn} from 'node:child_process';
import {createInterface} from 'node:readline';
import {Agent, startView, startBrowser, patience} from './world.mjs';

const tests = [];
const test = (name, run) => tests.push({name, run});

function check(condition, message) {
  if (!condition) throw new Error(message);
}

let agent;
let browser;
let view;
const started = []; // ended in any case
let other; // a web server on another port, which whoever develops one looks at in the same browser

/* startOther(): it keeps what it is sent; /?from=M&cookies=N sets cookies. */
async function startOther() {
  const got = [];
  const server = http.createServer({maxHeaderSize: 4 << 20}, (request, response) => {
    got.push({url: request.url, headers: request.rawHeaders.join('\n')});
    const {from, cookies} = Object.fromEntries(new URL(request.url, 'http://x').searchParams);
    response.setHeader('Content-Type', 'text/html');
    if (cookies) response.setHeader('Set-Cookie', Array.from({length: cookies}, (_, i) => `c${Number(from) + i}=${'x'.repeat(4000)}; Path=/; Max-Age=600`));
    response.end('<!doctype html><title>other</title><link rel="icon" href="data:,">');
  });
  await new Promise((resolve) => server.listen(0, resolve));
  const {port} = server.address();
  return {got, at: (host) => `http://${host}:${port}`, end: () => server.close()};
}

const seen = (tab, text) => tab.waitForFunction((t) => document.body.innerText.includes(t), {polling: 50, timeout: patience}, text)
  .catch(async () => { throw new Error(`"${text}" is not in the page: ${(await tab.evaluate(() => document.body.innerText)).slice(0, 800)}`); });
async function open(address, where = browser) {
  const tab = await where.newPage();
  await tab.goto(address);
  return tab;
}
const works = async (tab, value) => {
  await seen(tab, 'claude-code');
  await tab.waitForFunction(() => document.querySelector('#evaluate:enabled') && document.querySelector('.session[aria-current]'), {polling: 50, timeout: patience});
  await agent.evaluate(`(list :seen ${value})`);
  await seen(tab, `(:SEEN ${value})`);
};

test('the file that the browser is given leads to the page, and is gone', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'opener-'));
  const given = path.join(folder, 'given');
  fs.writeFileSync(path.join(folder, 'xdg-open'), `#!/bin/sh\necho "$@" > ${given}.new; mv ${given}.new ${given}\n`, {mode: 0o755});
  const opening = spawn(process.env.CL_MCP_SERVER, ['view'], {stdio: ['ignore', 'pipe', 'ignore'], env: {...process.env, PATH: `${folder}:${process.env.PATH}`}});
  started.push(opening);
  const noted = new Promise((resolve) => { const watch = fs.watch(folder, () => fs.existsSync(given) && (watch.close(), resolve())); });
  await new Promise((resolve) => createInterface({input: opening.stdout}).once('line', resolve));
  await noted;
  const file = fs.readFileSync(given, 'utf8').trim();
  const tab = await browser.newPage();
  await tab.goto(`file://${file}`).catch(() => null); // it leads away while it loads
  await tab.waitForFunction(() => location.hostname.endsWith('.localhost'), {polling: 50, timeout: patience});
  await works(tab, 1);
  check(!fs.existsSync(file), 'the file is still there');
  check(!(await tab.evaluate(() => location.href)).includes('key'), 'the key is still in the address');
  await tab.close();
  const ended = new Promise((resolve) => opening.once('exit', resolve));
  opening.kill('SIGINT');
  await ended;
});

test('a link, a reload, a second tab by the same link, a third by the address', async () => {
  const first = await open(view.link);
  await works(first, 2);
  await first.reload();
  await works(first, 3);
  const second = await open(view.link);
  await works(second, 4);
  const third = await open(new URL(view.link).origin);
  await works(third, 5);
  await third.reload();
  await works(third, 6);
  await second.close();
  await third.close();
  await first.bringToFront();
  await works(first, 7);
});

test('another browser with the used link is not admitted, and is told why', async () => {
  const stranger = await browser.createBrowserContext();
  const tab = await open(view.link, stranger);
  await seen(tab, 'admits no other browser');
  check(!(await tab.evaluate(() => document.body.innerText)).includes('claude-code'), 'it sees the servers');
  await stranger.close();
});

test('pages on other ports get no secret and can use none', async () => {
  const origin = new URL(view.link).origin;
  for (const host of ['localhost', '127.0.0.1', `a.${new URL(view.link).hostname}`]) {
    const tab = await open(other.at(host));
    const results = await tab.evaluate(async (target) => {
      const tries = [];
      for (const options of [{}, {credentials: 'include'}, {headers: {'View-Secret': 'x'}}, {headers: {'View-Key': 'x'}}]) {
        for (const place of ['/', '/secret', '/watch']) tries.push(fetch(target + place, options).then(() => 'read', () => 'refused'));
      }
      const loaded = (element, place) => new Promise((resolve) => {
        element.onload = () => resolve('read');
        element.onerror = () => resolve('refused');
        element.src = target + place;
        document.head.append(element);
      });
      const script = loaded(document.createElement('script'), '/secret');
      const picture = loaded(new Image(), '/watch');
      return [...await Promise.all([...tries, script, picture]), document.cookie, Object.keys(sessionStorage).join(), Object.keys(localStorage).join()];
    }, origin);
    check(results.every((one) => one === 'refused' || one === ''), `${host}: ${results}`);
    await tab.goto(`${other.at('127.0.0.1')}/from-${host}`);
    await tab.close();
  }
  const secret = (await (await browser.pages()).at(-1).evaluate(() => sessionStorage.getItem('secret')));
  check(/^[0-9a-f]{32}$/.test(secret), 'the page has no secret');
  const got = JSON.stringify(other.got);
  for (const word of [secret, new URL(view.link).hash.slice(5)]) check(!got.includes(word), 'another port was sent a secret');
});

test('a page that opens the page keeps no hold of its tab', async () => {
  const tab = await open(other.at('127.0.0.1'));
  await tab.evaluate((origin) => { document.onclick = () => { window.opened = window.open(`${origin}/`); }; }, new URL(view.link).origin);
  await tab.mouse.click(50, 50);
  await tab.waitForFunction(() => window.opened?.closed, {polling: 50, timeout: patience})
    .catch(() => { throw new Error('it still has the window'); });
  await tab.close();
  const opened = (await browser.pages()).at(-1);
  await works(opened, 11);
  await opened.close();
});

test('cookies that other ports set leave the page usable', async () => {
  const own = new URL(view.link).hostname;
  for (const host of ['localhost', '127.0.0.1', own]) {
    const setting = await browser.newPage();
    for (let from = 0; from < (host === own ? 25 : 175); from += 25) await setting.goto(`${other.at(host)}/?from=${from}&cookies=25`);
    console.log(`# ${host}: ${await setting.evaluate(() => document.cookie.length)} bytes of cookies`);
    await setting.close();
  }
  const tab = await open(new URL(view.link).origin);
  await works(tab, 8);
  await tab.close();
});

test('a server with --view is usable beside such cookies', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'served-'));
  const tokens = path.join(folder, 'tokens');
  fs.writeFileSync(tokens, 'ada:0123456789abcdef0123\n', {mode: 0o600});
  const server = spawn(process.env.CL_MCP_SERVER, ['--http', '127.0.0.1:0', '--view', '--token-file', tokens, '--log-level', 'info'], {stdio: ['ignore', 'ignore', 'pipe']});
  started.push(server);
  const address = await new Promise((resolve) => createInterface({input: server.stderr}).on('line', (line) => /http:\/\/[\d.:]+/.test(line) && resolve(/http:\/\/[\d.:]+/.exec(line)[0])));
  const people = await browser.createBrowserContext();
  await (await open(`${other.at('127.0.0.1')}/?from=0&cookies=25`, people)).close();
  const tab = await open(address, people);
  await seen(tab, 'Which token?');
  await tab.keyboard.type('0123456789abcdef0123');
  await tab.keyboard.press('Enter');
  await seen(tab, 'Nothing was evaluated here yet');
  check(await tab.evaluate(() => document.cookie.length) > 30000, 'there are no such cookies');
  await people.close();
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill();
  await ended;
});

test('after a restart of the view, its new link works, and the old tab says what to do', async () => {
  const {port} = new URL(view.link);
  const old = (await browser.pages()).at(-1);
  await view.end();
  await seen(old, 'does not answer');
  view = await startView('--listen', `127.0.0.1:${port}`);
  await seen(old, 'cl-mcp-server view again');
  const tab = await open(view.link);
  await works(tab, 9);
});

test('at the width of a phone it works too', async () => {
  const tab = (await browser.pages()).at(-1);
  await tab.setViewport({width: 390, height: 800});
  await works(tab, 10);
  await tab.evaluate(() => [...document.querySelectorAll('#panes button')].find((one) => one.innerText === 'Servers').click());
  await tab.waitForFunction(() => document.querySelector('#servers').checkVisibility(), {polling: 50, timeout: patience});
  check(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it is wider than the screen');
});

let failed = 0;
try {
  agent = new Agent('claude-code', os.tmpdir());
  await agent.ready;
  await agent.evaluate(':begin');
  other = await startOther();
  view = await startView();
  browser = await startBrowser(process.argv[2]);
  for (const {name, run} of tests.filter((one) => one.name.includes(process.argv[3] || ''))) {
    const began = Date.now();
    try {
      await run();
      console.log(`ok - ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      failed++;
      console.log(`not ok - ${name}: ${error.stack}`);
    }
  }
} finally {
  await browser?.close();
  await view?.end();
  other?.end();
  for (const one of started) one.kill();
  await agent?.end();
}
process.exit(failed ? 1 : 0);
