// The transcript as a file: Lisp that loads (made by the server), Markdown, or one HTML page that needs nothing else.

import {byId, printable} from './dom.js';
import {who} from './model.js';
import {title} from './entry.js';

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type: `${type};charset=utf-8`}));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/* A fence longer than any run of backquotes in the text. */
function fenced(text, language) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${printable(text).replace(/\n$/, '')}\n${fence}\n`;
}

/* What an entry consists of: [kind, text] in the order in which it is read. */
function* pieces(entry) {
  if (entry.kind === 'note') {
    yield ['note', entry.text || ''];
    return;
  }
  if (entry.code) yield ['code', entry.code];
  for (const piece of entry.outputs || []) {
    if (piece.omitted) yield ['note', `${piece.omitted} bytes of output are left out`];
    if (piece.text) yield ['output', piece.text];
  }
  for (const warning of entry.warnings || []) yield ['warning', `${warning.type || 'WARNING'}: ${warning.message}`];
  for (const value of entry.values || []) yield ['value', value];
  for (const error of entry.errors) {
    yield ['error', `${error.type}: ${error.message}`];
    yield ['frames', (error.frames || []).join('\n')];
    yield ['restarts', (error.restarts || []).map((restart) => `${restart.index}. ${restart.name}: ${restart.description}`).join('\n')];
  }
}

const heading = (entry) => (entry.kind === 'note' ? '' : [entry.kind === 'thread' ? `Error in the thread ${entry.thread}` : title(entry),
  who(entry.author), entry.time, entry.isUndone && 'rolled back'].filter(Boolean).join(', '));

function markdown(app) {
  const escaped = (text) => printable(text).replace(/[\\`*_{}[\]<>#+!|&~-]/g, '\\$&').replace(/\n/g, ' ');
  const parts = [`# ${escaped(`Session ${app.session}`)}\n`];
  for (const entry of app.model.entries) {
    if (heading(entry)) parts.push(`## ${escaped(heading(entry))}\n`);
    for (const [kind, text] of pieces(entry)) {
      if (!text) continue;
      if (kind === 'note') parts.push(`${escaped(text)}\n`);
      else if (kind === 'code') parts.push(fenced(text, 'lisp'));
      else parts.push(`${{output: 'Output', warning: 'Warning', value: 'Value', error: '**Error**', frames: 'Frames', restarts: 'Restarts'}[kind]}:\n`, fenced(text, 'text'));
    }
  }
  return parts.join('\n');
}

function html(app) {
  const escaped = (text) => printable(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
  const policy = "script-src 'none'; connect-src 'none'; img-src 'none'; object-src 'none'"; // of the saved file
  const style = ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}' +
    'pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.5rem .75rem;border-left:4px solid #888;margin:.4rem 0}.code{border-color:#36c}' +
    '.value{border-color:#282}.error{border-color:#c22}.undone .code{text-decoration:line-through}h2{font-size:1rem;margin:1.6rem 0 .3rem}small{display:block}';
  const sections = app.model.entries.map((entry) => `<section class="${entry.isUndone ? 'undone' : 'done'}">${heading(entry) ? `<h2>${escaped(heading(entry))}</h2>` : ''}` +
    `${[...pieces(entry)].filter(([, text]) => text).map(([kind, text]) => `<small>${kind}</small><pre class="${kind}" dir="ltr">${escaped(text)}</pre>`).join('')}</section>`);
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<meta http-equiv="Content-Security-Policy" content="${policy}"><title>${escaped(`Session ${app.session}`)}</title><style>${style}</style></head>` +
    `<body><h1>${escaped(`Session ${app.session}`)}</h1>\n${sections.join('\n')}\n</body></html>\n`;
}

export function setUpExport(app) {
  const toggle = byId('export');
  const menu = byId('export-menu');
  const change = (isOpen) => {
    menu.hidden = !isOpen;
    toggle.setAttribute('aria-expanded', String(isOpen));
  };
  toggle.addEventListener('click', () => change(menu.hidden));
  menu.parentElement.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || menu.hidden) return;
    change(false);
    toggle.focus();
    event.stopPropagation();
  });
  const file = () => (app.session || 'session').replace(/[^\w.-]+/g, '-').slice(0, 60);
  const actions = {
    'export-lisp': async () => {
      const reply = await app.look('session-history', {format: 'lisp', limit: 5000, 'max-output': 4000000});
      if (reply.isError) app.report(reply.text, true);
      else save(`${file()}.lisp`, 'text/plain', reply.text.endsWith('\n') ? reply.text : `${reply.text}\n`);
    },
    'export-markdown': () => save(`${file()}.md`, 'text/markdown', markdown(app)),
    'export-html': () => save(`${file()}.html`, 'text/html', html(app)),
  };
  for (const [id, act] of Object.entries(actions)) byId(id).addEventListener('click', () => {
    change(false);
    toggle.focus();
    act();
  });
}
