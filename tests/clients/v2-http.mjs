// The official TypeScript client over HTTP, second generation: node v2-http.mjs legacy|auto|pin URL [TOKEN]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { runChecks } from './checks.mjs';

const [mode, url, token] = process.argv.slice(2);
const client = new Client(
  { name: 'v2', version: '0' },
  {
    versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode, probe: { timeoutMs: 20000 } },
    capabilities: {},
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
await client.connect(transport);
const era = client.getProtocolEra();
const expected = mode === 'legacy' ? 'legacy' : 'modern';
console.log(era === expected ? `ok - the era is ${era}` : `not ok - the era is ${era}, not ${expected}`);
const failed = await runChecks({
  client,
  call: (name, given, options) => client.callTool({ name, arguments: given }, options),
  listTools: async () => (await client.listTools()).tools,
});
const seen = strays;
if (era === 'legacy') await transport.terminateSession();
await client.close();
console.log(seen ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
process.exit(failed || seen || era !== expected ? 1 : 0);
