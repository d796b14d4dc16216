// What happened in one session: entries made from the server's events, and the states that the session went through.
// An entry is one evaluation with all that belongs to it, a thread's error, or a note.

const outputKept = 400000; // characters of one evaluation's output that the page keeps

/*
 * An entry:
 *   kind       'evaluation', 'thread', 'note'
 *   state      of an evaluation: 'running', 'value', 'error'
 *   number     the evaluation's number; absent for one in a frame
 *   version    grows with each change
 */
export class Model {
  constructor() {
    this.events = [];
    this.began = null;
    this.first = 1;
    this.forget();
  }

  forget() {
    this.entries = [];
    this.running = null; // the entry that the next events without an evaluation belong to
    this.byEvaluation = new Map();
    this.errors = new Map(); // by their numbers
    this.entryOf = new Map(); // the same: where each is shown
    this.enterable = new Set(); // the numbers of those that can be entered now
    this.held = new Map(); // by thread: what says that it stands in the debugger of a person
    this.question = null; // what the running code asks
    this.state = 0; // the evaluation after which the session is
    this.states = new Map([[0, {evaluation: 0, parent: null, entry: null}]]);
  }

  get last() {
    return this.events.length ? this.events.at(-1).number : 0;
  }

  /* append(events): take events newer than those it has. Gives the entries that changed. */
  append(events) {
    const changed = new Set();
    for (const event of events) {
      if (event.number <= this.last) continue;
      this.events.push(event);
      const entry = this.apply(event);
      if (entry) changed.add(entry);
    }
    return changed;
  }

  /* prepend(events): take older events than those it has; all entries are made anew. */
  prepend(events) {
    const oldest = this.events.length ? this.events[0].number : Infinity;
    this.events = events.filter((event) => event.number < oldest).concat(this.events);
    this.forget();
    for (const event of this.events) this.apply(event);
  }

  add(event, entry) {
    Object.assign(entry, {key: event.number, time: event.time, author: event.author, version: 0});
    this.entries.push(entry);
    return entry;
  }

  evaluation(event, more) {
    const entry = this.add(event, {kind: 'evaluation', number: event.evaluation, state: 'running', outputs: [], outputLength: 0,
      warnings: [], definitions: [], values: null, errors: [], elapsed: null, progress: null, ...more});
    if (event.evaluation !== undefined && !more.inFrame) this.byEvaluation.set(event.evaluation, entry);
    this.running = entry;
    return entry;
  }

  /* owner(event): the entry that the event belongs to; made if the events before it are no longer kept. */
  owner(event) {
    const running = this.running;
    if (running && running.state === 'running' && (event.evaluation === undefined || running.number === event.evaluation ||
        running.number === undefined || running.restart)) {
      if (running.restart && event.evaluation !== undefined) this.byEvaluation.set(event.evaluation, running);
      return running;
    }
    return this.byEvaluation.get(event.evaluation) || this.evaluation(event, {isPart: true, code: null});
  }

  note(event, text, more = {}) {
    return this.add(event, {kind: 'note', what: event.kind, text, ...more});
  }

  apply(event) {
    const method = this[`on_${event.kind.replace('-', '_')}`];
    const entry = method ? method.call(this, event) : null;
    if (entry) entry.version++;
    return entry;
  }

  on_started(event) {
    const restarted = this.running;
    if (event['in-frame'] && restarted?.restart && restarted.state === 'running' && restarted.ofError === event['in-frame'].error) {
      restarted.number = event.evaluation;
      restarted.inFrame = event['in-frame'];
      return restarted;
    }
    return this.evaluation(event, {code: event.code, codeBytes: event['code-bytes'], package: event.package, inFrame: event['in-frame']});
  }

  on_restart(event) {
    const known = this.errors.get(event.error)?.restarts?.find((one) => String(one.index) === event.restart);
    return this.evaluation(event, {code: null, restart: known?.name || event.restart, ofError: event.error});
  }

  on_output(event) {
    const entry = event.evaluation === undefined && this.running?.state !== 'running'
      ? this.evaluation(event, {code: null, isBetween: true, state: 'value', values: []}) : this.owner(event);
    if (entry.isBetween) this.running = null;
    const previous = entry.outputs.at(-1);
    if (previous && previous.stream === event.stream && previous.text.length < 20000 && !event.omitted) previous.text += event.text;
    else entry.outputs.push({stream: event.stream, text: event.text, omitted: event.omitted || 0});
    entry.outputLength += event.text.length;
    event.text = event.text.length > 2000 ? '' : event.text; // the entry has it
    while (entry.outputLength > outputKept && entry.outputs.length > 9) { // the first and the last are kept
      const [lost] = entry.outputs.splice(8, 1);
      entry.outputs[8].omitted += lost.text.length + lost.omitted;
      entry.outputLength -= lost.text.length;
    }
    return entry;
  }

  on_value(event) {
    const entry = this.owner(event);
    Object.assign(entry, {values: event.values, isCut: event['is-cut']});
    return this.end(entry, event, 'value');
  }

  on_error(event) {
    if (event.thread) return this.on_thread_error(event);
    const entry = this.owner(event);
    entry.errors.push(event);
    this.noteError(event, entry);
    if (event['goes-on']) return entry;
    return this.end(entry, event, 'error');
  }

  on_thread_error(event) {
    const held = this.held.get(event.thread); // the same error, of which only that was known
    this.held.delete(event.thread);
    const entry = Object.assign(held || this.add(event, {}), {kind: 'thread', errors: [event], thread: event.thread});
    this.noteError(event, entry);
    return entry;
  }

  noteError(event, entry) {
    this.errors.set(event.error, event);
    this.entryOf.set(event.error, entry);
  }

  /* setEnterable(numbers): the errors that can be entered now. */
  setEnterable(numbers) {
    const before = this.enterable;
    this.enterable = new Set(numbers);
    for (const number of [...before, ...numbers]) {
      const entry = before.has(number) !== this.enterable.has(number) && this.entryOf.get(number);
      if (entry) entry.version++;
    }
  }

  end(entry, event, state) {
    Object.assign(entry, {state, elapsed: event.elapsed, progress: null});
    if (this.running === entry) this.running = null;
    const number = event.evaluation ?? entry.number;
    if (this.question?.evaluation === number) this.question = null;
    if (number !== undefined && !entry.inFrame && number !== this.state) {
      this.states.set(number, {evaluation: number, parent: this.state, entry, time: event.time});
      this.state = number;
    }
    return entry;
  }

  on_warning(event) {
    const entry = this.owner(event);
    entry.warnings.push(event);
    return entry;
  }

  on_definition(event) {
    const entry = this.owner(event);
    entry.definitions.push(event);
    return entry;
  }

  on_job(event) {
    const entry = this.owner(event);
    entry.isDetached = true;
    return entry;
  }

  on_progress(event) {
    const entry = this.owner(event);
    entry.progress = event;
    return entry;
  }

  on_question(event) {
    this.question = {number: event.question, prompt: event.prompt, evaluation: event.evaluation};
    return this.owner(event);
  }

  on_death(event) {
    this.question = null;
    return this.note(event, event.text);
  }

  /* mark(ranges): strike out exactly the evaluations in the ranges [[from, to]…]. Gives those that were not struck out before. */
  mark(ranges) {
    const fresh = [];
    for (const [number, entry] of this.byEvaluation) {
      const isUndone = ranges.some(([from, to]) => from <= number && number <= to);
      if (isUndone === Boolean(entry.isUndone)) continue;
      entry.isUndone = isUndone;
      entry.version++;
      if (isUndone) fresh.push(number);
    }
    return fresh;
  }

  goTo(event) {
    this.running = null;
    if (typeof event.to === 'number') {
      if (!this.states.has(event.to)) this.states.set(event.to, {evaluation: event.to, parent: null, entry: null});
      this.state = event.to;
    }
    return this.mark(event.undone || []);
  }

  on_rollback(event) {
    return this.note(event, `Returned to the state after evaluation ${event.to}`, {undone: this.goTo(event)});
  }

  on_restore(event) {
    return this.note(event, event.text, {undone: this.goTo(event)});
  }

  on_recovery(event) {
    return this.note(event, event.text, {undone: this.goTo(event)});
  }

  on_checkpoint(event) {
    return this.note(event, `The state after evaluation ${event.evaluation ?? this.state} is saved as ${event.name}`);
  }

  on_reset(event) {
    this.byEvaluation.clear();
    this.states = new Map([[0, {evaluation: 0, parent: null, entry: null}]]);
    this.state = 0;
    this.running = null;
    return this.note(event, event.text || 'The session was reset');
  }

  on_person(event) {
    if (/^The person answered/.test(event.text)) this.question = null;
    const entry = this.note(event, event.text, {did: event.did, code: event.code ?? null, codeBytes: event['code-bytes']});
    if (event.thread) this.held.set(event.thread, entry);
    return entry;
  }
}

/* who(author): the author of an event in words. */
export function who(author) {
  if (!author) return '';
  if (author.kind === 'person') return 'The person';
  return author.kind === 'image' ? author.name || 'The image' : author.name || 'The agent';
}
