// The column of servers and their sessions: who is there, in what state, with how many errors.

import {byId, make, button, printable, short, duration, count} from './dom.js';

const many = 10; // sessions, from which on they can be filtered

/* isUnderWay(evaluation): it has begun; else it waits for its turn. */
export const isUnderWay = ({state}) => state === 'running' || state === 'asking';

export const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/* nameOf(server): its client's name. */
export const nameOf = (server) => server.client || server.caller || 'a client that has not said its name';

export class Servers {
  constructor(app) {
    this.app = app;
    this.signature = '';
    byId('session-filter').addEventListener('input', () => this.draw());
  }

  draw() {
    const {app} = this;
    const all = app.servers;
    const total = all.reduce((sum, server) => sum + server.sessions.length, 0);
    byId('session-filter-row').hidden = total <= many;
    const filter = total > many ? byId('session-filter').value.toLowerCase() : '';
    const signature = JSON.stringify([filter, app.server?.id, app.session, all.map((server) => [server.id, nameOf(server), server['is-ended'], server.problem, this.app.lacksToken(server), server.sessions, server.running])]);
    if (signature === this.signature) return;
    this.signature = signature;
    const focused = document.activeElement?.dataset?.session;
    byId('server-list').replaceChildren(...all.map((server) => this.server(server, filter)));
    byId('no-servers').hidden = all.length > 0;
    if (focused) [...document.querySelectorAll('[data-session]')].find((one) => one.dataset.session === focused)?.focus();
  }

  server(server, filter) {
    const sessions = server.sessions.filter((session) => session.name.toLowerCase().includes(filter));
    const name = nameOf(server);
    return make('li', {class: `server${server['is-ended'] ? ' ended' : ''}`},
      make('h3', {}, make('span', {text: short(name, 40)}), server['is-ended'] && make('span', {class: 'mark', text: 'ended'})),
      make('p', {class: 'quiet directory', dir: 'ltr', text: [printable(server.directory || ''), server.pid && `process ${server.pid}`].filter(Boolean).join(' · ')}),
      server.problem && !server['is-ended'] && make('p', {class: 'problem', text: printable(server.problem)}),
      this.app.lacksToken(server) && !server['is-ended'] && button('Sign in', () => this.app.askForToken(server), {'aria-label': `Sign in to ${short(name, 40)}, process ${server.pid}`}),
      sessions.length > 0 ? make('ul', {'aria-label': `Sessions of ${short(name, 40)}, process ${server.pid}`}, sessions.map((session) => this.session(server, session)))
        : make('p', {class: 'quiet', text: server['is-ended'] ? 'Its sessions have ended.' : this.app.lacksToken(server) ? 'It asks for a token.' : 'no session yet'}));
  }

  session(server, session) {
    const isShown = server === this.app.server && session.name === this.app.session;
    const running = (server.running || []).find((one) => one.session === session.name && isUnderWay(one));
    const facts = [count(session.evaluations, 'evaluation'), session.memory && mebibytes(session.memory), session.image ? `joined: ${session.image}` : 'own process'].filter(Boolean).join(' · ');
    const item = button('', () => this.app.choose(server, session.name), {class: 'session', 'aria-current': isShown ? 'true' : null, 'data-session': `${server.id} ${session.name}`});
    item.append(make('span', {class: 'name', text: printable(session.name)}), make('span', {class: `mark ${session.state}`, text: server['is-ended'] ? 'ended' : session.state}),
      session.errors > 0 ? make('span', {class: 'mark error', text: count(session.errors, 'error')}) : '', make('span', {class: 'quiet facts-line', text: short(facts, 120)}));
    if (running) item.append(make('span', {class: 'quiet facts-line'}, make('code', {text: short(running.code, 44)}), ` since ${duration(Math.max(1, Math.round(running.seconds)))}`));
    return make('li', {}, item);
  }
}
