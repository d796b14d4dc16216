// The page: which servers there are, which session is shown, and how the page stays up to date with it.

import {byId, ask, say, short, printable, duration, clock} from './dom.js';
import {callTool, readEvents, listen, tokens, Lost} from './mcp.js';
import {Model, who} from './model.js';
import {Transcript} from './transcript.js';
import {drawEntry, title} from './entry.js';
import {Servers, isUnderWay, nameOf} from './servers.js';
import {Checkpoints} from './checkpoints.js';
import {Side} from './side.js';
import {Inspector} from './inspector.js';
import {Composer} from './composer.js';
import {setUpExport} from './export.js';
import {setUpKeys} from './keys.js';
import {watchServers} from './watch.js';

const pageOfEvents = 1000;
const refreshEvery = 5000; // ms, of what sends no events: memory, threads
const readPause = 300; // ms between two readings of events, so that a flood of output costs little; longer where drawing takes long
const longestReadPause = 1500;
const longestPause = 10000; // ms between attempts to reconnect

class App {
  servers = [];
  server = null;
  session = null;
  model = new Model();
  readOnly = false;
  ask = ask;
  timers = {};
  hasRead = 0; // when
  cost = 0; // ms that the last drawing took

  constructor() {
    this.transcript = new Transcript((entry, element) => drawEntry(this, entry, element));
    this.list = new Servers(this);
    this.checkpoints = new Checkpoints(this);
    this.side = new Side(this);
    this.inspector = new Inspector(this);
    this.composer = new Composer(this);
    setUpExport(this);
    setUpKeys(this);
    byId('cancel').addEventListener('click', () => this.act('cancel-evaluation', this.model.running?.number ? {evaluation: this.model.running.number} : {}));
    byId('to-end').addEventListener('click', () => this.transcript.toEnd());
    byId('report-close').addEventListener('click', () => { byId('report').hidden = true; });
    for (const tab of document.querySelectorAll('#panes [data-pane]')) tab.addEventListener('click', () => {
      document.body.classList.remove('inspects'); // which covers the panes on a narrow screen
      this.showPane(tab.dataset.pane);
    });
    byId('transcript').addEventListener('scroll', () => { byId('to-end').hidden = this.transcript.isAtEnd(); }, {passive: true});
    document.addEventListener('visibilitychange', () => this.wake());
    addEventListener('online', () => this.wake());
    setInterval(() => this.tick(), 1000);
    setInterval(() => !document.hidden && this.refresh(), refreshEvery);
    this.showPane('transcript');
    watchServers((state) => this.onServers(state), (problem) => this.banner('watch', problem));
  }

  address(server = this.server) {
    return server.address || `/servers/${encodeURIComponent(server.id)}/mcp`;
  }

  onServers({servers, 'read-only': readOnly}) {
    const known = new Map(this.servers.map((server) => [server.id, server]));
    this.servers = servers.map((one) => Object.assign(known.get(one.id) || {sessions: [], running: []}, one));
    this.readOnly = Boolean(readOnly);
    document.body.classList.toggle('read-only', this.readOnly);
    this.banner('ended', this.server?.['is-ended'] ? 'This server has ended. What it did stays readable here.' : '');
    this.draw();
    this.refresh();
  }

  lacksToken(server) {
    return server['needs-token'] && !tokens.has(this.address(server));
  }

  async askForToken(server) {
    const token = await ask('Which token?', 'This server is for several people and asks for your token.', 'Sign in', 'Token');
    if (!token) return;
    tokens.set(this.address(server), token.trim());
    this.refresh();
    this.catchUp();
    this.relisten();
  }

  /* What sends no events: the sessions of every server, and the checkpoints and threads of the one that is shown. */
  async refresh() {
    this.isStale = true;
    if (this.isRefreshing) return;
    this.isRefreshing = true;
    while (this.isStale) {
      this.isStale = false;
      await Promise.all(this.servers.filter((server) => !server['is-ended']).map((server) => this.refreshServer(server)));
      if (!this.server || this.server['is-ended']) this.chooseFirst();
      await this.refreshSession();
    }
    this.isRefreshing = false;
  }

  async refreshServer(server) {
    if (this.lacksToken(server)) return;
    try {
      const [sessions, running] = await Promise.all([callTool(this.address(server), 'session-info', {all: true}), callTool(this.address(server), 'evaluation-status', {all: true})]);
      const names = server.sessions.map((session) => session.name).join();
      server.sessions = sessions.data.sessions || [];
      server.running = running.data.evaluations || [];
      server.caller = sessions.data.client; // over HTTP, whoever called last
      server.problem = '';
      if (server === this.server && names !== server.sessions.map((session) => session.name).join()) this.relisten();
    } catch (error) {
      if (error.status === 401) {
        server['needs-token'] = true;
        tokens.delete(this.address(server));
        if (server.address && !byId('question').open) this.askForToken(server); // this page shows no other
      }
      server.problem = error instanceof Lost ? 'It does not answer.' : '';
    }
    this.list.draw();
  }

  async refreshSession() {
    const {server, session} = this;
    if (!server || server['is-ended']) return;
    const known = server.sessions.find((one) => one.name === session);
    this.side.measure(known);
    this.drawJobs();
    if (!known) return this.draw();
    const [kept, threads] = await Promise.all([this.look('session-history', {checkpoints: true}), this.look('list-threads', {})]);
    if (server !== this.server || session !== this.session) return;
    if (kept.data.checkpoints) this.checkpoints.show(kept.data.checkpoints);
    if (threads.data.threads) this.side.threads(threads.data.threads);
    this.draw();
    this.catchUp(); // no event tells that an error is no longer kept
  }

  chooseFirst() {
    const living = this.servers.filter((server) => !server['is-ended'] && !this.lacksToken(server));
    if (this.server && (!living.length || this.model.entries.length)) return; // an ended server stays readable
    const [id, name] = location.hash.slice(1).split('/').map(decodeURIComponent);
    const wanted = living.find((server) => server.id === id);
    const busiest = living.flatMap((server) => server.sessions.map((session) => ({server, session})))
      .sort((a, b) => (b.session.state === 'running') - (a.session.state === 'running') || b.session.evaluations - a.session.evaluations)[0];
    if (wanted && name) this.choose(wanted, name);
    else if (busiest) this.choose(busiest.server, busiest.session.name);
    else if (living.length && !living.some((server) => server.problem)) this.choose(living[0], 'default');
  }

  choose(server, session) {
    const isOther = server !== this.server || session !== this.session;
    if (isOther) {
      this.server = server;
      this.session = session;
      this.model = new Model();
      this.side.forget();
      this.checkpoints.forget();
      byId('threads').replaceChildren();
      this.transcript.show([], true);
      this.isLoaded = false;
      history.replaceState(null, '', `#${encodeURIComponent(server.id)}/${encodeURIComponent(session)}`);
      this.banner('ended', server['is-ended'] ? 'This server has ended. What it did is no longer there.' : '');
      this.banner('lost', '');
      this.draw();
      this.catchUp();
      this.relisten();
      this.refresh();
    }
    this.showPane('transcript');
  }

  /* catchUp(): read the events that the page does not have, one request after the other. */
  async catchUp() {
    if (this.isReading) {
      this.mustRead = true;
      return;
    }
    this.isReading = true;
    const {server, session, model} = this;
    try {
      do {
        this.mustRead = false;
        const answer = await readEvents(this.address(), session, model.began ? {after: model.last, limit: pageOfEvents} : {limit: pageOfEvents});
        if (model !== this.model) break;
        this.banner('lost', '');
        if (model.began && answer.began !== model.began) {
          this.model = new Model();
          this.transcript.show([], true);
          return;
        }
        this.take(answer);
        if (model.last < answer.last && answer.events.length) this.mustRead = true;
      } while (this.mustRead);
      if (!this.isLoaded && model === this.model) {
        this.isLoaded = true;
        this.readOlder(model);
      }
    } catch (error) {
      if (error instanceof Lost && model === this.model && !server['is-ended']) this.banner('lost', 'The connection to the server is lost. The page tries again.');
    } finally {
      this.isReading = false;
      this.hasRead = performance.now();
      if (model !== this.model || this.mustRead) this.catchUp();
    }
  }

  pause() {
    return Math.min(longestReadPause, Math.max(readPause, 10 * this.cost));
  }

  take(answer) {
    const {model} = this;
    const began = performance.now();
    requestAnimationFrame(() => setTimeout(() => { this.cost = performance.now() - began; }));
    model.began = answer.began;
    model.first = answer.first;
    model.setEnterable(answer.enterable || []);
    const before = model.running;
    const changed = model.append(answer.events);
    if (model.last >= answer.last && answer.undone) {
      model.mark(answer.undone);
      if (typeof answer.at === 'number' && model.states.has(answer.at)) model.state = answer.at;
    }
    this.transcript.show(model.entries);
    this.draw();
    if (changed.size) {
      this.announce([...changed].at(-1));
      if (before !== model.running || [...changed].some((entry) => entry.state !== 'running')) this.soon('refresh', 300, () => this.refresh());
      this.checkpoints.draw();
      this.drawJobs();
      this.side.plots();
    }
  }

  /* readOlder(model): read what is kept of the time before, page by page, until the first event. */
  async readOlder(model) {
    try {
      while (model === this.model && model.events.length && model.events[0].number > model.first) {
        const answer = await readEvents(this.address(), this.session, {before: model.events[0].number, limit: pageOfEvents});
        if (model !== this.model || answer.events.length === 0) return;
        model.prepend(answer.events);
        if (answer.undone) model.mark(answer.undone);
        this.transcript.show(model.entries);
      }
      if (model === this.model) this.transcript.isSettling = false;
    } catch {
      this.isLoaded = false; // the next catchUp tries again
    }
  }

  relisten() {
    if (this.server && !this.server['is-ended']) this.listenOn();
    else this.listening?.abort();
  }

  /* listenOn(): hear of changes, and reconnect after a lost connection, with growing pauses, until another listen replaces this one. That one stays
   * until this one is open: what code asks ends when nobody listens. */
  async listenOn() {
    const {server, listening: before} = this;
    const own = this.listening = new AbortController();
    let pause = 250;
    while (!own.signal.aborted && !server['is-ended']) {
      const names = [...new Set([this.session, ...server.sessions.map((one) => one.name)])];
      try {
        await listen(this.address(server), names, !this.readOnly, own.signal, (message) => {
          pause = 250;
          if (message.method === 'notifications/resources/updated' && message.params.uri === `lisp://session/${encodeURIComponent(this.session)}/events`) this.soon('read', Math.max(0, this.hasRead + this.pause() - performance.now()), () => this.catchUp());
          else if (message.method === 'notifications/subscriptions/acknowledged') {
            before?.abort();
            this.catchUp();
          }
          else this.soon('refresh', 1000, () => this.refresh());
        });
      } catch (error) {
        if (own.signal.aborted) return;
      }
      before?.abort();
      await new Promise((resolve) => { this.wakeUp = resolve; setTimeout(resolve, pause); });
      pause = Math.min(pause * 2, longestPause);
      if (!own.signal.aborted) this.catchUp();
    }
  }

  /* wake(): the page is visible, or the network is back. A hidden page gives its connection back, since browsers allow few. */
  wake() {
    clearTimeout(this.timers.hidden);
    if (document.hidden) {
      this.timers.hidden = setTimeout(() => {
        if (this.model.question) return; // which would end with the connection
        this.listening?.abort();
        this.isAsleep = true;
      }, 20000);
      return;
    }
    if (this.isAsleep) this.relisten();
    this.isAsleep = false;
    this.wakeUp?.();
    if (this.server) this.catchUp();
    this.refresh();
  }

  soon(name, ms, action) {
    this.timers[`soon ${name}`] ??= setTimeout(() => {
      this.timers[`soon ${name}`] = null;
      action();
    }, ms);
  }

  /* look(tool, args): the reply of a tool that changes nothing: {text, isError, data, isLost}. */
  async look(tool, args) {
    try {
      return await callTool(this.address(), tool, {...args, session: this.session});
    } catch (error) {
      return {text: error.message, isError: true, data: {}, isLost: error instanceof Lost};
    }
  }

  /* act(tool, args, isQuiet): do something for the person. What went wrong is reported, unless the caller shows the reply. */
  async act(tool, args, isQuiet = false) {
    if (!this.server || this.readOnly) return {text: 'Nothing can be done here.', isError: true, data: {}};
    const reply = await this.look(tool, args);
    if (reply.isLost || (reply.isError && !isQuiet && !reply.data.error)) this.report(reply.text, true);
    this.catchUp();
    this.soon('refresh', 100, () => this.refresh());
    return reply;
  }

  /* inspectValue(entry, i): value i of the evaluation, as long as the session still has that object. */
  inspectValue(entry, i) {
    const isKept = this.model.byEvaluation.get(entry.number) === entry; // and not of the time before a reset
    const again = entry.code && !entry.codeBytes ? {code: entry.code, package: entry.package} : null;
    return this.inspector.open(isKept ? {handle: `v${entry.number}${i > 0 ? `.${i}` : ''}`} : null, `value of ${title(entry).toLowerCase()}`, again);
  }

  goTo(entry) {
    this.showPane('transcript');
    this.transcript.reveal(entry);
  }

  showPane(name) {
    document.body.dataset.pane = name;
    for (const tab of document.querySelectorAll('#panes [data-pane]')) tab.setAttribute('aria-pressed', String(tab.dataset.pane === name));
    this.transcript.later();
  }

  report(text, isProblem = false) {
    byId('report').hidden = false;
    byId('report').classList.toggle('is-problem', isProblem);
    byId('report-text').textContent = short(text, 400);
  }

  banner(name, text) {
    this.banners = {...this.banners, [name]: text};
    const all = Object.values(this.banners).filter(Boolean).join(' ');
    if (byId('banner').textContent !== all) byId('banner').textContent = all;
    byId('banner').hidden = all === '';
  }

  announce(entry) {
    if (entry.kind === 'note') say(short(entry.text, 120));
    else if (entry.state === 'running') say(`${title(entry)} is running`);
    else if (entry.errors?.length) say(`${title(entry)}: error ${entry.errors.at(-1).type}: ${short(entry.errors.at(-1).message || '', 100)}`);
    else if (entry.values) say(`${title(entry)} of ${who(entry.author) || 'the session'}: ${short(entry.values[0] || 'no values', 60)}`);
  }

  drawJobs() {
    this.side.jobs((this.server?.running || []).filter((one) => one.session === this.session));
  }

  /* The session in this server's list, as it was seen last. */
  known() {
    return this.server?.sessions.find((one) => one.name === this.session);
  }

  tick() {
    const running = this.model.running;
    const listed = !running && this.server?.running?.find((one) => one.session === this.session && isUnderWay(one));
    const isRunning = Boolean(running || listed) && !this.server?.['is-ended'];
    const seconds = running ? Math.max(0, (Date.now() - Date.parse(running.time)) / 1000) : listed ? listed.seconds : 0;
    byId('running').textContent = !isRunning ? '' : `${running ? title(running) : `Evaluation ${listed.number}`} is running${seconds >= 1 ? `, ${duration(Math.round(seconds))}` : ''}`;
    byId('cancel').hidden = !isRunning;
  }

  draw() {
    this.list.draw();
    this.composer.showQuestion(this.model.question);
    this.tick();
    const known = this.known();
    byId('session-name').textContent = this.session ? printable(this.session) : 'no session';
    byId('session-facts').textContent = this.server ? [nameOf(this.server), this.server.pid && `process ${this.server.pid}`, known?.package].filter(Boolean).map(printable).join(' · ') : '';
    const isEmpty = this.model.entries.length === 0;
    byId('empty').hidden = !isEmpty;
    byId('empty').textContent = this.servers.length === 0 ? 'No server runs. A client starts one when it uses Lisp.' : 'Nothing was evaluated here yet.';
    byId('older').hidden = this.model.first <= 1;
    byId('older').textContent = this.model.first > 1 ? `Events before ${this.model.events.length ? clock(this.model.events[0].time) : 'this'} are no longer kept.` : '';
    byId('checkpoints').hidden = Boolean(known?.image);
    document.body.classList.toggle('ended', Boolean(this.server?.['is-ended']));
    for (const id of ['evaluate', 'stage']) byId(id).disabled = !this.server || Boolean(this.server['is-ended']);
    document.title = `${this.model.running ? 'running: ' : ''}${this.session ? `${short(this.session, 30)} · ` : ''}cl-mcp-server`;
  }
}

new App();
