// The official TypeScript client, second generation: node v2-stdio.mjs legacy|auto|pin PROGRAM ARGUMENT...
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answered, runChecks } from './checks.mjs';
import { listChangedTo, News, runSurfaceChecks, subscribing } from './surface.mjs';

const [mode, command, ...args] = process.argv.slice(2);
const [tools, resources, logs] = [new News(), new News(), new News()];
const client = new Client(
  { name: 'v2', version: '0' },
  {
    versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode, probe: { timeoutMs: 20000 } },
    capabilities: { elicitation: {} },
    listChanged: listChangedTo(tools, resources),
  },
);
let strays = 0;
client.onerror = (error) => {
  strays += 1;
  console.log(`client error: ${error.message}`);
};
client.setRequestHandler('elicitation/create', ({ params }) => answered(params));
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit', env: process.env }));
const era = client.getProtocolEra();
const expected = mode === 'legacy' ? 'legacy' : 'modern';
console.log(era === expected ? `ok - the era is ${era}` : `not ok - the era is ${era}, not ${expected}`);
const call = (name, given, options) => client.callTool({ name, arguments: given }, options);
let failed = await runChecks({ client, call, asks: true, listTools: async () => (await client.listTools()).tools });
client.setNotificationHandler('notifications/message', ({ params }) => logs.add(params));
failed += await runSurfaceChecks({
  client,
  call,
  tools,
  resources,
  logs: era === 'legacy' ? logs : undefined, // since 2026-07-28 a request asks for itself
  subscribe: subscribing(client, (handler) => client.setNotificationHandler('notifications/resources/updated', ({ params }) => handler(params)), era === 'modern'),
});
await client.close();
console.log(strays ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
process.exit(failed || strays || era !== expected ? 1 : 0);
