// What the person writes: a form to evaluate, and a remark for the agent.

import {byId, make, printable, short} from './dom.js';
import {balance} from './lisp.js';

export class Composer {
  constructor(app) {
    this.app = app;
    this.field = byId('code');
    this.shadow = byId('code-shadow');
    this.problem = byId('code-problem');
    this.history = [];
    this.at = 0;
    byId('evaluate-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.evaluate();
    });
    byId('stage-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.stage();
    });
    byId('answer-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.answer();
    });
    byId('stage-code').addEventListener('click', () => {
      byId('remark').value = `Look at this: ${this.field.value}`;
      byId('remark').focus();
    });
    this.field.addEventListener('keydown', (event) => this.key(event));
    for (const name of ['input', 'keyup', 'click', 'scroll', 'focus']) this.field.addEventListener(name, () => this.update(name));
    this.field.addEventListener('blur', () => this.update('blur'));
    byId('remark').addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.stage();
    });
  }

  key(event) {
    const {field} = this;
    if (event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      const isAtEnd = field.value.slice(field.selectionEnd).trim() === '';
      const check = balance(field.value);
      if (!event.ctrlKey && !event.metaKey && !(isAtEnd && (check.isWhole || check.isStray))) return;
      event.preventDefault();
      this.evaluate();
    } else if (event.key === 'ArrowUp' && (event.altKey || !field.value.slice(0, field.selectionStart).includes('\n'))) this.recall(event, -1);
    else if (event.key === 'ArrowDown' && (event.altKey || !field.value.slice(field.selectionEnd).includes('\n'))) this.recall(event, 1);
  }

  recall(event, by) {
    const to = this.at + by;
    if (to < 0 || to > this.history.length) return;
    event.preventDefault();
    if (this.at === this.history.length) this.draft = this.field.value;
    this.at = to;
    this.field.value = to === this.history.length ? this.draft : this.history[to];
    this.field.setSelectionRange(this.field.value.length, this.field.value.length);
    this.update('input');
  }

  /* Marks the parenthesis at the cursor and its partner, behind the text. */
  update(reason) {
    const {field, shadow} = this;
    if (reason === 'input') {
      this.problem.textContent = '';
      field.removeAttribute('aria-invalid');
      field.style.height = 'auto';
      field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight * 0.4)}px`;
    }
    if (field.value.length > 20000 || reason === 'blur') return shadow.replaceChildren();
    const {pairs} = balance(field.value);
    const cursor = field.selectionStart;
    const one = pairs.has(cursor - 1) ? cursor - 1 : pairs.has(cursor) ? cursor : null;
    const places = one === null ? [] : [one, pairs.get(one)].sort((a, b) => a - b);
    const nodes = [];
    let from = 0;
    for (const place of places) {
      nodes.push(field.value.slice(from, place), make('mark', {text: field.value[place]}));
      from = place + 1;
    }
    shadow.replaceChildren(...nodes, field.value.slice(from), '\n');
    shadow.scrollTop = field.scrollTop;
    shadow.style.height = field.style.height;
  }

  async evaluate() {
    const code = this.field.value;
    const check = balance(code);
    if (!check.isWhole || check.isEmpty) {
      this.problem.textContent = check.isEmpty ? 'There is no form to evaluate.' : `Not sent. ${printable(check.message)}`;
      this.field.setAttribute('aria-invalid', 'true');
      this.field.focus();
      return;
    }
    if (this.history.at(-1) !== code) this.history.push(code);
    this.at = this.history.length;
    this.draft = '';
    this.field.value = '';
    this.update('input');
    this.app.transcript.toEnd();
    const reply = await this.app.act('evaluate-lisp', {code, wait: 2}, true);
    if (reply.isLost && this.field.value === '') this.field.value = code;
  }

  async stage() {
    const field = byId('remark');
    const text = field.value.trim();
    if (!text) return this.app.report('There is no remark to stage.', true);
    field.value = '';
    const reply = await this.app.act('stage-remark', {text}, true);
    if (reply.isLost || reply.isError) {
      field.value = text;
      this.app.report(reply.text, true);
    } else this.app.report('Staged: the agent gets it with its next reply.');
  }

  async answer() {
    const {question} = this.app.model;
    if (!question) return;
    const text = byId('answer').value;
    byId('answer').value = '';
    await this.app.act('answer-question', {question: question.number, text});
  }

  /* showQuestion(question): the field for the answer, while the running code waits for one. */
  showQuestion(question) {
    byId('answer-form').hidden = !question;
    if (question) byId('answer-prompt').textContent = short(question.prompt || 'The code reads a line of input.', 300);
  }
}
