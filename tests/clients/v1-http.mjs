// The official TypeScript client over HTTP, first generation: node v1-http.mjs URL [TOKEN]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answered, runChecks } from './checks.mjs';
import { listChangedTo, News, runSurfaceChecks, subscribing } from './surface.mjs';

const [url, token] = process.argv.slice(2);
const [tools, resources] = [new News(), new News()];
const client = new Client({ name: 'v1', version: '0' }, { capabilities: { elicitation: {} }, listChanged: listChangedTo(tools, resources) });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: token ? { headers: { Authorization: `Bearer ${token}` } } : undefined,
});
let strays = 0;
client.onerror = (error) => {
  strays += 1;
  console.log(`client error: ${error.message}`);
};
client.setRequestHandler(ElicitRequestSchema, ({ params }) => answered(params));
await client.connect(transport);
console.log(transport.sessionId ? 'ok - there is a session' : 'not ok - there is a session');
const call = (name, given, options) => client.callTool({ name, arguments: given }, undefined, options);
let failed = await runSurfaceChecks({
  client,
  call,
  tools,
  resources,
  subscribe: subscribing(client, (handler) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => handler(params))),
});
// Last, because a call is aborted there: the second generation takes the end of its stream for a lost connection and opens one more GET
// stream a little later, for which the server gives up the one before; the client then reports an error.
failed += await runChecks({ client, call, asks: true, listTools: async () => (await client.listTools()).tools });
await client.ping();
const seen = strays;
await transport.terminateSession();
await client.close();
console.log(seen ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
process.exit(failed || seen || !transport ? 1 : 0);
