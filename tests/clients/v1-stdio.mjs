// The official TypeScript client, first generation: node v1-stdio.mjs PROGRAM ARGUMENT...
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { runChecks } from './checks.mjs';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'v1', version: '0' }, { capabilities: {} });
let strays = 0;
client.onerror = (error) => {
  // stray text on the server's stdout shows up here
  strays += 1;
  console.log(`client error: ${error.message}`);
};
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit', env: process.env }));
const failed = await runChecks({
  client,
  call: (name, given, options) => client.callTool({ name, arguments: given }, undefined, options),
  listTools: async () => (await client.listTools()).tools,
});
await client.ping();
await client.close();
console.log(strays ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
process.exit(failed || strays ? 1 : 0);
