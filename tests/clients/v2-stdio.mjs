// The official TypeScript client, second generation: node v2-stdio.mjs legacy|auto|pin PROGRAM ARGUMENT...
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { runChecks } from './checks.mjs';

const [mode, command, ...args] = process.argv.slice(2);
const client = new Client(
  { name: 'v2', version: '0' },
  {
    versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode, probe: { timeoutMs: 20000 } },
    capabilities: {},
  },
);
let strays = 0;
client.onerror = (error) => {
  strays += 1;
  console.log(`client error: ${error.message}`);
};
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit', env: process.env }));
const era = client.getProtocolEra();
const expected = mode === 'legacy' ? 'legacy' : 'modern';
console.log(era === expected ? `ok - the era is ${era}` : `not ok - the era is ${era}, not ${expected}`);
const failed = await runChecks({
  client,
  call: (name, given, options) => client.callTool({ name, arguments: given }, options),
  listTools: async () => (await client.listTools()).tools,
});
await client.close();
console.log(strays ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
process.exit(failed || strays || era !== expected ? 1 : 0);
