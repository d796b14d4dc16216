// Elements of the page, made from data that may be hostile: data becomes text nodes and attribute values, never markup.

const shownAtOnce = 12000; // characters of one text; more on request

/* make(tag, properties, ...children): an element. A property that is a function is a listener, `text` its text, others attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  set(element, properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const svgNames = 'http://www.w3.org/2000/svg';

export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS(svgNames, tag);
  set(element, properties);
  element.append(...children.flat());
  return element;
}

function set(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (name === 'text') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
}

export const byId = (id) => document.getElementById(id);

let ids = 0;
export const newId = (word) => `${word}-${++ids}`;

const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/* printable(text): the text with control characters and marks of direction as visible characters. */
export function printable(text) {
  return String(text).replace(invisible, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
  });
}

/* short(text, length): the first line, cut to so many characters. */
export function short(text, length = 80) {
  const line = String(text).slice(0, 4 * length).trim().split('\n', 1)[0];
  const characters = [...line];
  return printable(characters.length > length || line.length < String(text).trim().length
    ? characters.slice(0, length - 1).join('') + '…' : line);
}

/*
 * textBlock(text, properties, paint): a `pre` with the text; a long one grows by a button.
 * paint(text) gives the nodes of a part, by default the plain text.
 */
export function textBlock(text, properties = {}, paint = null) {
  text = String(text);
  const pre = make('pre', {dir: 'ltr', ...properties});
  const show = (from) => {
    const part = text.slice(from, from + shownAtOnce);
    const nodes = paint && from === 0 ? paint(part) : [printable(part)];
    const rest = text.length - from - part.length;
    pre.append(...nodes);
    if (rest > 0) {
      const more = button(`Show more (${count(rest, 'character')} left)`, () => {
        more.remove();
        show(from + shownAtOnce);
      }, {class: 'more'});
      pre.append(more);
    }
  };
  show(0);
  return pre;
}

export function button(name, action, properties = {}) {
  return make('button', {type: 'button', text: name, click: action, ...properties});
}

/* fold(label, content, properties, isOpen): a button with aria-expanded over content that content() makes when it is first opened. */
export function fold(label, content, properties = {}, isOpen = false) {
  const id = newId('fold');
  const body = make('div', {id, class: 'folded', hidden: true});
  const toggle = button('', () => change(toggle.getAttribute('aria-expanded') !== 'true'),
    {'aria-expanded': 'false', 'aria-controls': id, ...properties, class: `fold ${properties.class || ''}`});
  toggle.append(make('span', {class: 'sign', 'aria-hidden': 'true'}), ...[label].flat());
  let isFilled = false;
  function change(open) {
    toggle.setAttribute('aria-expanded', String(open));
    body.hidden = !open;
    if (open && !isFilled) {
      isFilled = true;
      content(body);
    }
  }
  if (isOpen) change(true);
  return {toggle, body, open: () => change(true)};
}

export const count = (number, word) => `${number.toLocaleString('en')} ${word}${number === 1 ? '' : 's'}`;

export function duration(seconds) {
  if (seconds < 0.001) return '< 1 ms';
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 90) return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

export const clock = (time) => new Date(time).toLocaleTimeString('en-GB');

let lastSaid = '';
let waiting = null;

/* say(text): tell a screen reader, at most one sentence in two seconds, the newest. */
export function say(text) {
  lastSaid = text;
  if (waiting) return;
  byId('said').textContent = printable(text);
  waiting = setTimeout(() => {
    waiting = null;
    if (byId('said').textContent !== printable(lastSaid)) say(lastSaid);
  }, 2000);
}

/* ask(question, text, action, field): a dialog. Gives the field's text, or true, if the person chooses the action; else null. */
export function ask(question, text, action, field = null) {
  const dialog = byId('question');
  const input = field && make('input', {type: 'text', id: 'question-field', autocomplete: 'off', spellcheck: 'false'});
  const act = make('button', {value: 'yes', class: 'primary', text: action});
  const form = make('form', {method: 'dialog'},
    make('h2', {id: 'question-title', text: question}), text && textBlock(text, {class: 'plain'}),
    input && make('label', {for: 'question-field', text: field}), input,
    make('div', {class: 'row'}, act, make('button', {value: '', type: 'submit', formnovalidate: true, text: 'Leave it'})));
  dialog.replaceChildren(form);
  dialog.returnValue = '';
  dialog.showModal();
  (input || act).focus();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === 'yes' ? (input ? input.value : true) : null);
  });
}
