// The official TypeScript client over HTTP, second generation: node v2-http.mjs legacy|auto|pin URL [TOKEN]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { answered, runChecks } from './checks.mjs';
import { listChangedTo, News, runSurfaceChecks, subscribing } from './surface.mjs';

const [mode, url, token] = process.argv.slice(2);
const [tools, resources] = [new News(), new News()];
const client = new Client(
  { name: 'v2', version: '0' },
  {
    versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode, probe: { timeoutMs: 20000 } },
    capabilities: { elicitation: {} },
    listChanged: listChangedTo(tools, resources),
  },
);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: token ? { headers: { Authorization: `Bearer ${token}` } } : undefined,
});
let strays = 0;
client.onerror = (error) => {
  strays += 1;
  console.log(`client error: ${error.message}`);
};
client.setRequestHandler('elicitation/create', ({ params }) => answered(params));
await client.connect(transport);
const era = client.getProtocolEra();
const expected = mode === 'legacy' ? 'legacy' : 'modern';
console.log(era === expected ? `ok - the era is ${era}` : `not ok - the era is ${era}, not ${expected}`);
const call = (name, given, options) => client.callTool({ name, arguments: given }, options);
let failed = await runSurfaceChecks({
  client,
  call,
  tools,
  resources,
  subscribe: subscribing(client, (handler) => client.setNotificationHandler('notifications/resources/updated', ({ params }) => handler(params)), era === 'modern'),
});
// Last, because a call is aborted there: the second generation takes the end of its stream for a lost connection and opens one more GET
// stream a little later, for which the server gives up the one before; the client then reports an error.
failed += await runChecks({ client, call, asks: true, listTools: async () => (await client.listTools()).tools });
const seen = strays;
if (era === 'legacy') await transport.terminateSession();
await client.close();
console.log(seen ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
process.exit(failed || seen || era !== expected ? 1 : 0);
