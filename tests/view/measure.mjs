// What the page costs and how quick it is, each figure beside its limit; `scripts/bench view` starts it.
// usage: node measure.mjs [WORD]: the measurements whose name holds it

import fs from 'node:fs';
import os from 'node:os';
import {Agent, startView, startBrowser, openPage, patience} from './world.mjs';

const word = process.argv[2] || '';
const evaluations = 10000;
const sessions = 200;
const rounds = 5;
const problems = [];
const report = (name, figure, limit) => console.log(`${name.padEnd(66)}${figure.padStart(12)}${limit.padStart(14)}`);
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const ms = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ms`;

const agent = new Agent('bench', os.tmpdir(), '--max-sessions', String(sessions + 10), '--checkpoints', 'off');
await agent.ready;
await agent.evaluate('(defun flood (count) (let ((text (make-string 999999 :initial-element #\\x)) (sum 0)) (declare (fixnum sum))' +
  ' (dotimes (i count) (write-line text) (dotimes (j 100000000) (setf sum (logxor sum j)))) sum))');
const view = await startView();
const browser = await startBrowser();
const tab = await openPage(browser, view.link, problems);
const home = new URL(view.link).origin;
const until = (condition, ...args) => tab.waitForFunction(condition, {polling: 50, timeout: 10 * patience}, ...args);
const show = async () => {
  await tab.goto(home);
  await until(() => document.querySelector('.entry'));
};

/* frames(ms, step): how long the frames of the page are meanwhile; step moves the transcript with each by so many pixels. */
const frames = (length, step) => tab.evaluate((length, step) => new Promise((resolve) => {
  const found = [];
  let most = 0;
  const began = performance.now();
  let last = began;
  const list = document.getElementById('transcript');
  const next = (now) => {
    found.push(now - last);
    last = now;
    most = Math.max(most, document.querySelectorAll('.entry').length);
    list.scrollTop += step;
    if (now - began < length) requestAnimationFrame(next);
    else resolve({found: found.slice(2).sort((a, b) => a - b), most});
  };
  requestAnimationFrame(next);
}), length, step);

/* ticks(pid): the processor time of a process and of those below it. */
const ticks = (pid) => {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  const below = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return Number(fields[11]) + Number(fields[12]) + below.reduce((sum, one) => sum + ticks(one), 0);
};

const measurements = {
  async 'first picture'() {
    const found = [];
    for (let i = 0; i < rounds; i++) {
      await show();
      found.push(await tab.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    }
    report('first picture, median', ms(median(found)), '300 ms');
  },
  /* Two things that are compared are measured in turns, so that other load affects both. */
  async 'output of 10 MB a second'() {
    const turns = 30;
    const timed = async () => {
      const began = performance.now();
      await agent.evaluate(`(flood ${turns})`);
      return performance.now() - began;
    };
    await timed();
    const rate = turns / (await timed() / 1000); // MB a second
    const ratios = [];
    const work = {alone: 0, open: 0};
    let busy = 0;
    let seconds = 0;
    for (let i = 0; i < rounds; i++) {
      await tab.goto('about:blank');
      const start = ticks(agent.process.pid);
      const alone = await timed();
      work.alone += ticks(agent.process.pid) - start;
      await show();
      await new Promise((resolve) => setTimeout(resolve, 1500)); // until the page has read what there is
      const before = (await tab.metrics()).TaskDuration;
      const middle = ticks(agent.process.pid);
      const open = await timed();
      work.open += ticks(agent.process.pid) - middle;
      busy += (await tab.metrics()).TaskDuration - before;
      seconds += open / 1000;
      ratios.push(open / alone);
    }
    const last = timed();
    const longest = (await frames(1000 * turns / rate, 0)).found.at(-1);
    await last;
    report(`an evaluation that prints ${rate.toFixed(0)} MB/s, page open beside closed, median`, `${median(ratios).toFixed(3)} x`, '1.05 x');
    report('  in each round', ratios.map((one) => one.toFixed(2)).join(' '), '');
    report('  processor time of the server and its Lisp, open beside closed', `${(work.open / work.alone).toFixed(3)} x`, '1.05 x');
    report('  the page is busy for', `${(100 * busy / seconds).toFixed(0)} %`, '');
    report('  longest frame of the page meanwhile', ms(longest), '');
  },
  async '10,000 evaluations'() {
    for (let i = 0; i < evaluations; i += 500) await Promise.all(Array.from({length: 500}, (_, j) => agent.evaluate(`(+ ${i + j} 1000000)`)));
    const began = performance.now();
    await show();
    await until((last) => document.querySelector('#entries').innerText.includes(last), String(1000000 + evaluations - 1));
    report('10,000 evaluations: until the newest is shown', ms(performance.now() - began), '');
    await until((count) => Number(document.querySelector('.entry')?.ariaSetSize) >= count - 50, evaluations);
    report('  until all are read', ms(performance.now() - began), '');
    for (const [name, step] of [['slowly', -40], ['fast', -4000]]) {
      await tab.evaluate(() => { document.getElementById('transcript').scrollTop = 1e9; });
      const {found, most} = await frames(4000, step);
      report(`  scrolled ${name}: frames, median / 95 of 100 / longest`, [found[found.length >> 1], found[Math.floor(found.length * 0.95)], found.at(-1)].map((one) => one.toFixed(0)).join(' / '), '17 / 34 ms');
      report('  entries in the document, at most', String(most), '100');
    }
  },
  async '200 sessions'() {
    const began = performance.now();
    for (let i = 0; i < sessions; i++) await agent.call('create-session', {name: `session-${i}`});
    report('200 sessions: made in', ms(performance.now() - began), '');
    await show();
    const shown = performance.now();
    await until((count) => document.querySelectorAll('.session').length > count, sessions);
    report('  until all are listed', ms(performance.now() - shown), '');
    report('  longest frame in eight seconds', ms((await frames(8000, 0)).found.at(-1)), '');
    const called = performance.now();
    for (let i = 0; i < 20; i++) await agent.evaluate('1');
    report('  an evaluation meanwhile', ms((performance.now() - called) / 20), '');
  },
};

for (const [name, run] of Object.entries(measurements)) if (name.includes(word)) await run();
await browser.close();
await view.end();
await agent.end();
if (problems.length) throw new Error(problems.join('\n'));
