// An error: folded to its type and message; opened to its frames, their source lines and variables, and its restarts.

import {make, button, fold, textBlock, printable, short, newId} from './dom.js';
import {paint, balance} from './lisp.js';

const painted = (text) => paint(text, printable);

/* errorView(app, error, old): the error; what it offers is hidden once it no longer stands. ${old}: how it was drawn before. */
export function errorView(app, error, old = draw(app, error)) {
  old.classList.toggle('left', !app.model.enterable.has(error.error));
  return old;
}

function draw(app, error) {
  const head = [make('strong', {class: 'error-type', text: printable(error.type)}), ' ', make('span', {class: 'error-message', text: short(error.message || '', 240)})];
  const {toggle, body} = fold(head, (content) => fill(app, error, content), {class: 'error-head'}, false);
  const box = make('div', {class: 'error-box'}, toggle);
  const buttons = restartButtons(app, error);
  box.append(body);
  if (buttons) box.append(buttons, make('p', {class: 'quiet was-left', text: 'It no longer stands.'}));
  return box;
}

function restartButtons(app, error) {
  const restarts = error.restarts || [];
  if (restarts.length === 0) return null;
  const box = make('div', {class: 'restarts', role: 'group', 'aria-label': `Restarts of error ${error.error}`});
  for (const restart of restarts.slice(0, 50)) {
    const name = printable(restart.name || `Restart ${restart.index}`);
    const description = short(restart.description || '', 160);
    const invoke = button(name, async () => {
      const args = {restart: String(restart.index), index: error.error, wait: 2};
      const warning = restart.name === 'END-IMAGE' ? 'The image ends, with the program that runs in it.'
        : error['is-persons'] && `The error stands in the debugger of whoever runs the image. The thread ${printable(error.thread)} continues with this restart, and that debugger closes.`;
      if (warning && !await app.ask(`Invoke ${name} of error ${error.error}?`, warning, `Invoke ${name}`)) return;
      if (restart['takes-value']) {
        const value = await app.ask(`Restart ${printable(restart.name)}`, printable(restart.description || ''), printable(restart.name), 'Form whose value is passed (may be empty)');
        if (value === null) return;
        if (value.trim()) args.value = value;
        const check = balance(value);
        if (!check.isWhole) return app.report(check.message, true);
      }
      app.act('invoke-restart', args);
    }, {class: 'acts', 'aria-label': `${name} of error ${error.error}: ${description}`});
    box.append(make('div', {class: 'restart'}, invoke, make('strong', {class: 'no-acts', text: name}), make('span', {text: description})));
  }
  return box;
}

function fill(app, error, content) {
  if (short(error.message || '', 240) !== printable(error.message || '')) content.append(textBlock(error.message, {class: 'error-text plain'}));
  const list = make('ol', {class: 'frames', start: 0, 'aria-label': `Frames of error ${error.error}`});
  const status = make('p', {class: 'quiet', role: 'status'});
  content.append(make('h3', {text: 'Frames'}), list, status);
  const all = (error.frames || []).map((text) => /^(\d+): ([^]*)$/.exec(text)).filter(Boolean).map(([, number, call]) => ({number: Number(number), call}));
  let next = 0;
  const add = (frames) => frames.forEach((frame) => {
    next = frame.number + 1;
    list.append(frameView(app, error, frame));
  });
  add(all);
  const more = () => {
    const left = (error['frame-count'] || all.length) - next;
    if (left <= 0) return;
    const show = button(`Show more frames (${left} left)`, async () => {
      const reply = await app.look('get-backtrace', {index: error.error, from: next, 'max-frames': 40});
      show.remove();
      const found = reply.data.frames || [];
      add(found);
      if (found.length) more();
      else status.textContent = short(reply.text, 200);
    }, {class: 'more'});
    status.before(show);
  };
  if (all.length === 0) status.textContent = 'no frames';
  more();
}

function frameView(app, error, frame) {
  const {toggle, body} = fold(make('code', {text: `${frame.number}: ${short(frame.call, 300)}`}), async (content) => {
    const status = make('p', {class: 'quiet', role: 'status', text: 'Reading the frame…'});
    content.append(status);
    const reply = await app.look('get-backtrace', {index: error.error, from: frame.number, 'max-frames': 1, locals: true});
    const found = reply.data.frames?.[0];
    if (!found) {
      status.textContent = short(reply.text, 300);
      return;
    }
    status.remove();
    if (found.source) content.prepend(sourceView(found.source));
    content.append(localsView(app, error, frame, found.locals));
    content.append(evaluateInFrame(app, error, frame));
  }, {class: 'frame', 'aria-label': `Frame ${frame.number}: ${short(frame.call, 120)}`});
  return make('li', {value: frame.number}, toggle, body);
}

/* The code around the form that the frame is at: [before, the form, after]. */
function sourceView([before, form = '', after = '']) {
  return make('pre', {class: 'source', dir: 'ltr'}, painted(before), form && make('mark', {}, painted(form)), painted(after));
}

function localsView(app, error, frame, locals) {
  if (locals.length === 0) return make('p', {class: 'quiet', text: 'no variables known'});
  return make('table', {class: 'locals'}, make('caption', {class: 'hidden', text: `Variables of frame ${frame.number}`}),
    make('tbody', {}, locals.map((local) => make('tr', {}, make('th', {scope: 'row', class: local.name.length < 20 && 'short', text: printable(local.name)}), make('td', {}, textBlock(local.value, {}, painted)),
      make('td', {}, button('Inspect', () => app.inspector.open({local: local.name, frame: frame.number, index: error.error}, `${local.name} in frame ${frame.number} of error ${error.error}`),
        {class: 'small acts', 'aria-label': `Inspect the variable ${short(local.name, 40)} in frame ${frame.number} of error ${error.error}`}))))));
}

function evaluateInFrame(app, error, frame) {
  const id = newId('frame-code');
  const field = make('input', {id, type: 'text', class: 'code', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false'});
  const result = make('div', {role: 'status', class: 'frame-result'});
  const form = make('form', {class: 'frame-form acts', submit: async (event) => {
    event.preventDefault();
    const check = balance(field.value);
    if (!check.isWhole || check.isEmpty) {
      result.replaceChildren(make('p', {class: 'problem', text: check.isEmpty ? 'There is no form to evaluate.' : `Not sent. ${check.message}`}));
      return;
    }
    result.replaceChildren(make('p', {class: 'quiet', text: 'running'}));
    const reply = await app.act('evaluate-in-frame', {code: field.value, frame: frame.number, index: error.error}, true);
    const {values, error: failed} = reply.data;
    result.replaceChildren(textBlock(failed ? `${failed.type}: ${failed.message}` : values ? values.join('\n') || 'no values' : reply.text, {class: reply.isError ? 'problem' : 'values'}, painted));
  }}, make('label', {for: id, text: `Evaluate in frame ${frame.number} of error ${error.error}`}),
  make('div', {class: 'row'}, field, make('button', {type: 'submit', text: 'Evaluate in frame', 'aria-label': `Evaluate in frame ${frame.number} of error ${error.error}`})), result);
  return form;
}
