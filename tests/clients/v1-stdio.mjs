// The official TypeScript client, first generation: node v1-stdio.mjs PROGRAM ARGUMENT...
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answered, runChecks } from './checks.mjs';
import { listChangedTo, News, runSurfaceChecks, subscribing } from './surface.mjs';

const [command, ...args] = process.argv.slice(2);
const [tools, resources, logs] = [new News(), new News(), new News()];
const client = new Client({ name: 'v1', version: '0' }, { capabilities: { elicitation: {} }, listChanged: listChangedTo(tools, resources) });
let strays = 0;
client.onerror = (error) => {
  // stray text on the server's stdout shows up here
  strays += 1;
  console.log(`client error: ${error.message}`);
};
client.setRequestHandler(ElicitRequestSchema, ({ params }) => answered(params));
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit', env: process.env }));
const call = (name, given, options) => client.callTool({ name, arguments: given }, undefined, options);
let failed = await runChecks({ client, call, asks: true, listTools: async () => (await client.listTools()).tools });
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => logs.add(params));
failed += await runSurfaceChecks({
  client,
  call,
  tools,
  resources,
  logs,
  subscribe: subscribing(client, (handler) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => handler(params))),
});
await client.ping();
await client.close();
console.log(strays ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
process.exit(failed || strays ? 1 : 0);
