// A stand-in for `cl-mcp-server view` while it does not exist: serves the page and passes POSTs on to one real server.
// usage: node dev.mjs PORT SERVER-PORT
import http from 'node:http';
import fs from 'node:fs';
import path from 'node:path';
const [port, serverPort] = process.argv.slice(2).map(Number);
const page = path.resolve(import.meta.dirname, '../../src/view/page');
const types = {'.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript'};
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
http.createServer((request, response) => {
  const p = request.url.split('?')[0];
  if (p === '/watch') {
    response.writeHead(200, {'content-type': 'text/event-stream'});
    response.write('data: ' + JSON.stringify({servers: [{id: '4711', pid: 4711, client: 'claude-code', directory: '/home/ada/shop', started: new Date().toISOString(), 'is-ended': false}, {id: '9', pid: 9, client: 'codex', directory: '/home/ada/compiler', started: new Date().toISOString(), 'is-ended': true}], 'read-only': false}) + '\n\n');
    return;
  }
  if (request.method === 'POST') {
    const up = http.request({port: serverPort, host: '127.0.0.1', path: '/mcp', method: 'POST', headers: {...request.headers, host: `127.0.0.1:${serverPort}`, origin: `http://127.0.0.1:${serverPort}`}}, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    up.on('error', () => { if (!response.headersSent) response.writeHead(502, {'content-type': 'application/json'}); response.end('{"error":"gone"}'); });
    response.on('close', () => up.destroy());
    request.pipe(up);
    return;
  }
  const file = path.join(page, p === '/' ? 'index.html' : path.basename(p));
  if (!fs.existsSync(file)) { response.writeHead(404); response.end(); return; }
  response.writeHead(200, {'content-type': types[path.extname(file)], 'content-security-policy': csp});
  response.end(fs.readFileSync(file));
}).listen(port, '127.0.0.1');
