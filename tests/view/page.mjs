// The page, in a real browser, with real sessions: every view and every action, by mouse and by keyboard.
// Prints "ok - …" or "not ok - …" for each; the exit status is 1 if one failed. usage: node page.mjs [WORD]: those whose name holds it

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {spawn} from 'node:child_process';
import {createRequire} from 'node:module';
import {Agent, startView, startBrowser, openPage, patience} from './world.mjs';

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const word = process.argv[2] || '';
const tests = [];
const test = (name, run) => tests.push({name, run});

function check(condition, message) {
  if (!condition) throw new Error(message);
}

let agent;
let browser;
let tab;
let view;
const problems = [];

// What is looked for by its accessible name
const named = (name, role) => `::-p-aria([name="${name}"]${role ? `[role="${role}"]` : ''})`;
/* buttonNamed(pattern): the accessible name of the last visible button whose name matches. */
const buttonNamed = async (pattern) => {
  const button = await tab.waitForFunction((p) => [...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).findLast((one) => new RegExp(p).test(one.ariaLabel || one.innerText)), {timeout: patience}, pattern);
  return button.evaluate((one) => one.ariaLabel || one.innerText);
};
const clickOn = async (name, role = 'button') => {
  for (let attempt = 1; ; attempt++) { // what changes may be drawn anew between finding and clicking
    try {
      const element = await tab.waitForSelector(named(name, role), {visible: true});
      await element.evaluate((one) => one.scrollIntoView({block: 'center'}));
      return await element.click();
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
};
/* until(condition, ...): wait until a function in the page gives something true. */
const until = (condition, ...args) => tab.waitForFunction(condition, {polling: 50, timeout: patience}, ...args);
const seen = (text, selector = 'body') => until((t, s) => [...document.querySelectorAll(s)].some((one) => one.checkVisibility() && (one.innerText ?? one.textContent).includes(t)), text, selector)
  .catch(async () => { throw new Error(`"${text}" is not in ${selector}: ${(await textOf(selector)).slice(-1500)}`); });
const gone = (selector) => until((s) => !document.querySelector(s)?.checkVisibility(), selector);
const textOf = (selector) => tab.evaluate((s) => [...document.querySelectorAll(s)].map((one) => one.innerText ?? one.textContent).join('\n'), selector);
const press = async (...keys) => {
  for (const key of keys) {
    const [first, second] = key.split('+');
    if (second) await tab.keyboard.down(first);
    await tab.keyboard.press(second || first);
    if (second) await tab.keyboard.up(first);
  }
};
const leaveField = () => tab.evaluate(() => document.getElementById('transcript').focus());
const newestEntry = '.entry:last-child';
const newest = async () => {
  await tab.evaluate(() => document.activeElement?.blur());
  await leaveField();
  await press('n');
};

async function evaluate(code) {
  await tab.waitForSelector('#evaluate:enabled');
  await tab.focus('#code');
  await tab.evaluate(() => { document.getElementById('code').value = ''; });
  await tab.type('#code', code);
  await press('Control+Enter');
}

/* tabTo(name): press Tab until the focus is on what has the name. */
async function tabTo(name, backwards = false) {
  for (let i = 0; i < 150; i++) {
    await press(backwards ? 'Shift+Tab' : 'Tab');
    const found = await tab.evaluate(() => {
      const one = document.activeElement;
      return one.getAttribute('aria-label') || one.innerText || one.labels?.[0]?.innerText || '';
    });
    if (found.trim() === name) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}

async function axe(where) {
  await tab.evaluate(`if (!window.axe) { ${axeSource} }`);
  for (const scheme of ['light', 'dark']) {
    await tab.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
    const found = await tab.evaluate(async () => (await window.axe.run(document, {resultTypes: ['violations']})).violations
      .map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.any.map((any) => any.message).join()}`).slice(0, 4).join('; ')}`));
    check(found.length === 0, `axe, ${where}, ${scheme}: ${found.join('\n')}`);
  }
  await tab.emulateMediaFeatures([]);
}

test('the only session is shown at once, at its newest evaluation', async () => {
  await seen('claude-code', '#servers');
  await agent.evaluate('(defun average (numbers)\n  (/ (reduce #\'+ numbers) (length numbers))) ; not yet right');
  await agent.evaluate('(progn (format t "one moment~%") (warn "Low ~a." :fuel) (values (average \'(1 2 3)) "zwei" :three))');
  await seen('one moment', '.entry .output');
  await seen('Low FUEL', '.entry .warnings');
  for (const text of ['2', '"zwei"', ':THREE']) await seen(text, '.entry .values');
  await seen('default', '.session[aria-current]');
  check((await textOf('#servers')).includes('claude-code'), 'the client is not named');
  await until(() => document.querySelector('.lisp-operator')?.textContent === 'defun' && document.querySelector('.lisp-comment'));
  check((await textOf('.entry .who')).startsWith('claude-code'), 'who evaluated is not said');
});

test('a form is evaluated by mouse and by keyboard, and the agent hears of it', async () => {
  await tab.type(named('Evaluate Lisp', 'textbox'), '(+ 40 2)');
  await clickOn('Evaluate');
  await seen('42', newestEntry);
  await seen('The person', newestEntry);
  await leaveField();
  await press('e');
  await tab.keyboard.type('(* 6\n');
  await tab.keyboard.type('7)');
  await press('Enter');
  await seen('(* 6\n7)', newestEntry);
  await seen('42', newestEntry);
  const reply = await agent.evaluate(':next');
  check(/^The person .*\(\+ 40 2\)/m.test(reply), `the agent was not told: ${reply}`);
  await tab.focus('#code');
  await press('ArrowUp', 'Alt+ArrowUp');
  check(await tab.$eval('#code', (one) => one.value) === '(+ 40 2)', 'the history does not give the form before');
  await press('Alt+ArrowDown', 'Alt+ArrowDown');
  check(await tab.$eval('#code', (one) => one.value) === '', 'the history does not end with the draft');
});

test('an unbalanced form is not sent, and the page says what is missing', async () => {
  for (const [code, message] of [['(list 1 (car nil)', 'A closing ) is missing: (list 1 … in line 1, column 1'], ['(a))', 'The ) in line 1, column 4 closes nothing'],
    ['(print "x)', 'closing " of the string that begins in line 1, column 8'], ['(a #| (b)', 'closing |# of the comment']]) {
    await evaluate(code);
    await seen(message, '#code-problem');
  }
  await evaluate('(list #\\( "(" \'|(| ; (\n 1)');
  await seen('(#\\( "(" |(| 1)', newestEntry);
  check(!await tab.evaluate(() => document.getElementById('entries').textContent.includes('(print "x)')), 'an unbalanced form was sent');
  await tab.type('#code', '(a (b))');
  await until(() => document.querySelectorAll('#code-shadow mark').length === 2);
  await tab.evaluate(() => { document.getElementById('code').value = ''; });
});

test('what runs is shown with its output, and cancelled', async () => {
  for (const how of ['mouse', 'keyboard']) {
    const reply = agent.evaluate(`(progn (format t "under way by ${how}~%") (finish-output) (loop))`);
    await seen(`under way by ${how}`, newestEntry);
    await seen('is running', '#running');
    await seen('running', '.session[aria-current]');
    if (how === 'mouse') await clickOn('Cancel');
    else {
      await leaveField();
      await press('x');
    }
    const text = await reply;
    check(text.includes('CANCELLED'), 'the evaluation was not cancelled');
    check(text.includes('The person'), `the agent was not told who cancelled: ${text}`);
    await seen('CANCELLED', '.entry.error');
    await gone('#cancel');
  }
});

test('an error opens to frames, variables and an evaluation in a frame', async () => {
  await agent.evaluate('(defun mean-of (items) (let ((total (reduce #\'+ items))) (/ total (length items))))');
  await agent.evaluate('(mean-of (list))');
  await seen('DIVISION-BY-ZERO', '.error-head');
  const head = await tab.waitForSelector(`${newestEntry} .error-head`);
  check(await head.evaluate((one) => one.getAttribute('aria-expanded')) === 'false', 'the error is not folded');
  await head.click();
  await seen('MEAN-OF', `${newestEntry} .frames`);
  const frame = (await tab.$$(`${newestEntry} .frame`))[0];
  const label = await frame.evaluate((one) => one.getAttribute('aria-label'));
  await frame.click();
  await seen('ITEMS', `${newestEntry} .locals`);
  await seen('(/', `${newestEntry} .source mark`);
  check(!(await textOf('.entry .source')).includes('>>>'), 'marks for agents are shown');
  const number = /Frame (\d+)/.exec(label)[1];
  const place = `Evaluate in frame ${number} of error ${/error (\d+)/.exec(await buttonNamed('^RETRY of error'))[1]}`;
  await tab.type(named(place, 'textbox'), '(list :items items)');
  await clickOn(place);
  await seen('(:ITEMS NIL)', `${newestEntry} .frame-result, .frame-result`);
  await seen('(:ITEMS NIL)', '.entry .values');
});

test('the error is opened and evaluated in by keyboard', async () => {
  await agent.evaluate('(progn :error-2 (mean-of (list)))');
  await seen(':error-2', '.entry.error');
  await newest();
  await press('k', 'o');
  await seen('MEAN-OF', `${newestEntry} .frames`);
  await tab.focus(`${newestEntry} .frame`);
  await press('Enter');
  const field = await tab.waitForSelector(`${newestEntry} .frame-form input`);
  await field.focus();
  await tab.keyboard.type('(length items)');
  await press('Enter');
  await seen('0', `${newestEntry} .frame-result, .frame-result`);
});

test('a restart is invoked under its own name, with a value', async () => {
  await agent.evaluate('(restart-case (error "Which way?") (turn-left () :report "Turn left." :left) (take (x) :report "Take a thing." :interactive (lambda () (list 1)) (list :took x)))');
  await seen('Turn left.', `${newestEntry} .restarts`);
  await clickOn(await buttonNamed('^TURN-LEFT of error'));
  await seen(':LEFT', newestEntry);
  const reply = await agent.evaluate(':after');
  check(/The person .*(TURN-LEFT|restart)/i.test(reply), `the agent was not told of the restart: ${reply}`);
  await agent.evaluate('(list no-such-variable)');
  await seen('no-such-variable', newestEntry);
  await seen('USE-VALUE', `${newestEntry} .restarts`);
  await tab.evaluate((s) => [...document.querySelectorAll(s)].find((one) => one.textContent === 'USE-VALUE').focus(), `${newestEntry} .restarts button`);
  await press('Enter');
  await seen('whose value is passed', '#question');
  await tab.keyboard.type('(* 11 11)');
  await press('Enter');
  await seen('(121)', newestEntry);
});

test('a redefinition is a difference; what was rolled back is struck through', async () => {
  await agent.call('checkpoint-session', {name: 'before-the-change'});
  await agent.evaluate('(defun average (numbers)\n  (if numbers (/ (reduce #\'+ numbers) (length numbers)) 0))');
  await seen('Changed: defun average', newestEntry);
  await seen('(if numbers', `${newestEntry} .added`);
  await seen('(/ (reduce', `${newestEntry} .removed`);
  await seen('before-the-change', '.checkpoints text');
  await clickOn(await buttonNamed('^Return to the state'));
  await seen('undoes', '#question');
  check(/^Return to evaluation \d+$/.test(await textOf('#question .primary')), 'the button does not say what it does');
  await tab.click('#question .primary');
  await seen('Returned to the state', '.entry');
  await until(() => [...document.querySelectorAll('.entry.undone .code')].some((one) => getComputedStyle(one).textDecorationLine === 'line-through'));
  await seen('rolled back', '.entry.undone');
  check((await agent.evaluate('(average (list 4))')).includes('The person'), 'the agent was not told of the roll-back');
});

test('a checkpoint is named, chosen and returned to by keyboard', async () => {
  await leaveField();
  await tabTo('Name of the checkpoint');
  await tab.keyboard.type('by-hand');
  await press('Enter');
  await seen('by-hand', '.checkpoints text');
  await agent.evaluate('(defvar *later* 1)');
  await agent.evaluate('(setf *later* 2)');
  await until(() => /now/.test(document.querySelector('.checkpoints .current text')?.textContent) && document.querySelectorAll('.node[tabindex]').length > 2);
  await leaveField();
  await press('c');
  await until(() => document.activeElement.classList.contains('node'));
  await until(() => [...document.querySelectorAll('.node[tabindex]')].some((one) => one.textContent.includes('by-hand')));
  await tab.evaluate(() => [...document.querySelectorAll('.node[tabindex]')].find((one) => one.textContent.includes('by-hand')).focus());
  await press('Enter');
  await seen('by-hand', '#checkpoint-detail');
  await seen('*later*', '#checkpoint-detail');
  await tabTo(await buttonNamed('^Return to the state'));
  await press('Enter');
  await seen('Return to the state', '#question');
  await press('Enter');
  await seen('by-hand', '.checkpoints .current text');
  check((await agent.evaluate("(boundp '*later*)")).includes('=> NIL'), 'the state was not returned to');
});

test('a remark is staged and comes once with the next reply', async () => {
  for (const how of ['mouse', 'keyboard']) {
    await tab.type(named('Remark for the agent', 'textbox'), `Look at this <b>(${how})</b>`);
    if (how === 'mouse') await clickOn('Stage');
    else await press('Enter');
    await seen('Staged', '#report');
    const reply = await agent.evaluate('1');
    check(reply.includes('[From the person]') && reply.includes(`Look at this <b>(${how})</b>`), `the remark did not come: ${reply}`);
    check(!(await agent.evaluate('1')).includes('Look at this'), 'the remark came twice');
    await tab.click('#report-close');
  }
});

test('code that reads input is answered', async () => {
  const reply = agent.evaluate('(list :read (read-line))');
  await tab.waitForSelector('#answer', {visible: true});
  await tab.type(named('Answer for the code that reads input', 'textbox'), 'a line <b>');
  await press('Enter');
  check((await reply).includes('(:READ "a line <b>")'), `the code did not get the answer: ${await reply}`);
  await gone('#answer-form');
});

test('a value opens in the inspector: parts, path, back, tables, plots', async () => {
  await evaluate('(list (list :tea 2 3.5) (list :milk 1 (list 9 8 7)) (list "<b>" nil t))');
  await seen(':MILK', newestEntry);
  await (await tab.waitForSelector(`${newestEntry} .values button`)).click();
  await seen(':MILK', '#inspector .rows');
  check(await tab.$eval('#inspector-back', (one) => one.disabled), 'Back leads nowhere');
  await tab.evaluate(() => document.querySelectorAll('#inspector .rows button')[1].click());
  await seen('(9 8 7)', '#inspector .parts');
  check((await textOf('#inspector-path')).includes('[1]'), 'the path does not grow');
  await clickOn('Back');
  await seen(':TEA', '#inspector .rows');
  await press('Escape');
  await gone('#inspector');
  await evaluate('(loop for i below 120 collect (* i i))');
  await seen('14161', newestEntry);
  await (await tab.waitForSelector(`${newestEntry} .values button`)).click();
  await until(() => document.querySelector('#inspector .plot polyline'));
  await clickOn('Next parts');
  await seen('50 to 99 of 120', '#inspector');
  await leaveField();
  await press('i');
  check(await tab.evaluate(() => document.activeElement.id) === 'inspector-title', 'i does not go to the inspector');
  await press('Escape');
});

test('a class is shown as its tree, the bytes of an image as a picture', async () => {
  await evaluate("(progn (defclass shape () ()) (defclass circle (shape) ()) (find-class 'shape))");
  await seen('SHAPE', `${newestEntry} .values`);
  await (await tab.waitForSelector(`${newestEntry} .values button`)).click();
  await seen('CIRCLE', '#inspector .tree');
  await tab.evaluate(() => [...document.querySelectorAll('#inspector .tree button')].find((one) => one.textContent === 'CIRCLE').click());
  await seen('CIRCLE', '#inspector-path [aria-current]');
  await press('Escape');
  const png = [...Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')];
  await evaluate(`(coerce '(${png.join(' ')}) '(vector (unsigned-byte 8)))`);
  await seen('137 80', `${newestEntry} .values`);
  await (await tab.waitForSelector(`${newestEntry} .values button`)).click();
  await until(() => document.querySelector('#inspector img')?.naturalWidth === 1);
  await press('Escape');
  await agent.evaluate('(progn :error-0 (mean-of (list)))');
  await seen(':error-0', '.entry.error');
  await newest();
  await tab.click(`${newestEntry} .error-head`);
  await (await tab.waitForSelector(`${newestEntry} .frame`)).click();
  await (await tab.waitForSelector(`${newestEntry} .locals button`)).click();
  await seen('in frame', '#inspector-path');
  await seen('Kind', '#inspector');
  await press('Escape');
});

/* inspectIn(text, selector): open what the first button that the selector finds in the newest entry with the text inspects. */
const inspectIn = async (text, selector = '.values button') => {
  const button = await tab.waitForFunction((t, s) => [...document.querySelectorAll('.entry')].filter((one) => one.innerText.includes(t)).at(-1)?.querySelector(s),
    {timeout: patience}, text, selector);
  await button.evaluate((one) => one.click());
};
const evaluations = async () => Number(/(\d+) evaluations/.exec(await agent.call('list-sessions', {}))[1]);

test('an older value opens without evaluating; one that is gone says so and offers it', async () => {
  await agent.evaluate("(progn (defvar *made* 0) (setf (get 'older 'value) (list :older (incf *made*) (list :inner))))");
  for (let i = 0; i < 4; i++) await agent.evaluate(`(list ${i})`);
  let before = await evaluations();
  await newest();
  await inspectIn('(:OLDER 1 (:INNER))');
  await seen('Kind', '#inspector');
  await seen('(:INNER)', '#inspector .parts');
  check(await evaluations() === before, 'looking at an older value was an evaluation');
  await agent.call('checkpoint-session', {name: 'before-it-was-made'});
  await agent.evaluate("(progn (format t \"made~%\") (list :fleeting (list :inner)))");
  await agent.call('rollback-session', {to: 'before-it-was-made'});
  await seen('rolled back', '.entry .mark');
  before = await evaluations();
  await newest();
  await inspectIn('(:FLEETING (:INNER))');
  await seen('This value is no longer kept', '#inspector');
  check(await evaluations() === before, 'looking at a value that is gone was an evaluation');
  await clickOn('Evaluate again and inspect');
  await seen('(:INNER)', '#inspector .parts');
  await seen('evaluated again', '#inspector-path');
  check(await evaluations() === before + 1, 'the code was not evaluated once');
  await press('Escape');
});

test('the variables of an older error open, and their parts', async () => {
  await agent.evaluate('(defun refuse (rows) (error "of the ~a one" (first (first rows))))');
  for (const name of ['older', 'newer']) await agent.evaluate(`(refuse (list (list :${name} 1) 2))`);
  await seen('of the NEWER one', '.entry.error');
  await newest();
  await inspectIn('of the OLDER one', '.error-head');
  await inspectIn('of the OLDER one', '.frame');
  await inspectIn('of the OLDER one', '.locals button');
  await seen('((:OLDER 1) 2)', '#inspector');
  await (await tab.waitForSelector('#inspector .parts button')).click();
  await seen('(:OLDER 1)', '#inspector');
  await seen('[0]', '#inspector-path [aria-current]');
  check(!(await textOf('#inspector')).includes('copy of the process'), 'a note for agents is shown as a part');
  await press('Escape');
});

test('axe finds nothing, at both widths and in both schemes', async () => {
  await agent.evaluate('(progn :error-1 (mean-of (list)))');
  await seen(':error-1', '.entry.error');
  await newest();
  await tab.click(`${newestEntry} .error-head`);
  await (await tab.waitForSelector(`${newestEntry} .frame`)).click();
  await (await tab.waitForSelector(`${newestEntry} .locals button`)).click();
  await seen('Kind', '#inspector');
  await axe('inspector and error');
  await press('Escape');
  await newest();
  await axe('transcript');
  await tab.setViewport({width: 390, height: 844});
  for (const pane of ['Servers', 'State', 'Transcript']) {
    await clickOn(pane);
    await axe(`${pane} on a phone`);
    check(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${pane} is wider than a phone`);
  }
  await tab.setViewport({width: 1440, height: 900});
});

test('hostile names, values and outputs are text', async () => {
  const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  await agent.evaluate(`(progn (format t "${markup} ~c[31m red ~c rtl ~c~%" (code-char 27) (code-char 0) (code-char #x202e)) "${markup}")`);
  await seen(markup, newestEntry);
  await seen('␛[31m red ␀ rtl ⟨U+202E⟩', newestEntry);
  await agent.evaluate(`(error "${markup} ~a" (make-string 3 :initial-element (code-char #x2066)))`);
  await seen(markup, `${newestEntry} .error-head`);
  await agent.evaluate(`(restart-case (error "x") (|<b>bold</b>| () 1))`);
  await seen('<b>bold</b>', `${newestEntry} .restarts`);
  await agent.evaluate('(progn (write-string (make-string 1000000 :initial-element #\\x)) (terpri) (loop repeat 100000 collect 1))');
  await seen('Show', `${newestEntry} .output`);
  await agent.call('create-session', {name: '"><b>n'}).catch(() => {});
  check(await tab.evaluate(() => document.querySelectorAll('.entry img, .entry script, .entry b').length) === 0, 'markup became elements');
  check(await tab.evaluate(() => document.querySelector('#entries').innerText.length) < 200000, 'a long line is in the document whole');
  check(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than the window');
});

test('the transcript is exported as Lisp, Markdown and HTML', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'view-export-'));
  const client = await tab.createCDPSession();
  await client.send('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: folder, eventsEnabled: true});
  const contents = {};
  for (const [name, ending] of [['Lisp', 'lisp'], ['Markdown', 'md'], ['HTML', 'html']]) {
    const done = new Promise((resolve) => client.on('Browser.downloadProgress', (event) => event.state === 'completed' && resolve()));
    await clickOn('Export');
    await clickOn(name);
    await done;
    contents[ending] = fs.readFileSync(path.join(folder, `default.${ending}`), 'utf8');
  }
  fs.rmSync(folder, {recursive: true});
  check(contents.lisp.includes('(defun average (numbers)'), 'the Lisp file lacks a definition');
  check(contents.md.includes('```lisp\n(defun average (numbers)'), 'the Markdown lacks code');
  check(!/<(img|script)/.test(contents.html) && contents.html.includes('&#60;img src=x'), 'the HTML is not escaped');
});

test('threads are listed, interrupted and ended', async () => {
  await agent.evaluate('(defvar *worker* (sb-thread:make-thread (lambda () (loop (sleep 1))) :name "worker <b>"))');
  await seen('worker <b>', '#threads');
  await clickOn(await buttonNamed('^Interrupt thread worker <b>'));
  await seen('INTERRUPTED', '.entry');
  check((await agent.evaluate('1')).includes('The person'), 'the agent was not told of the interrupt');
  await leaveField();
  await press('t');
  await tabTo(await buttonNamed('^End thread worker <b>'));
  await press('Enter');
  await seen('End the thread', '#question');
  await press('Enter');
  await until(() => !document.querySelector('#threads').innerText.includes('worker <b>'));
});

test('the keyboard is listed by ?, and its single keys can be turned off', async () => {
  await leaveField();
  await tab.keyboard.type('?');
  await seen('Keyboard', '#help');
  await axe('the list of keys');
  await tab.click('#single-keys');
  await press('Escape');
  await leaveField();
  await press('e');
  check(await tab.evaluate(() => document.activeElement.id) === 'transcript', 'a single key works though it is off');
  await tab.click('#help-open');
  await tab.click('#single-keys');
  await press('Escape');
  await leaveField();
  await press('r');
  check(await tab.evaluate(() => document.activeElement.id) === 'remark', 'r does not go to the remark');
  await press('Escape', 's');
  check(await tab.evaluate(() => document.activeElement.classList.contains('session')), 's does not go to the sessions');
});

test('what is loaded has its progress among what runs', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'view-load-'));
  fs.writeFileSync(path.join(folder, 'slow.asd'), '(defsystem "slow" :serial t :components ((:file "a") (:file "b")))');
  fs.writeFileSync(path.join(folder, 'a.lisp'), '(cl:defvar cl-user::*a* 1)');
  fs.writeFileSync(path.join(folder, 'b.lisp'), '(cl:eval-when (:load-toplevel) (cl:read-line))');
  await agent.evaluate(`(asdf:load-asd "${folder}/slow.asd")`);
  const reply = agent.call('load-system', {system: 'slow'});
  await until(() => document.querySelector('#jobs progress')?.ariaLabel === 'Progress' && document.querySelector('#jobs').innerText.includes('% done'));
  await tab.waitForSelector('#answer', {visible: true});
  await tab.type('#answer', 'go on');
  await press('Enter');
  check(!/ERROR/.test(await reply), `not loaded: ${await reply}`);
  fs.rmSync(folder, {recursive: true});
});

test('a server with tokens is asked nothing before the person signs in', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'view-tokens-'));
  fs.writeFileSync(path.join(folder, 'tokens'), 'ada:0123456789abcdef0123\n', {mode: 0o600});
  const server = spawn(process.env.CL_MCP_SERVER, ['--http', '127.0.0.1:0', '--token-file', path.join(folder, 'tokens')], {stdio: 'ignore'});
  await clickOn(await buttonNamed('^Sign in to'));
  await seen('Which token?', '#question');
  await tab.keyboard.type('0123456789abcdef0123');
  await press('Enter');
  await gone('.server button:not(.session)');
  await seen('no session yet', '#servers');
  server.kill();
  await seen('ended', '.server.ended');
  fs.rmSync(folder, {recursive: true});
});

test('only what is visible of many evaluations is in the document', async () => {
  await agent.call('create-session', {name: 'many'});
  await Promise.all(Array.from({length: 300}, (_, i) => agent.call('evaluate-lisp', {session: 'many', code: `(+ ${i} 1000000)`})));
  await seen('many', '#servers');
  await tab.evaluate(() => [...document.querySelectorAll('.session')].find((one) => one.innerText.includes('many')).click());
  await seen('1000299', newestEntry);
  check(await tab.evaluate(() => document.querySelectorAll('.entry').length) < 60, 'too much is in the document');
  await until(() => Number(document.querySelector('.entry')?.ariaSetSize) >= 300);
  await tab.evaluate(() => { document.getElementById('transcript').scrollTop = 0; });
  await seen('(+ 0 1000000)', '.entry');
  // A browser that restores where the page was scrolled to does so while the page is being read.
  const {identifier} = await tab.evaluateOnNewDocument(() => document.addEventListener('DOMContentLoaded', () => {
    const list = document.getElementById('transcript');
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.entry')) return;
      observer.disconnect();
      requestAnimationFrame(() => { list.scrollTop = 0; });
    }).observe(list, {childList: true, subtree: true});
  }));
  await tab.reload();
  await tab.removeScriptToEvaluateOnNewDocument(identifier);
  await seen('1000299', newestEntry);
  await until(() => Number(document.querySelector('.entry')?.ariaSetSize) >= 300);
  await seen('1000299', newestEntry);
  await seen('1000299', newestEntry);
  // The event of a scroll can come when the window has become lower meanwhile: the page follows all the same.
  await tab.evaluate(() => {
    const list = document.getElementById('transcript');
    list.style.maxHeight = `${list.clientHeight - 100}px`;
    list.dispatchEvent(new Event('scroll'));
  });
  for (let i = 0; i < 20; i++) await agent.call('evaluate-lisp', {session: 'many', code: `(+ ${i} 2000000)`});
  await seen('2000019', newestEntry);
  await tab.evaluate(() => { document.getElementById('transcript').style.maxHeight = ''; });
  await seen('2000019', newestEntry);
  const pdf = await tab.pdf();
  check(pdf.length > 50000, 'the printed page is empty');
  await tab.evaluate(() => [...document.querySelectorAll('.session')].find((one) => one.innerText.includes('default')).click());
});

test('a view for reading only offers nothing that acts', async () => {
  const reading = await startView('--read-only');
  const other = await openPage(browser, reading.link, problems);
  await other.waitForFunction(() => document.querySelector('.session') && document.querySelector('#checkpoint-detail').innerText, {timeout: patience});
  await other.evaluate(() => [...document.querySelectorAll('.session')].find((one) => one.innerText.includes('default')).click());
  await other.waitForFunction(() => document.querySelector('.entry .values') && document.querySelector('.since'), {timeout: patience});
  const names = await other.evaluate(() => [...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).map((one) => one.innerText));
  for (const name of ['Evaluate', 'Stage', 'Return', 'Inspect', 'RETRY', 'Save checkpoint', 'Interrupt', 'End']) check(!names.includes(name), `${name} is there`);
  await other.close();
  await reading.end();
});

test('a second tab follows; an ended server stays listed', async () => {
  const other = await openPage(browser, new URL(view.link).origin, problems);
  await other.waitForFunction(() => document.querySelector('.session[aria-current]'), {timeout: patience});
  await other.evaluate(() => [...document.querySelectorAll('.session')].find((one) => one.innerText.includes('default')).click());
  await tab.bringToFront();
  await agent.evaluate('(list :both :tabs)');
  await seen('(:BOTH :TABS)', newestEntry);
  await other.bringToFront();
  await other.waitForFunction(() => document.querySelector('#entries').innerText.includes('(:BOTH :TABS)'), {timeout: patience});
  await tab.bringToFront();
  await other.close();
  const second = new Agent('codex', os.tmpdir());
  await second.ready;
  await seen('codex', '#servers');
  await agent.end('SIGKILL');
  await seen('ended', '.server.ended');
  await seen('has ended', '#banner');
  const names = await tab.evaluate(() => [...document.querySelectorAll('button')].filter((one) => one.checkVisibility() && !one.disabled).map((one) => one.innerText));
  for (const name of ['Evaluate', 'Stage', 'Return', 'Inspect', 'RETRY', 'Save checkpoint', 'Interrupt']) check(!names.includes(name), `${name} of an ended server can be used`);
  check((await textOf('#entries')).includes('(:BOTH :TABS)'), 'what an ended server did is gone');
  await second.evaluate('(list :second)');
  await until(() => [...document.querySelectorAll('.server:not(.ended) .session')].length === 1);
  await tab.evaluate(() => document.querySelector('.server:not(.ended) .session').click());
  await seen('(:SECOND)', newestEntry);
  await second.end();
});

const program = async () => {
  let failed = 0;
  try {
    agent = new Agent('claude-code', os.tmpdir());
    await agent.ready;
    view = await startView();
    browser = await startBrowser();
    tab = await openPage(browser, view.link, problems);
    for (const {name, run} of tests.filter((one) => one.name.includes(word))) {
      problems.length = 0;
      const began = Date.now();
      try {
        await run();
        // The kill of a server ends requests, which the browser reports by itself.
        const bad = problems.filter((problem) => !(/an ended server|with tokens/.test(name) && /ERR_|status of 50[23]/.test(problem)));
        check(bad.length === 0, bad.join('\n'));
        console.log(`ok - ${name} (${Date.now() - began} ms)`);
      } catch (error) {
        failed++;
        console.log(`not ok - ${name}: ${error.message}\n${problems.join('\n')}`);
        if (process.env.CL_MCP_VIEW_SHOTS) await tab.screenshot({path: path.join(process.env.CL_MCP_VIEW_SHOTS, `failed-${failed}.png`)});
        await tab.evaluate(() => document.querySelectorAll('dialog[open]').forEach((one) => one.close()));
        await tab.setViewport({width: 1440, height: 900});
      }
    }
  } finally {
    await browser?.close();
    await view?.end();
    await agent?.end();
  }
  process.exitCode = failed ? 1 : 0;
};
await program();
