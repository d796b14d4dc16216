// The page at an image that a person runs, in a real browser: what that person and the agent do there. usage: node joined.mjs ADDRESS

import os from 'node:os';
import path from 'node:path';
import {Agent, Editor, startView, startBrowser, openPage, patience} from './world.mjs';

const address = process.argv[2];
const problems = [];
const agent = new Agent('claude-code', os.tmpdir(), '--attach', address);
await agent.ready;
const other = new Agent('codex', os.tmpdir(), '--attach', address);
await other.ready;
const editor = new Editor(Number(address.split(':')[1]));
const view = await startView();
const browser = await startBrowser();
let tab;
let failed = 0;

function check(condition, message) {
  if (!condition) throw new Error(message);
}

const texts = (selector) => tab.evaluate((s) => [...document.querySelectorAll(s)].filter((one) => one.checkVisibility()).map((one) => one.innerText), selector);
const seen = (text, selector) => tab.waitForFunction((t, s) => [...document.querySelectorAll(s)].some((one) => one.checkVisibility() && one.innerText.includes(t)), {polling: 50, timeout: patience}, text, selector)
  .catch(async () => { throw new Error(`"${text}" is not in ${selector}: ${(await texts(selector)).join('\n').slice(-1500)}`); });
const button = async (pattern) => tab.waitForFunction((p) => [...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).findLast((one) => new RegExp(p).test(one.ariaLabel || one.innerText)), {timeout: patience}, pattern);
const click = async (pattern) => (await button(pattern)).evaluate((one) => one.click());
const test = async (name, run) => {
  problems.length = 0;
  try {
    await run();
    check(problems.length === 0, problems.join('\n'));
    console.log(`ok - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok - ${name}: ${error.message}`);
    if (process.env.CL_MCP_VIEW_SHOTS) await tab.screenshot({path: path.join(process.env.CL_MCP_VIEW_SHOTS, `joined-${failed}.png`)});
    await tab.evaluate(() => document.querySelectorAll('dialog[open]').forEach((one) => one.close()));
  }
};

try {
  await agent.evaluate('(defun price (item) (* 2 (getf item :price)))');
  await editor.evaluate('(defun tax (x) (declare (optimize debug)) (/ x 0))');
  await editor.evaluate('(sb-thread:make-thread (lambda () (loop (sleep 0.1))) :name "shop worker")');
  await agent.evaluate('(sb-thread:make-thread (lambda () (loop (sleep 0.1))) :name "helper")');
  tab = await openPage(browser, view.link, problems);
  await tab.waitForSelector('.session');
  await tab.evaluate(() => [...document.querySelectorAll('.server')].find((one) => one.innerText.includes('claude-code')).querySelector('.session').click());

  await test('what the person and other agents do is shown as code, under their names', async () => {
    await seen('(defun tax (x)', '.entry.person .code');
    check(await tab.$('.entry.person .code .lisp-operator'), 'the code is not highlighted');
    await other.evaluate('(defun other () :others)');
    await seen('(defun other ()', '.entry.agent .code');
    check((await texts('.entry.agent .title')).some((title) => title.startsWith('codex (default), in the image')), `whose it is: ${await texts('.entry .title')}`);
  });

  await test('threads: the program first, then the agents by name, then those of Swank folded; no checkpoints', async () => {
    await seen('shop worker', '#threads');
    await seen('helper', '#threads');
    const lines = await texts('#threads > li');
    const at = (text) => lines.findIndex((line) => line.includes(text));
    check(at('main thread') < at('claude-code (default): helper') && at('shop worker') < at('serves this session') && at('shop worker') >= 0, `the order: ${lines.join('\n')}`);
    check(/^\d+ threads of Swank or Slynk$/.test(lines.at(-1)), `not folded: ${lines.at(-1)}`);
    check(!lines.join().match(/agent \d|cl-mcp-server|reader-thread/), `no client is named, or Swank is not folded: ${lines.join('\n')}`);
    await click('threads of Swank or Slynk');
    await seen('reader-thread', '#threads');
    check(await tab.evaluate(() => document.querySelectorAll('#threads > li:last-child button').length) === 1, 'a thread of Swank has buttons');
    check((await texts('#checkpoints')).length === 0, 'checkpoints are shown');
  });

  await test('an error in the debugger is one entry; its restart says what happens, needs no force, and then has no buttons', async () => {
    await editor.evaluate('(tax 7)');
    await agent.evaluate(':look');
    await seen('DIVISION-BY-ZERO', '.entry.thread');
    check((await texts('.entry')).filter((text) => text.includes('DIVISION-BY-ZERO')).length === 1, 'the error is shown twice');
    await click('^ABORT of error \\d+: Return to SLIME');
    await seen('that debugger closes', '#question');
    await click('^Leave it');
    check((await button('^ABORT of error')) !== null, 'it was left though nobody wanted it');
    await click('^ABORT of error \\d+: Return to SLIME');
    await click('^Invoke ABORT');
    await seen('It no longer stands', '.entry.thread');
    check((await texts('.entry.thread .restarts button')).length === 0, 'what no longer stands has buttons');
    const reply = await agent.evaluate(':next');
    check(/The person invoked the restart ABORT of error \d+/.test(reply) && !reply.includes('failed'), `the agent was not told: ${reply}`);
  });

  await test('a thread of the program is interrupted and ended after a question', async () => {
    await click('^Interrupt thread shop worker');
    await seen('the program that runs in the image', '#question');
    await click('^Interrupt thread shop worker$');
    await seen('INTERRUPTED', '.entry');
    await click('^End thread shop worker');
    await click('^End thread shop worker$');
    await tab.waitForFunction(() => !document.querySelector('#threads').innerText.includes('shop worker'), {timeout: patience});
    check((await agent.evaluate(':after')).includes('The person ended the thread'), 'the agent was not told');
  });

  await test('a question ends when the tab is closed', async () => {
    const reply = agent.evaluate('(progn (princ "Which nut?") (finish-output) (read-line))');
    await seen('Which nut?', '#answer-prompt');
    await tab.evaluate(() => document.dispatchEvent(new Event('visibilitychange'))); // it reads again
    check((await texts('.entry .output')).filter((text) => text.includes('Which nut?')).length === 1, 'its output is shown more than once');
    await tab.close();
    check((await reply).includes('END-OF-FILE'), 'the code did not read end of file');
  });
} finally {
  await browser.close();
  await view.end();
  editor.end();
  await agent.end();
  await other.end();
}
process.exitCode = failed ? 1 : 0;
