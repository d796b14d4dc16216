// What the tests of the page need: an agent with a server on standard input and output, the view, a browser.
// The environment of whoever starts this says which program, and where sockets may be.

import {spawn} from 'node:child_process';
import net from 'node:net';
import {createInterface} from 'node:readline';
import puppeteer from 'puppeteer-core';

const program = process.env.CL_MCP_SERVER;
const stretch = Number(process.env.CL_MCP_TEST_STRETCH || 1);
export const patience = 20000 * stretch; // ms to wait for anything

/* An agent: the client of one server on standard input and output. */
export class Agent {
  constructor(name, directory, ...options) {
    this.process = spawn(program, ['--no-userinit', '--tools', 'full', ...options], {stdio: ['pipe', 'pipe', 'ignore'], cwd: directory});
    this.waiting = new Map();
    this.id = 0;
    createInterface({input: this.process.stdout}).on('line', (line) => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    });
    this.ready = this.request('initialize', {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name, version: '1'}})
      .then(() => this.send({jsonrpc: '2.0', method: 'notifications/initialized'}));
  }

  send(message) {
    this.process.stdin.write(`${JSON.stringify(message)}\n`);
  }

  request(method, params) {
    const id = ++this.id;
    this.send({jsonrpc: '2.0', id, method, params});
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  /* call(tool, args): the text of the reply; args may be only the code. */
  async call(tool, args) {
    const {result, error} = await this.request('tools/call', {name: tool, arguments: typeof args === 'string' ? {code: args} : args});
    return error ? error.message : result.content.map((part) => part.text).join('\n\n');
  }

  evaluate(code) {
    return this.call('evaluate-lisp', code);
  }

  end(signal) {
    const hasEnded = this.process.exitCode !== null || this.process.signalCode !== null;
    const ended = hasEnded ? null : new Promise((resolve) => this.process.once('exit', resolve));
    if (signal) this.process.kill(signal);
    else this.process.stdin.end();
    return ended;
  }
}

/* A person at an image with Swank, as an editor is: it evaluates, and errors open in its debugger. */
export class Editor {
  constructor(port) {
    this.socket = net.connect(port, '127.0.0.1');
    this.text = '';
    this.socket.setEncoding('latin1').on('data', (text) => {
      this.text += text;
      this.look?.();
    });
    this.number = 0;
  }

  /* evaluate(code): until it has ended, or until its error stands in the debugger. */
  evaluate(code) {
    const number = ++this.number;
    const message = `(:emacs-rex (swank:interactive-eval ${JSON.stringify(code)}) "COMMON-LISP-USER" t ${number})`;
    const ended = new Promise((resolve) => {
      this.look = () => (this.text.includes(` ${number})`) || this.text.includes('(:debug-activate')) && resolve();
    });
    this.text = '';
    this.socket.write(`${message.length.toString(16).padStart(6, '0')}${message}`);
    return ended;
  }

  end() {
    this.socket.destroy();
  }
}

/* The program `view`: its link is the first line that it prints. */
export async function startView(...options) {
  const view = spawn(program, ['view', '--no-open', ...options], {stdio: ['ignore', 'pipe', 'inherit']});
  const link = await new Promise((resolve, reject) => {
    createInterface({input: view.stdout}).once('line', resolve);
    view.once('exit', (status) => reject(new Error(`view ended with ${status}`)));
  });
  return {link, end: () => new Promise((resolve) => {
    if (view.exitCode !== null || view.signalCode !== null) resolve();
    view.once('exit', resolve);
    view.kill('SIGINT');
  })};
}

export const startBrowser = (name = 'chrome') => puppeteer.launch(name === 'firefox'
  ? {browser: name, executablePath: process.env.FIREFOX || '/usr/bin/firefox-esr', headless: true}
  : {executablePath: process.env.CHROMIUM || '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update', '--no-first-run']});

/* openPage(browser, link, problems): a tab with the page; what it must not do is added to problems. */
export async function openPage(browser, link, problems) {
  const tab = await browser.newPage();
  const origin = new URL(link).origin;
  tab.setDefaultTimeout(patience);
  tab.on('console', (message) => problems.push(`console: ${message.text()}`));
  tab.on('pageerror', (error) => problems.push(`error: ${error.stack || error}`));
  tab.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(blob|data):/.test(url)) problems.push(`request outside: ${url}`);
  });
  await tab.setViewport({width: 1440, height: 900});
  await tab.goto(link);
  return tab;
}
