// The official TypeScript client, first generation.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from './run.mjs';

await run({
  target: process.argv.slice(2),
  make: (options) => new Client({ name: 'v1', version: '0' }, options),
  http: (url, options) => new StreamableHTTPClientTransport(url, options),
  stdio: (options) => new StdioClientTransport(options),
  schemas: { elicit: ElicitRequestSchema, log: LoggingMessageNotificationSchema, updated: ResourceUpdatedNotificationSchema },
  callTool: (client) => (name, given, options) => client.callTool({ name, arguments: given }, undefined, options),
  connected: (client, transport, isHttp) => {
    const isGood = !isHttp || Boolean(transport.sessionId);
    if (isHttp) console.log(isGood ? 'ok - there is a session' : 'not ok - there is a session');
    return isGood;
  },
});
