// The states that the session can return to, as a tree drawn in SVG, and what choosing one shows.

import {byId, make, svg, button, printable, short, count} from './dom.js';

const step = 30; // pixels between nodes
const lane = 22; // pixels between branches
const most = 60; // nodes

export class Checkpoints {
  constructor(app) {
    this.app = app;
    this.kept = [];
    this.chosen = null; // an evaluation's number
    byId('name-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const name = byId('checkpoint-name').value.trim();
      if (!name) return app.report('The checkpoint needs a name.', true);
      byId('checkpoint-name').value = '';
      app.act('checkpoint-session', {name});
    });
  }

  forget() {
    this.isChosen = false;
    this.show([]);
  }

  /* show(kept): draw the checkpoints of session-history. */
  show(kept) {
    this.kept = kept;
    this.draw();
  }

  /* The nodes: kept states, the present one, and where branches part; each with its nearest shown ancestor. */
  nodes() {
    const {model} = this.app;
    const states = model.states;
    const shown = new Map();
    const add = (evaluation) => {
      if (!shown.has(evaluation)) shown.set(evaluation, {evaluation, names: [], isKept: false, time: null});
      return shown.get(evaluation);
    };
    for (const one of this.kept) {
      const node = add(one.evaluation);
      node.isKept = true;
      node.time = one.time;
      node.hasFailed = node.hasFailed || one['has-failed'];
      if (one.name) node.names.push(one.name);
    }
    add(model.state).isCurrent = true;
    const children = new Map();
    for (const {evaluation, parent} of states.values()) {
      if (parent !== null) children.set(parent, [...(children.get(parent) || []), evaluation]);
    }
    for (const [parent, list] of children) {
      if (list.length < 2) continue;
      add(parent);
      list.forEach((child) => { add(child); });
    }
    const sorted = [...shown.values()].sort((a, b) => b.evaluation - a.evaluation).slice(0, most);
    const present = new Set(sorted.map((node) => node.evaluation));
    for (const node of sorted) {
      const seen = new Set();
      let parent = states.get(node.evaluation)?.parent ?? null;
      while (parent !== null && !present.has(parent) && !seen.has(parent)) {
        seen.add(parent);
        parent = states.get(parent)?.parent ?? null;
      }
      node.parent = present.has(parent) ? parent : null;
      if (!states.has(node.evaluation)) node.parent = sorted.find((other) => other.evaluation < node.evaluation)?.evaluation ?? null;
    }
    return sorted;
  }

  draw() {
    const nodes = this.nodes();
    const place = new Map();
    // The line to the present state is the first lane; every other branch gets the next one.
    const byNumber = new Map(nodes.map((node) => [node.evaluation, node]));
    for (let node = byNumber.get(this.app.model.state); node && node.lane === undefined; node = byNumber.get(node.parent)) node.lane = 0;
    let lanes = 1;
    nodes.forEach((node, i) => {
      if (node.lane === undefined) {
        const own = lanes++;
        for (let one = node; one && one.lane === undefined; one = byNumber.get(one.parent)) one.lane = own;
      }
      place.set(node.evaluation, {x: 12 + Math.min(node.lane, 6) * lane, y: 16 + i * step});
    });
    const textX = 12 + Math.min(lanes, 7) * lane;
    const lines = nodes.filter((node) => node.parent !== null).map((node) => {
      const from = place.get(node.parent);
      const to = place.get(node.evaluation);
      return svg('path', {class: node.lane === 0 ? 'line' : 'line aside', d: `M${from.x},${from.y} C${from.x},${from.y - step / 2} ${to.x},${from.y - step / 4} ${to.x},${Math.min(to.y, from.y - step / 2)} L${to.x},${to.y}`});
    });
    if (!this.isChosen || !nodes.some((node) => node.evaluation === this.chosen && node.isKept && !node.isCurrent)) {
      this.isChosen = false; // by default one step back
      this.chosen = nodes.find((node) => node.isKept && !node.isCurrent && node.lane === 0)?.evaluation ?? nodes.find((node) => node.isKept && !node.isCurrent)?.evaluation ?? null;
    }
    const focused = document.activeElement?.closest?.('.node')?.dataset.evaluation;
    const drawing = svg('svg', {class: 'checkpoints', width: '100%', height: nodes.length * step + 8, role: 'group', 'aria-label': 'Tree of checkpoints'}, lines, nodes.map((node) => this.node(node, place.get(node.evaluation), textX)));
    byId('checkpoint-tree').replaceChildren(drawing);
    if (focused) drawing.querySelector(`[data-evaluation="${Number(focused)}"]`)?.focus();
    this.detail(byNumber.get(this.chosen));
  }

  node(node, {x, y}, textX) {
    const choose = () => {
      this.chosen = node.evaluation;
      this.isChosen = true;
      this.draw();
    };
    const words = [node.evaluation === 0 ? 'start' : String(node.evaluation), ...node.names];
    const state = [node.isCurrent && 'now', node.hasFailed && 'failed', !node.isKept && !node.isCurrent && 'not kept'].filter(Boolean);
    const text = short(`${words.join(' ')}${state.length ? ` (${state.join(', ')})` : ''}`, 34);
    const canChoose = node.isKept && !node.isCurrent;
    return svg('g', {class: `node${node.isCurrent ? ' current' : ''}${node.isKept ? '' : ' lost'}${this.chosen === node.evaluation ? ' chosen' : ''}`, 'data-evaluation': node.evaluation,
      ...(canChoose ? {role: 'button', tabindex: 0, 'aria-pressed': String(this.chosen === node.evaluation), 'aria-label': `Checkpoint after evaluation ${text}`, click: choose, keydown: (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        choose();
      }} : {})},
    svg('rect', {class: 'hit', x: 0, y: y - step / 2 + 1, width: '100%', height: step - 2, rx: 4}),
    node.isCurrent ? svg('rect', {class: 'dot', x: x - 6, y: y - 6, width: 12, height: 12}) : svg('circle', {class: 'dot', cx: x, cy: y, r: 5}),
    svg('text', {x: textX, y: y + 4, text}));
  }

  detail(node) {
    const box = byId('checkpoint-detail');
    if (!node) return box.replaceChildren(make('p', {class: 'quiet', text: this.kept.length ? 'The session is in the only state that is kept.' : 'No state is kept yet.'}));
    const since = this.since(node.evaluation);
    box.replaceChildren(...[make('p', {}, make('strong', {text: printable(`After evaluation ${[node.evaluation, ...node.names].join(', ')}`)}), node.time && make('span', {class: 'quiet', text: ` ${node.time} UTC`})),
      make('p', {class: 'quiet', text: since.length ? 'Since then:' : 'Nothing was evaluated since then on the way to the present state.'}),
      make('ul', {class: 'plain-list since'}, since.slice(0, 8).map((entry) => make('li', {}, button(`${entry.number}: ${short(entry.code ?? '', 60)}`, () => this.app.goTo(entry), {class: 'link'})))),
      since.length > 8 && make('p', {class: 'quiet', text: `and ${since.length - 8} more`}),
      button('Return', () => this.goBack(node, since), {class: 'acts', 'aria-label': `Return to the state after evaluation ${node.evaluation}`})].filter(Boolean));
  }

  since(evaluation) {
    const found = [];
    let at = this.app.model.states.get(this.app.model.state);
    while (at && at.evaluation !== evaluation && at.parent !== null && found.length < 1000) {
      if (at.entry) found.push(at.entry);
      at = this.app.model.states.get(at.parent);
    }
    return at?.evaluation === evaluation ? found : [];
  }

  async goBack(node, since) {
    const what = since.length ? `This undoes ${count(since.length, 'evaluation')}:\n${since.slice(0, 10).map((entry) => `  ${entry.number}: ${short(entry.code ?? '', 60)}`).join('\n')}\n\n` : '';
    const text = `${what}Memory goes back; files, network traffic and other processes stay as they are.`;
    if (await this.app.ask(`Return to the state after evaluation ${node.evaluation}?`, text, `Return to evaluation ${node.evaluation}`)) {
      this.app.act('rollback-session', {to: String(node.evaluation)});
    }
  }
}
