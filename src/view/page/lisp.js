// Lisp text: its tokens, for colour; its parentheses, for the check before a form is sent.

const special = new Set(('and block case catch cond ccase ctypecase declaim declare defclass defconstant defgeneric define-condition ' +
  'defmacro defmethod defpackage defparameter defstruct deftype defun defvar destructuring-bind do do* dolist dotimes ecase ' +
  'error etypecase eval-when flet function go handler-bind handler-case if in-package labels lambda let let* locally loop macrolet ' +
  'multiple-value-bind or prog1 progn progv quote restart-bind restart-case return return-from setf setq symbol-macrolet tagbody ' +
  'the throw typecase unless unwind-protect when with-open-file with-output-to-string with-slots define-compiler-macro').split(' '));

/*
 * tokens(text): the text's tokens, one after the other, as {kind, from, to}; kinds: open close string comment symbol number
 * keyword character space other. `isOpen` is set on a string, a |symbol| or a #| comment that the text does not end.
 */
export function* tokens(text) {
  let at = 0;
  const until = (from, pattern) => {
    pattern.lastIndex = from;
    const found = pattern.exec(text);
    return found ? pattern.lastIndex : -1;
  };
  while (at < text.length) {
    const from = at;
    const character = text[at];
    let kind = 'other';
    let isOpen = false;
    const delimited = (name, end, start = at + 1) => {
      const to = until(start, end);
      kind = name;
      isOpen = to < 0;
      at = isOpen ? text.length : to;
    };
    if (character === '(') { kind = 'open'; at++; }
    else if (character === ')') { kind = 'close'; at++; }
    else if (character === '"') delimited('string', /(?:[^"\\]|\\[^])*"/y);
    else if (character === ';') { kind = 'comment'; at = until(at, /[^\n]*/y); }
    else if (text.startsWith('#|', at)) {
      let depth = 0;
      const marks = /#\||\|#/g;
      marks.lastIndex = at;
      let mark;
      do {
        mark = marks.exec(text);
        if (mark) depth += mark[0] === '#|' ? 1 : -1;
      } while (mark && depth > 0);
      kind = 'comment';
      isOpen = !mark;
      at = mark ? marks.lastIndex : text.length;
    } else if (text.startsWith('#\\', at)) {
      kind = 'character';
      at = until(at, /#\\(?:[^\s();"'`,]+|[^])?/y);
    } else if (/\s/.test(character)) { kind = 'space'; at = until(at, /\s+/y); }
    else if (/['`,@#]/.test(character)) at++;
    else {
      const to = until(at, /(?:[^\s();"'`,|\\]|\\[^]|\|(?:[^|\\]|\\[^])*\|)+/y);
      if (to > at) at = to;
      else if (character === '|') delimited('symbol', /(?:[^|\\]|\\[^])*\|/y);
      else at++;
      const word = text.slice(from, at);
      if (kind === 'other' && to > 0) {
        kind = word[0] === ':' ? 'keyword' : /^[+-]?(\d+(\/\d+)?|\d*\.\d+([esfdl][+-]?\d+)?|\d+[esfdl][+-]?\d+)$/i.test(word) ? 'number' : 'symbol';
      }
      if (text[at] === '|') { // an unclosed bar after a symbol's first characters
        const end = until(at + 1, /(?:[^|\\]|\\[^])*\|/y);
        kind = 'symbol';
        isOpen = end < 0;
        at = isOpen ? text.length : end;
      }
    }
    yield {kind, from, to: at, isOpen};
  }
}

const mostPainted = 1200; // tokens of one text

/* paint(text): the text as nodes, with classes for its kinds of tokens. Brackets, spaces and plain symbols stay plain text. */
export function paint(text, show) {
  const nodes = [];
  let plain = '';
  let isHead = false;
  const flush = () => {
    if (plain) nodes.push(show(plain));
    plain = '';
  };
  for (const token of tokens(text)) {
    const word = text.slice(token.from, token.to);
    let name = ['string', 'comment', 'keyword', 'number', 'character'].includes(token.kind) ? token.kind : null;
    if (token.kind === 'symbol' && isHead && (special.has(word.toLowerCase()) || /^(def|with-|do-)/i.test(word))) name = 'operator';
    if (token.kind !== 'space') isHead = token.kind === 'open';
    if (name === null || nodes.length > mostPainted) {
      plain += word;
      continue;
    }
    flush();
    const span = document.createElement('span');
    span.className = `lisp-${name}`;
    span.textContent = show(word);
    nodes.push(span);
  }
  flush();
  return nodes;
}

function place(text, at) {
  const before = text.slice(0, at).split('\n');
  return `line ${before.length}, column ${before.at(-1).length + 1}`;
}

function head(text, at) {
  const words = text.slice(at, at + 60).match(/^\([^\s()"]*(?: +[^\s()"]+)?/);
  return words ? `${words[0]} …` : '( …';
}

/*
 * balance(text): {isWhole, message, pairs, open}. If the text is not whole, the message says what is missing and where.
 * pairs maps the place of each matched parenthesis to its partner's.
 */
export function balance(text) {
  const stack = [];
  const pairs = new Map();
  let isEmpty = true;
  for (const token of tokens(text)) {
    if (token.isOpen) {
      const what = {string: 'The closing " of the string', comment: 'The closing |# of the comment'}[token.kind] || 'The closing | of the symbol';
      return {isWhole: false, isStray: false, pairs, message: `${what} that begins in ${place(text, token.from)} is missing.`};
    }
    if (token.kind !== 'space' && token.kind !== 'comment') isEmpty = false;
    if (token.kind === 'open') stack.push(token.from);
    if (token.kind !== 'close') continue;
    if (stack.length === 0) {
      return {isWhole: false, isStray: true, pairs, message: `The ) in ${place(text, token.from)} closes nothing: an opening ( is missing before it.`};
    }
    const partner = stack.pop();
    pairs.set(partner, token.from).set(token.from, partner);
  }
  if (stack.length > 0) {
    const innermost = stack.at(-1);
    const others = stack.length > 1 ? ` The outermost is ${head(text, stack[0])} in ${place(text, stack[0])}.` : '';
    return {isWhole: false, isStray: false, pairs, message: `${stack.length === 1 ? 'A closing ) is' : `${stack.length} closing ) are`} missing: ` +
      `${head(text, innermost)} in ${place(text, innermost)} is not closed.${others}`};
  }
  return {isWhole: true, isEmpty, isStray: false, pairs, message: ''};
}

/* elements(text): the printed elements of a list or vector, such as (1 "a" (2)), as texts; null if it is none or is cut. */
export function elements(text) {
  const start = /^\s*#?\(/.exec(text);
  if (!start || !balance(text).isWhole) return null;
  const found = [];
  let depth = 0;
  let from = -1;
  for (const token of tokens(text)) {
    if (token.kind === 'close' && --depth === 0) {
      if (from >= 0) found.push(text.slice(from, token.from).trim());
      return text.slice(token.to).trim() === '' ? found.filter((one) => one !== '') : null;
    }
    if (depth === 1 && (token.kind === 'space')) {
      if (from >= 0) found.push(text.slice(from, token.from).trim());
      from = token.to;
    } else if (depth === 1 && from < 0) from = token.from;
    if (token.kind === 'open' && ++depth === 1) from = token.to;
  }
  return null;
}
