// The keyboard: single keys outside of text fields, listed by `?`.

import {byId, make} from './dom.js';

/* setUpKeys(app): listen for keys. Each row: the key, what it does in words, and the action. */
export function setUpKeys(app) {
  const focus = (id) => () => byId(id)?.focus();
  const first = (selector) => () => document.querySelector(selector)?.focus();
  const pane = (name, then) => () => {
    app.showPane(name);
    then();
  };
  const rows = [
    ['?', 'show this list', () => help.showModal()],
    ['e', 'write a form to evaluate', pane('transcript', focus('code'))],
    ['r', 'write a remark for the agent', pane('transcript', focus('remark'))],
    ['j', 'go to the next entry', () => app.transcript.step(1)],
    ['k', 'go to the previous entry', () => app.transcript.step(-1)],
    ['o', 'open or close the error of the entry', () => document.activeElement?.closest('.entry')?.querySelector('.error-head')?.click()],
    ['n', 'go to the newest entry and follow', () => app.transcript.toEnd()],
    ['x', 'cancel what runs', () => !byId('cancel').hidden && byId('cancel').click()],
    ['s', 'go to the sessions', pane('servers', first('.session[aria-current], .session'))],
    ['c', 'go to the checkpoints', pane('state', first('.node[tabindex]'))],
    ['t', 'go to the threads', pane('state', focus('threads-title'))],
    ['i', 'go to the inspector', () => !byId('inspector').hidden && byId('inspector-title').focus()],
    ['b', 'go back in the inspector', () => !byId('inspector').hidden && byId('inspector-back').click()],
    ['Escape', 'close what is open in front', () => !byId('inspector').hidden && app.inspector.close()],
  ];
  const inFields = [['Enter', 'evaluate, if the form is whole and the cursor at its end; else a new line'], ['Ctrl+Enter', 'evaluate'], ['Shift+Enter', 'a new line'],
    ['↑ ↓', 'earlier and later forms, at the first and last line; with Alt anywhere']];
  const help = byId('help');
  const list = (pairs) => make('dl', {class: 'keys'}, pairs.flatMap(([key, text]) => [make('dt', {}, make('kbd', {text: key})), make('dd', {text})]));
  byId('help-keys').append(make('h3', {text: 'Anywhere but in a text field'}), list(rows), make('h3', {text: 'In the field Evaluate Lisp'}), list(inFields));
  const single = byId('single-keys');
  single.checked = localStorage.getItem('single-keys') !== 'off';
  single.addEventListener('change', () => localStorage.setItem('single-keys', single.checked ? 'on' : 'off'));
  byId('help-open').addEventListener('click', () => help.showModal());
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector('dialog[open]')) return;
    const isField = event.target.closest?.('input, textarea, select');
    if (isField && event.key === 'Escape') return event.target.closest('#inspector') ? app.inspector.close() : byId('transcript').focus();
    if (isField || (!single.checked && event.key !== 'Escape')) return;
    const row = rows.find(([key]) => key === event.key);
    if (!row) return;
    event.preventDefault();
    row[2]();
  });
}
