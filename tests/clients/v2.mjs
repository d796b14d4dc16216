// The official TypeScript client, second generation.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run } from './run.mjs';

const [mode, ...target] = process.argv.slice(2);
const isModern = (client) => client.getProtocolEra() === 'modern';
await run({
  target,
  make: (options) =>
    new Client(
      { name: 'v2', version: '0' },
      { ...options, versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode, probe: { timeoutMs: 20000 } } },
    ),
  http: (url, options) => new StreamableHTTPClientTransport(url, options),
  stdio: (options) => new StdioClientTransport(options),
  schemas: { elicit: 'elicitation/create', log: 'notifications/message', updated: 'notifications/resources/updated' },
  callTool: (client) => (name, given, options) => client.callTool({ name, arguments: given }, options),
  connected: (client) => {
    const [era, expected] = [client.getProtocolEra(), mode === 'legacy' ? 'legacy' : 'modern'];
    console.log(era === expected ? `ok - the era is ${era}` : `not ok - the era is ${era}, not ${expected}`);
    return era === expected;
  },
  isModern,
});
