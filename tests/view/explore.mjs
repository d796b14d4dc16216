import os from 'node:os'; import path from 'node:path';
import {Agent, startView, startBrowser, openPage, patience} from './world.mjs';
import fs from 'node:fs'; import {createRequire} from 'node:module';
const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const withAxe = process.argv[3] === 'axe';
async function axe(tab, where) {
  await tab.evaluate(`if (!window.axe) { ${axeSource} }`);
  const found = await tab.evaluate(async () => (await window.axe.run(document, {resultTypes: ['violations']})).violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.any.concat(node.all).map((any) => any.message).join()}`).slice(0, 3).join('; ')}`));
  if (found.length) console.log('AXE', where, found.join('\n'));
}
const folder = process.argv[2]; const problems = [];
const agent = new Agent('claude-code', '/tmp/window'); await agent.ready;
await agent.evaluate('(defvar *orders* (list (list :tea 2 3.5) (list :milk 1 0.9)))');
await agent.evaluate('(defun average (numbers)\n  "The mean of NUMBERS."\n  (/ (reduce #\'+ numbers) (length numbers)))');
await agent.evaluate('(progn (format t "two orders~%") (warn "Low ~a." :fuel) (average (mapcar #\'third *orders*)))');
await agent.call('checkpoint-session', {name: 'before-the-fix'});
await agent.evaluate('(setf *orders* nil) ; a mistake');
await agent.call('rollback-session', {to: 'before-the-fix'});
await agent.evaluate('(defun average (numbers)\n  "The mean of NUMBERS, or 0."\n  (/ (reduce #\'+ numbers) (max 1 (length numbers))))');
await agent.evaluate('(defvar *worker* (sb-thread:make-thread (lambda () (loop (sleep 1))) :name "worker"))');
await agent.evaluate('(average (mapcar #\'fourth *orders*))');
const second = new Agent('codex', os.tmpdir()); await second.ready; await second.evaluate('(+ 1 2)');
const view = await startView(); const browser = await startBrowser();
const tab = await openPage(browser, view.link, problems);
const until = (c, ...a) => tab.waitForFunction(c, {polling: 50, timeout: patience}, ...a);
const shoot = async (name, wide = true) => {
  for (const scheme of ['light', 'dark']) {
    await tab.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
    for (const [w, width, height] of [['1440', 1440, 900], ['390', 390, 844]]) {
      await tab.setViewport({width, height});
      await tab.evaluate(() => new Promise((r) => setTimeout(r, 150)));
      if (withAxe) await axe(tab, `${name} ${w} ${scheme}`); else await tab.screenshot({path: path.join(folder, `${name}-${w}-${scheme}.png`)});
    }
  }
  await tab.setViewport({width: 1440, height: 900});
  await tab.evaluate(() => new Promise((r) => setTimeout(r, 100)));
};
await until(() => document.querySelector('.entry:last-child .error-head'));
await until(() => document.querySelectorAll('.checkpoints .node').length > 4 && document.querySelector('#threads li'));
await tab.click('.entry:last-child .error-head');
await (await tab.waitForSelector('.entry:last-child .frame[aria-label*="AVERAGE"]')).click();
await tab.waitForSelector('.entry:last-child .locals');
await shoot('1error');
await (await tab.waitForSelector('.entry:last-child .locals button')).click();
await until(() => document.querySelector('#inspector .parts, #inspector .rows, #inspector dl'));
await shoot('2inspector');
await tab.keyboard.press('Escape');
await tab.evaluate(() => document.getElementById('to-end').click());
for (const [name, code] of [['table', "(list (list :tea 2 3.5) (list :milk 1 '(9 8)))"], ['plot', '(loop for i below 120 collect (* i i))'], ['class', "(find-class 'generic-function)"], ['hash', '(let ((h (make-hash-table))) (dotimes (i 70) (setf (gethash i h) (list i))) h)'], ['png', `(coerce '(${[...Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')].join(' ')}) '(vector (unsigned-byte 8)))`]]) {
  await tab.evaluate((c) => { document.getElementById('code').value = c; document.getElementById('evaluate').click(); }, code);
  await until((c) => document.querySelector('.entry:last-child')?.innerText.includes(c.slice(0, 12)) && document.querySelector('.entry:last-child .values button'), code);
  await tab.click('.entry:last-child .values button');
  await until(() => document.querySelector('#inspector dl'));
  await shoot('E' + name); await tab.keyboard.press('Escape');
}
await tab.evaluate(() => { document.getElementById('transcript').scrollTop = 0; });
await tab.evaluate(() => new Promise((r) => setTimeout(r, 300)));
await shoot('3top');
await tab.evaluate(() => [...document.querySelectorAll('.entry')].find((e) => e.innerText.includes('Changed'))?.scrollIntoView());
await shoot('4diff');
await tab.type('#remark', 'Look at average: nil is no number');
await tab.click('#stage');
await until(() => !document.getElementById('report').hidden);
await shoot('5staged');
await tab.click('#report-close');
const reply = agent.evaluate('(progn (princ "Your name? ") (finish-output) (list :read (read-line)))');
await tab.waitForSelector('#answer', {visible: true});
await shoot('6question');
await tab.type('#answer', 'Ada'); await tab.keyboard.press('Enter'); await reply;
await tab.evaluate(() => document.querySelector('#checkpoint-detail button:last-child').scrollIntoView());
await tab.evaluate(() => [...document.querySelectorAll('#checkpoint-detail button')].find((b) => b.innerText === 'Return').click());
await until(() => document.querySelector('#question').open);
await shoot('7return');
await tab.keyboard.press('Escape');
await tab.type('#code', '(list 1 (car nil)'); await tab.keyboard.down('Control'); await tab.keyboard.press('Enter'); await tab.keyboard.up('Control');
await shoot('8unbalanced');
await tab.click('#export'); await shoot('9export'); await tab.click('#export');
await tab.keyboard.press('Escape');
await tab.setViewport({width: 390, height: 844});
for (const pane of ['servers', 'state']) { await tab.click(`#panes [data-pane=${pane}]`); await tab.evaluate(() => new Promise((r) => setTimeout(r, 200))); await tab.screenshot({path: path.join(folder, `A-${pane}-390.png`)}); }
await tab.click('#panes [data-pane=transcript]');
await tab.setViewport({width: 1440, height: 900});
const ro = await startView('--read-only');
const other = await openPage(browser, ro.link, problems);
await other.waitForFunction(() => document.querySelector('.entry .values') && document.querySelector('.since'), {timeout: patience});
if (withAxe) await axe(other, 'readonly'); else await other.screenshot({path: path.join(folder, 'B-readonly.png')});
await other.close(); await ro.end();
await tab.bringToFront();
await agent.end('SIGKILL');
await until(() => document.querySelector('.server.ended'));
await shoot('Cdead');
await tab.keyboard.press('?'); await shoot('Dkeys');
await browser.close(); await view.end(); await second.end();
console.log(problems.join('\n'));
