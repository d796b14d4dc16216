// The inspector: the parts of an object, the path to it, the way back; numbers as a plot, rows as a table, an image, a class's tree.

import {byId, make, button, textBlock, printable, short, count} from './dom.js';
import {paint, elements} from './lisp.js';
import {plot} from './plots.js';

const painted = (text) => paint(text, printable);
const page = 50; // parts
const mostBytes = 262144; // of an image

export class Inspector {
  constructor(app) {
    this.app = app;
    this.path = []; // [{name, args, offset}]; args is null for an object that is known to be gone
    byId('inspector-close').addEventListener('click', () => this.close());
    byId('inspector-back').addEventListener('click', () => this.back());
  }

  /*
   * open(args, name, again): show what inspect-object gives for the arguments, as the beginning of a path.
   * again    {code, package}, which makes such an object anew, if the person wants it; null: nothing does
   */
  open(args, name, again = null) {
    this.cameFrom = document.activeElement;
    this.path = [];
    return this.go({name, args, again, offset: 0});
  }

  close() {
    byId('inspector').hidden = true;
    document.body.classList.remove('inspects');
    if (this.cameFrom?.isConnected) this.cameFrom.focus();
    else byId('transcript').focus();
  }

  back() {
    if (this.path.length < 2) return;
    this.path.pop();
    this.show(this.path.at(-1));
  }

  go(step) {
    this.path.push(step);
    return this.show(step);
  }

  async show(step) {
    byId('inspector').hidden = false;
    document.body.classList.add('inspects');
    byId('inspector-back').disabled = this.path.length < 2;
    byId('inspector-path').replaceChildren(...this.path.map((one, i) => make('li', {}, i === this.path.length - 1
      ? make('span', {'aria-current': 'location', text: short(one.name, 40)})
      : button(short(one.name, 40), () => {
        this.path.length = i + 1;
        this.show(one);
      }, {class: 'small'}))));
    const content = byId('inspector-content');
    content.replaceChildren(make('p', {class: 'quiet', role: 'status', text: 'Reading the object…'}));
    byId('inspector-title').focus();
    const reply = step.args ? await this.app.look('inspect-object', {...step.args, offset: step.offset, limit: page}) : {data: {}};
    if (this.path.at(-1) !== step) return;
    const found = reply.data.parts !== undefined && objectOf(reply.data);
    if (!step.args || reply.data.absent === 'value') {
      content.replaceChildren(make('p', {class: 'plain', text: 'This value is no longer kept: nothing in the session refers to it.'}), this.makeAnew(step));
      return;
    }
    if (!found) {
      content.replaceChildren(textBlock(reply.text, {class: reply.isError ? 'problem plain' : 'plain'}));
      return;
    }
    // A handle stays, so code is evaluated once; in a copy of the process the path to the object stays.
    if (!found.isFleeting) step.args = {handle: found.handle};
    content.replaceChildren(...this.object(found, step));
  }

  makeAnew({again, name}) {
    return again && make('div', {class: 'acts'}, make('p', {text: 'Its code can be evaluated again, with all its effects:'}), textBlock(again.code, {class: 'code'}, painted),
      button('Evaluate again and inspect', () => {
        this.path = [];
        this.go({name: `${name}, evaluated again`, args: again, offset: 0});
      }));
  }

  /* argumentsOf(step, path): the arguments for a part. */
  argumentsOf(step, path) {
    return {...step.args, path: [step.args.path, path].filter(Boolean).join(', ')};
  }

  object(found, step) {
    const fact = (name) => (found.facts.find(([key]) => key === name) || [])[1];
    const nodes = [textBlock(found.title, {class: 'code'}, painted),
      make('dl', {class: 'facts'}, found.facts.flatMap(([name, value]) => [make('dt', {text: printable(name)}), make('dd', {text: short(value, 200)})]))];
    const kind = fact('Kind');
    const isBytes = /UNSIGNED-BYTE 8/.test(fact('Element type') || '');
    if (kind === 'class') nodes.push(this.classTree(found, step));
    if (isBytes && isImage(found.parts.slice(0, 12).map((part) => Number(part.value)))) nodes.push(this.image(found, step));
    const numbers = found.parts.map((part) => toNumber(part.value));
    const isSequence = kind === 'list' || kind === 'vector';
    if (isSequence && !isBytes && numbers.length > 1 && numbers.every((one) => one !== null)) {
      nodes.push(make('figure', {}, plot(numbers, {name: `Plot of ${numbers.length} numbers`, height: 90}), make('figcaption', {class: 'quiet',
        text: `${numbers.length} numbers from ${Math.min(...numbers)} to ${Math.max(...numbers)}`})));
    }
    const rows = isSequence && found.parts.length > 1 ? found.parts.map((part) => elements(part.value)) : [null];
    if (rows.every((row) => row && row.length > 1 && row.length <= 30)) nodes.push(this.table(rows, found, step));
    else if (found.parts.length) nodes.push(this.parts(found, step));
    nodes.push(this.pages(found, step));
    return nodes;
  }

  parts(found, step) {
    return make('table', {class: 'parts'}, make('caption', {class: 'hidden', text: 'Parts'}), make('tbody', {}, found.parts.map((part) => make('tr', {},
      make('th', {scope: 'row', class: part.name.length < 20 && 'short', text: short(part.name, 80)}), make('td', {}, this.opens(part, found, step), textBlock(part.value, {}, painted))))));
  }

  opens(part, found, step) {
    return part.handle ? button('Inspect', () => this.go({name: part.name, args: found.isFleeting ? this.argumentsOf(step, part.name) : {handle: part.handle}, offset: 0}),
      {class: 'small', 'aria-label': `Inspect the part ${short(part.name, 40)} of ${short(step.name, 40)}`}) : '';
  }

  table(rows, found, step) {
    const width = Math.max(...rows.map((row) => row.length));
    return make('div', {class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': 'Rows'}, make('table', {class: 'rows'}, make('caption', {class: 'hidden', text: 'Rows'}),
      make('thead', {}, make('tr', {}, make('th', {scope: 'col', text: 'Row'}), Array.from({length: width}, (_, i) => make('th', {scope: 'col', text: String(i)})), make('td', {}))),
      make('tbody', {}, rows.map((row, r) => make('tr', {}, make('th', {scope: 'row', text: printable(found.parts[r].name)}),
        Array.from({length: width}, (_, i) => make('td', {}, make('code', {text: short(row[i] ?? '', 60)}))), make('td', {}, this.opens(found.parts[r], found, step)))))));
  }

  pages(found, step) {
    const end = found.from + found.parts.length;
    if (found.total <= found.parts.length) return '';
    const turn = (offset) => {
      step.offset = offset;
      this.show(step);
    };
    return make('div', {class: 'row'}, make('span', {class: 'quiet', text: `${found.from} to ${end - 1} of ${found.total === Infinity ? 'very many' : found.total.toLocaleString('en')}`}),
      found.from > 0 && button('Previous parts', () => turn(Math.max(0, found.from - page))), end < found.total && button('Next parts', () => turn(end)));
  }

  classTree(found, step) {
    const names = (part) => [...((found.parts.find((one) => one.name === part) || {}).value || '').matchAll(/#<\S+ ([^\s>]+)>/g)].map((match) => match[1]);
    const own = (found.facts.find(([name]) => name === 'Name') || [])[1] || 'this class';
    const node = (part, i, name) => button(printable(name), () => this.go({name, args: this.argumentsOf(step, `${part}, [${i}]`), offset: 0}), {class: 'small'});
    const precedence = names('PRECEDENCE-LIST').map((name, i) => node('PRECEDENCE-LIST', i, name)).slice(1);
    const item = (name, children) => make('li', {}, name, children.length > 0 && make('ul', {}, children));
    const below = item(make('strong', {text: printable(own)}), names('DIRECT-SUBCLASSES').slice(0, 100).map((name, i) => item(node('DIRECT-SUBCLASSES', i, name), [])));
    return make('div', {class: 'tree', role: 'group', 'aria-label': 'Class tree'},
      make('ul', {}, precedence.reverse().reduceRight((inner, one) => item(one, [inner]), below)));
  }

  image(found, step) {
    const text = make('p', {class: 'quiet', role: 'status', text: `An image of ${count(found.total, 'byte')}`});
    const figure = make('figure', {}, text);
    const read = async () => {
      const bytes = [];
      while (bytes.length < found.total && this.path.at(-1) === step) {
        const reply = await this.app.look('inspect-object', {...step.args, offset: bytes.length, limit: 500});
        const parts = reply.data.parts ? objectOf(reply.data).parts : [];
        if (parts.length === 0) return;
        parts.forEach((part) => bytes.push(Number(part.value)));
      }
      const address = URL.createObjectURL(new Blob([new Uint8Array(bytes)], {type: isImage(bytes)}));
      const picture = make('img', {src: address, alt: `A picture of ${count(bytes.length, 'byte')}`});
      picture.onload = picture.onerror = () => URL.revokeObjectURL(address);
      figure.prepend(picture);
    };
    if (found.total <= mostBytes) read();
    else text.textContent += ', too large to be shown here';
    return figure;
  }
}

function isImage(bytes) {
  const begins = (...start) => start.every((byte, i) => bytes[i] === byte);
  if (begins(0x89, 0x50, 0x4e, 0x47)) return 'image/png';
  if (begins(0xff, 0xd8, 0xff)) return 'image/jpeg';
  if (begins(0x47, 0x49, 0x46, 0x38)) return 'image/gif';
  return begins(0x52, 0x49, 0x46, 0x46) && bytes[8] === 0x57 ? 'image/webp' : '';
}

/* objectOf(data): {title, facts: [[name, value]], handle, parts: [{name, value, handle}], from, total} of what inspect-object gives;
 * isFleeting: the handles are not kept. */
function objectOf(data) {
  return {title: data.text, facts: [['Kind', data.kind], ['Class', data.class], ...(data.facts || [])], handle: data.handle,
    parts: (data.parts || []).map(([name, value, handle]) => ({name, value: value ?? 'unbound', handle})),
    from: data.from, total: data.total < 0 ? Infinity : data.total, isFleeting: data['is-fleeting']};
}

/* A Lisp number as a number of this page, or null. */
function toNumber(text) {
  const ratio = /^([+-]?\d+)\/(\d+)$/.exec(text);
  if (ratio) return Number(ratio[1]) / Number(ratio[2]);
  return /^[+-]?(\d+\.?|\d*\.\d+)([esfdl][+-]?\d+)?$/i.test(text) ? Number(text.replace(/[sfdl]/i, 'e').replace(/\.$/, '')) : null;
}
