// The right column except the checkpoints: what runs, threads, and small plots of the session's measurements.

import {byId, make, button, short, duration, count} from './dom.js';
import {plot} from './plots.js';
import {progress} from './entry.js';

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

  threads(threads) {
    this.once('threads', threads, () => threads.map((thread, i) => {
      const id = `thread-${i}`;
      const isOwn = /serves this session/.test(thread.doing);
      const interrupt = (kill) => this.app.act('interrupt-thread', {thread: thread.number, kill});
      return make('li', {}, make('p', {id}, make('strong', {text: short(thread.name, 60)}), make('span', {class: 'quiet', text: ` ${thread.number}: ${short(thread.doing, 200)}`})),
        !isOwn && make('div', {class: 'row acts'}, button('Interrupt', () => interrupt(false), {'aria-describedby': id, 'data-what': `interrupt ${thread.number}`}), button('End', async () => {
          if (await this.app.ask(`End the thread ${short(thread.name, 60)}?`, 'It is unwound; its cleanup forms run.', `End thread ${short(thread.name, 40)}`)) interrupt(true);
        }, {'aria-describedby': id, 'data-what': `end ${thread.number}`})));
    }));
  }

  jobs(jobs) {
    const running = this.app.model.running;
    this.once('jobs', [jobs.map((job) => ({...job, seconds: Math.round(job.seconds)})), running?.progress?.number], () => (jobs.length === 0 ? [make('li', {class: 'quiet', text: 'nothing runs'})]
      : jobs.map((job) => {
        const isShown = running && running.number === job.number && running.progress;
        return make('li', {}, make('p', {}, make('strong', {text: `Evaluation ${job.number}`}), make('span', {class: 'quiet', text: ` ${job.state}${job.seconds >= 1 ? `, ${duration(Math.round(job.seconds))}` : ''}`})),
          make('p', {}, make('code', {text: short(job.code, 60)})), isShown ? progress(running.progress) : '',
          job.state === 'waiting' && button('Cancel', () => this.app.act('cancel-evaluation', {evaluation: job.number}), {class: 'acts', 'aria-description': `evaluation ${job.number}`, 'data-what': `cancel ${job.number}`}));
      })));
  }

  measure(session) {
    const memory = /([\d.]+) ([KMG])iB/.exec(session?.memory || '');
    if (memory) this.memory.push(Number(memory[1]) * {K: 1 / 1024, M: 1, G: 1024}[memory[2]]);
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
      ['Memory', this.memory, this.memory.length && `now ${this.memory.at(-1).toFixed(1)} MiB`],
    ].map(([name, numbers, text]) => make('figure', {}, make('figcaption', {}, name, make('span', {class: 'quiet', text: text ? ` ${text}` : ' no data yet'})),
      numbers.length > 1 && plot(numbers, {name: `${name}: ${text}, ${count(numbers.length, 'measurement')}`, width: 240, height: 36}))));
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
