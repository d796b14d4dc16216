// The pictures of the page for docs/view.md: an agent's session with an error, a roll-back and a correction, in both schemes and at
// two widths. scripts/picture starts it. usage: node pictures.mjs FOLDER

import os from 'node:os';
import path from 'node:path';
import {Agent, startView, startBrowser, openPage, patience} from './world.mjs';

const folder = process.argv[2];
const problems = [];
const agent = new Agent('claude-code', os.tmpdir());
await agent.ready;
await agent.evaluate('(defvar *orders* (list (list :tea 2 3.5) (list :milk 1 0.9)))');
await agent.evaluate('(defun average (numbers)\n  "The mean of NUMBERS."\n  (/ (reduce #\'+ numbers) (length numbers)))');
await agent.evaluate('(progn (format t "two orders~%") (average (mapcar #\'third *orders*)))');
await agent.call('checkpoint-session', {name: 'before-the-fix'});
await agent.evaluate('(setf *orders* nil) ; a mistake');
await agent.call('rollback-session', {to: 'before-the-fix'});
await agent.evaluate('(defun average (numbers)\n  "The mean of NUMBERS, or 0."\n  (/ (reduce #\'+ numbers) (max 1 (length numbers))))');
await agent.evaluate('(average (mapcar #\'fourth *orders*))');
const view = await startView();
const browser = await startBrowser();
const tab = await openPage(browser, view.link, problems);
const until = (condition) => tab.waitForFunction(condition, {polling: 50, timeout: patience});
await until(() => document.querySelector('.entry:last-child .error-head'));
await until(() => document.querySelectorAll('.checkpoints .node').length > 4 && document.querySelector('#threads li'));
await tab.click('.entry:last-child .error-head');
await (await tab.waitForSelector('.entry:last-child .frame[aria-label*="AVERAGE"]')).click();
await tab.waitForSelector('.entry:last-child .locals');
const shoot = async (name) => {
  await tab.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await tab.screenshot({path: path.join(folder, `${name}.png`)});
};
for (const scheme of ['light', 'dark']) {
  await tab.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
  for (const [name, width, height] of [['wide', 1200, 760], ['phone', 390, 844]]) {
    await tab.setViewport({width, height});
    await shoot(`view-${name}-${scheme}`);
  }
}
await browser.close();
await view.end();
await agent.end();
if (problems.length) throw new Error(problems.join('\n'));
