// An MCP client of one server: each request is one POST of JSON-RPC (revision 2026-07-28), answered by JSON or by a stream of events.

import {secretly} from './secret.js';

const revision = '2026-07-28';
const prefix = 'io.modelcontextprotocol/';
const inHeader = (text) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?') ? text : `=?base64?${base64(text)}?=`;
const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

export class Lost extends Error {} // the server, or what passes requests on, does not answer
export class Refused extends Error {}

let lastId = 0;
export const tokens = new Map(); // by address: what the person typed, where a server asks for one

/*
 * request(address, method, params, options): the result of a request.
 * options  name: for the header Mcp-Name; session: for Mcp-Param-Session; signal; onMessage(message): what precedes the answer
 * Errors   Lost; Refused, with the server's message
 */
export async function request(address, method, params, {name, session, signal, onMessage} = {}) {
  const headers = {'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': revision, 'Mcp-Method': method};
  if (name !== undefined) headers['Mcp-Name'] = inHeader(name);
  if (session !== undefined) headers['Mcp-Param-Session'] = inHeader(session);
  if (tokens.has(address)) headers.Authorization = `Bearer ${tokens.get(address)}`;
  const body = JSON.stringify({jsonrpc: '2.0', id: ++lastId, method, params: {...params, _meta: {
    [`${prefix}protocolVersion`]: revision, [`${prefix}clientCapabilities`]: {},
    [`${prefix}clientInfo`]: {name: 'cl-mcp-server view', version: '1'}, 'cl-mcp-server/data': true}}});
  let response;
  let answer = null;
  try {
    response = await fetch(address, {method: 'POST', headers: secretly(headers), body, signal, credentials: 'omit'});
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      for await (const message of messages(response)) {
        if (message.id !== undefined && message.method === undefined) answer = message;
        else onMessage?.(message);
      }
    } else {
      answer = await response.json().catch(() => null);
    }
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Lost('The connection to the server is lost.');
  }
  if (response.status === 401) throw Object.assign(new Refused('The server asks for a token.'), {status: 401});
  if (answer?.error && answer.id === null && response.ok) throw new Lost(answer.error.message); // from what passes requests on
  if (answer?.error?.message) throw new Refused(answer.error.message);
  if (response.status === 403) throw new Refused('The view does not allow it: it was started for reading only, or the key has changed.');
  if (!answer?.result) throw new Lost(response.ok ? 'The connection to the server is lost.' : `The server answered with status ${response.status}.`);
  return answer.result;
}

/* messages(response): the data of each event of a stream. */
export async function* messages(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    text += value;
    let end;
    while ((end = text.indexOf('\n\n')) >= 0) {
      const data = text.slice(0, end).split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart()).join('\n');
      text = text.slice(end + 2);
      if (data) yield JSON.parse(data);
    }
  }
}

/* callTool(address, tool, args, options): {text, isError, data} of a tool call; data: the reply as data, {} if there is none. */
export async function callTool(address, tool, args, options = {}) {
  const result = await request(address, 'tools/call', {name: tool, arguments: args}, {...options, name: tool, session: args.session});
  return {text: (result.content || []).map((part) => part.text || '').join('\n\n'), isError: result.isError === true, data: result.structuredContent || {}};
}

/* readEvents(address, session, query): the events of a session, as the server gives them. */
export async function readEvents(address, session, query) {
  const uri = `lisp://session/${encodeURIComponent(session)}/events?${new URLSearchParams(query)}`;
  const result = await request(address, 'resources/read', {uri}, {name: uri});
  return JSON.parse(result.contents[0].text);
}

/* listen(address, sessions, answersQuestions, signal, onMessage): wait for notifications until the signal, or the server, ends it.
 * answersQuestions: whether code that reads input waits for this person. */
export function listen(address, sessions, answersQuestions, signal, onMessage) {
  const resourceSubscriptions = sessions.slice(0, 250).map((name) => `lisp://session/${encodeURIComponent(name)}/events`);
  return request(address, 'subscriptions/listen', {notifications: {resourcesListChanged: true, resourceSubscriptions}, ...(answersQuestions && {answersQuestions})}, {signal, onMessage});
}
