// Draws one entry of the transcript: who, the code, its output, warnings, values, the error, the definitions that it replaced.

import {make, button, textBlock, printable, clock, duration, count, short, fold} from './dom.js';
import {paint} from './lisp.js';
import {diff} from './diff.js';
import {who} from './model.js';
import {errorView} from './error.js';

const painted = (text) => paint(text, printable);

/* drawEntry(app, entry, element): fill the entry's element, or change the parts of it that are not up to date. */
export function drawEntry(app, entry, element) {
  element.className = ['entry', entry.kind, entry.state || entry.what || '', entry.isUndone ? 'undone' : '', entry.author?.kind || ''].join(' ').trim();
  element.setAttribute('aria-label', label(entry));
  const parts = entry.kind === 'note' ? noteParts(app, entry) : entry.kind === 'thread' ? threadParts(app, entry) : evaluationParts(app, entry);
  const old = new Map([...element.children].map((child) => [child.dataset.part, child]));
  let at = null;
  for (const [name, signature, draw] of parts) {
    if (signature === null || signature === undefined) continue;
    let part = old.get(name);
    if (!part || part.dataset.signature !== String(signature)) {
      const fresh = draw(part);
      fresh.dataset.part = name;
      fresh.dataset.signature = signature;
      if (part && part !== fresh) part.replaceWith(fresh);
      part = fresh;
    }
    old.delete(name);
    const place = at ? at.nextSibling : element.firstChild;
    if (place !== part) element.insertBefore(part, place);
    at = part;
  }
  for (const part of old.values()) part.remove();
}

export function title(entry) {
  if (entry.restart) return `Restart ${entry.restart} of error ${entry.ofError}`;
  if (entry.inFrame) return `In a frame of error ${entry.inFrame.error}`;
  if (entry.isBetween) return 'Output between evaluations';
  return entry.number === undefined ? 'Evaluation' : `Evaluation ${entry.number}`;
}

export function outcome(entry) {
  if (entry.state === 'running') return 'running';
  if (entry.state === 'error') return 'error';
  return entry.isBetween ? '' : 'done';
}

function label(entry) {
  if (entry.kind === 'note') return short(entry.text, 120);
  if (entry.kind === 'thread') return `Error ${entry.errors[0].error} in the thread ${printable(entry.thread)}: ${printable(entry.errors[0].type)}`;
  const end = entry.errors.length ? `error ${printable(entry.errors.at(-1).type)}` : outcome(entry);
  return [title(entry), who(entry.author), end, entry.isUndone && 'rolled back'].filter(Boolean).map(printable).join(', ');
}

function evaluationParts(app, entry) {
  return [
    ['head', [entry.state, entry.isUndone, entry.elapsed, entry.isDetached, entry.number].join(), () => head(entry)],
    ['code', entry.code === null ? null : 1, () => code(entry)],
    ['part', entry.isPart ? 1 : null, () => make('p', {class: 'quiet', text: 'Its beginning is no longer kept.'})],
    ['output', entry.outputs.length ? entry.outputs.length + ':' + entry.outputLength : null, (old) => output(entry, old)],
    ['warnings', entry.warnings.length || null, () => warnings(entry)],
    ['progress', entry.progress ? entry.progress.number : null, () => progress(entry.progress)],
    ['definitions', entry.definitions.filter(isChange).length || null, () => definitions(entry)],
    ['values', entry.values && !entry.isBetween ? entry.values.length : null, () => values(app, entry)],
    ...entry.errors.slice(-20).map((error) => errorPart(app, error)),
  ];
}

const errorPart = (app, error) => [`error ${error.number}`, app.model.enterable.has(error.error), (old) => errorView(app, error, old)];

const when = (entry) => make('span', {class: 'when quiet'}, make('time', {datetime: entry.time, text: clock(entry.time)}),
  typeof entry.elapsed === 'number' && ` · ${duration(entry.elapsed)}`);

function head(entry) {
  return make('header', {},
    make('span', {class: 'title', text: printable(title(entry))}),
    entry.author && make('span', {class: 'who', text: printable(who(entry.author))}),
    entry.package && entry.package !== 'COMMON-LISP-USER' && entry.package !== 'CL-USER' && make('span', {class: 'quiet', text: printable(entry.package)}),
    make('span', {class: `mark ${entry.state}`, text: outcome(entry)}),
    entry.isUndone && make('span', {class: 'mark', text: 'rolled back'}),
    entry.isDetached && entry.state === 'running' && make('span', {class: 'quiet', text: 'its caller was answered'}),
    when(entry));
}

function code(entry) {
  const text = entry.codeBytes ? `${entry.code}\n… ${count(entry.codeBytes, 'byte')} in all` : entry.code;
  return textBlock(text, {class: 'code'}, painted);
}

/* The text grows at its end while it is short; beyond that the end is drawn anew. */
function output(entry, old) {
  const box = make('div', {class: 'output', role: 'group', 'aria-label': 'Output'});
  const isLong = entry.outputLength > 24000;
  const draw = (piece, tail) => {
    if (piece.omitted) box.append(make('p', {class: 'quiet', text: `… ${count(piece.omitted, 'byte')} left out …`}));
    box.append(textBlock(tail ? piece.text.slice(-tail) : piece.text, {class: piece.stream}));
  };
  if (isLong && old?.dataset.isWhole !== 'yes') {
    const last = entry.outputs.at(-1);
    draw({...entry.outputs[0], text: entry.outputs[0].text.slice(0, 4000)});
    const shown = 4000 + Math.min(8000, last.text.length);
    box.append(button(`Show all output (${count(Math.max(0, entry.outputLength - shown), 'character')} more)`, () => {
      const whole = make('div', {class: 'output', role: 'group', 'aria-label': 'Output'});
      entry.outputs.forEach((piece) => {
        if (piece.omitted) whole.append(make('p', {class: 'quiet', text: `… ${count(piece.omitted, 'byte')} left out …`}));
        whole.append(textBlock(piece.text, {class: piece.stream}));
      });
      whole.dataset.part = 'output';
      whole.dataset.signature = box.dataset.signature;
      box.replaceWith(whole);
    }, {class: 'more'}));
    if (entry.outputs.length > 1 || last.text.length > 12000) draw(last, 8000);
  } else entry.outputs.forEach((piece) => draw(piece));
  return box;
}

function warnings(entry) {
  return make('ul', {class: 'warnings', 'aria-label': 'Warnings'}, entry.warnings.map((warning) =>
    make('li', {}, make('strong', {text: printable(warning.type || 'WARNING')}), ' ',
      make('span', {class: 'quiet', text: printable([warning.place, warning.times > 1 && `${warning.times} times`].filter(Boolean).join(', '))}),
      textBlock(warning.message || '', {class: 'plain'}))));
}

export function progress({text, percent}) {
  return make('div', {class: 'progress'}, make('span', {text: short(text || '', 200)}),
    typeof percent === 'number' && make('progress', {max: 100, value: percent, 'aria-label': 'Progress'}));
}

const isChange = (definition) => definition.replaced !== null && definition.replaced !== undefined && definition.replaced !== definition.text;

function definitions(entry) {
  return make('div', {class: 'definitions'}, entry.definitions.filter(isChange).map((definition) => {
    const before = definition['replaced-evaluation'];
    const name = `${definition.operator} ${definition.name}`;
    return make('details', {open: true}, make('summary', {text: printable(`Changed: ${name}${before ? `, as it was in evaluation ${before}` : ''}`)}),
      make('div', {class: 'diff', role: 'group', 'aria-label': printable(`Difference of ${name}`)}, diff(definition.replaced, definition.text).map(({sign, text}) =>
        make('div', {class: sign === '+' ? 'added' : sign === '-' ? 'removed' : 'same'}, make('span', {class: 'sign', text: sign}), make('code', {text: printable(text) || ' '})))));
  }));
}

function values(app, entry) {
  const box = make('div', {class: 'values', role: 'group', 'aria-label': 'Values'});
  entry.values.forEach((value, i) => {
    const canInspect = entry.number !== undefined && !entry.inFrame;
    box.append(make('div', {class: 'result'}, make('span', {class: 'arrow', text: '⇒', 'aria-hidden': 'true'}), textBlock(value, {}, painted),
      canInspect && button('Inspect', () => app.inspectValue(entry, i), {class: 'small acts', 'aria-label': `Inspect value ${i + 1} of evaluation ${entry.number}: ${short(value, 30)}`})));
  });
  if (entry.values.length === 0) box.append(make('p', {class: 'quiet', text: 'no values'}));
  if (entry.isCut) box.append(make('p', {class: 'quiet', text: 'The value is cut.'}));
  return box;
}

function threadParts(app, entry) {
  return [
    ['head', 1, () => make('header', {}, make('span', {class: 'title', text: `Error ${entry.errors[0].error} in the thread ${printable(entry.thread)}`}),
      entry.author && make('span', {class: 'who', text: printable(who(entry.author))}), make('span', {class: 'mark error', text: 'error'}), when(entry))],
    ['note', entry.text || null, () => textBlock(entry.text, {class: 'plain'})],
    errorPart(app, entry.errors[0]),
  ];
}

function whoDid(author) {
  const inImage = author?.kind === 'image' ? 'The person, in the image' : `${who(author)}, in the image`;
  return printable(author?.kind === 'person' ? who(author) : inImage);
}

function noteParts(app, entry) {
  const word = entry.what === 'person' ? whoDid(entry.author) : {rollback: 'Roll-back', checkpoint: 'Checkpoint', death: 'The process ended', recovery: 'Recovery', restore: 'Restored', reset: 'Reset'}[entry.what] || '';
  const undone = entry.undone || [];
  return [
    ['head', 1, () => make('header', {}, make('span', {class: 'title', text: word}), entry.author && entry.what !== 'person' && make('span', {class: 'who', text: printable(who(entry.author))}),
      entry.did && make('span', {class: 'quiet', text: short(entry.did, 120)}), when(entry))],
    ['text', entry.text && !entry.code ? 1 : null, () => textBlock(entry.text, {class: 'plain'})],
    ['code', entry.code ? 1 : null, () => code(entry)],
    ['undone', undone.length || null, () => {
      const {toggle, body} = fold(`${count(undone.length, 'evaluation')} undone`, (content) => content.append(make('ul', {class: 'plain-list'}, undone.slice(0, 200).map((number) =>
        make('li', {}, make('span', {class: 'quiet', text: `${number} `}), make('s', {class: 'code', text: short(app.model.byEvaluation.get(number)?.code || '', 160)}))))));
      return make('div', {}, toggle, body);
    }],
  ];
}
