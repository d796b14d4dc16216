// The right column except the checkpoints: what runs, threads, and small plots of the session's measurements.

import {byId, make, button, fold, short, duration, count} from './dom.js';
import {plot} from './plots.js';
import {progress} from './entry.js';
import {isUnderWay, mebibytes} from './servers.js';

const kept = 200; // measurements

export class Side {
  constructor(app) {
    this.app = app;
    this.memory = [];
    this.drawn = {};
  }

  forget() {
    this.memory = [];
    this.drawn = {};
  }

  /* once(name, data, draw): draw only what has changed, so that the focus stays where it is. */
  once(name, data, draw) {
    const signature = JSON.stringify(data);
    if (this.drawn[name] === signature) return;
    this.drawn[name] = signature;
    const focused = byId(name).contains(document.activeElement) ? document.activeElement.dataset.what : null;
    byId(name).replaceChildren(...draw());
    if (focused) [...byId(name).querySelectorAll('button')].find((one) => one.dataset.what === focused)?.focus();
  }

  /* threads(all): those of list-threads that have begun; first the program's, then the agents', then those of Swank or Slynk. */
  threads(all) {
    const threads = all.filter((thread) => thread.number > 0);
    const isAgents = (thread) => Boolean(thread.whose === 'agent' || thread.serves);
    const servers = threads.filter((thread) => thread.whose === 'server');
    const others = threads.filter((thread) => thread.whose !== 'server').sort((a, b) => isAgents(a) - isAgents(b));
    this.once('threads', threads, () => [...others.map((thread) => this.thread(thread)), servers.length > 0 && this.foldedThreads(servers)].filter(Boolean));
  }

  thread(thread) {
    const name = short([thread.client, thread.name].filter(Boolean).join(': ') || String(thread.number), 60);
    const doing = [thread.serves && 'serves this session', thread.error ? `stopped at error ${thread.error}` : !thread.serves && thread.doing].filter(Boolean).join('; ');
    const act = (word, kill) => button(word, () => this.interrupt(thread, name, kill), {'aria-label': `${word} thread ${name} (${thread.number})`, 'data-what': `${word} ${thread.number}`});
    return make('li', {}, make('p', {}, make('strong', {text: name}), make('span', {class: 'quiet', text: ` ${thread.number}: ${short(doing, 200)}`})),
      !thread.serves && make('div', {class: 'row acts'}, act('Interrupt', false), act('End', true)));
  }

  foldedThreads(threads) {
    const {toggle, body} = fold(`${count(threads.length, 'thread')} of Swank or Slynk`, (content) => content.append(make('ul', {class: 'plain-list'}, threads.map((thread) =>
      make('li', {class: 'quiet', text: `${short(thread.name, 60)} ${thread.number}: ${short(thread.doing, 100)}`})))));
    return make('li', {}, toggle, body);
  }

  async interrupt(thread, name, kill) {
    const isPersons = this.app.known()?.image && thread.whose !== 'agent';
    const what = kill ? 'It is unwound; its cleanup forms run.' : 'It stops where it is, as an error that can be looked at; its restart CONTINUE lets it run on.';
    const warning = `${what}${isPersons ? ' It belongs to the program that runs in the image.' : ''}`;
    if ((kill || isPersons) && !await this.app.ask(`${kill ? 'End' : 'Interrupt'} the thread ${name}?`, warning, `${kill ? 'End' : 'Interrupt'} thread ${name}`)) return;
    this.app.act('interrupt-thread', {thread: String(thread.number), kill});
  }

  jobs(jobs) {
    const running = this.app.model.running;
    const words = {asking: 'waits for a line of input', next: 'about to begin'};
    this.once('jobs', [jobs.map((job) => ({...job, seconds: Math.round(job.seconds)})), running?.progress?.number], () => (jobs.length === 0 ? [make('li', {class: 'quiet', text: 'nothing runs'})]
      : jobs.map((job) => {
        const isShown = running && running.number === job.number && running.progress;
        return make('li', {}, make('p', {}, make('strong', {text: `Evaluation ${job.number}`}), make('span', {class: 'quiet', text: ` ${words[job.state] || job.state}${job.seconds >= 1 ? `, ${duration(Math.round(job.seconds))}` : ''}`})),
          make('p', {}, make('code', {text: short(job.code, 60)})), isShown ? progress(running.progress) : '',
          !isUnderWay(job) && button('Cancel', () => this.app.act('cancel-evaluation', {evaluation: job.number}), {class: 'acts', 'aria-label': `Cancel evaluation ${job.number}`, 'data-what': `cancel ${job.number}`}));
      })));
  }

  measure(session) {
    if (session?.memory) this.memory.push(session.memory);
    if (this.memory.length > kept) this.memory.shift();
    this.plots();
  }

  plots() {
    const ended = this.app.model.entries.filter((entry) => typeof entry.elapsed === 'number').slice(-kept);
    const latency = ended.map((entry) => entry.elapsed);
    const calls = perMinute(this.app.model.entries);
    this.once('plots', [latency, calls, this.memory], () => [
      ['Evaluations a minute', calls, calls.length && `now ${calls.at(-1)}`],
      ['Time of an evaluation', latency, latency.length && `last ${duration(latency.at(-1))}, longest ${duration(Math.max(...latency))}`],
      ['Memory', this.memory, this.memory.length && `now ${mebibytes(this.memory.at(-1))}`],
    ].map(([name, numbers, text]) => make('figure', {}, make('figcaption', {}, name, make('span', {class: 'quiet', text: text ? ` ${text}` : ' no data yet'})),
      numbers.length > 1 && plot(numbers, {name: `${name}: ${text}, ${count(numbers.length, 'measurement')}`, height: 36}))));
  }
}

/* The numbers of evaluations in each of the last thirty minutes. */
function perMinute(entries) {
  const now = Math.floor(Date.now() / 60000);
  const counts = new Array(30).fill(0);
  for (let i = entries.length - 1; i >= 0; i--) {
    const age = now - Math.floor(Date.parse(entries[i].time) / 60000);
    if (age >= 30) break;
    if (age >= 0 && entries[i].kind === 'evaluation') counts[29 - age]++;
  }
  return counts;
}
