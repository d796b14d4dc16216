// What the clients of both generations do with a server: node v1.mjs TARGET..., node v2.mjs legacy|auto|pin TARGET...
// TARGET is a URL, with a token if need be, or a program and its arguments.
import { runChecks } from './checks.mjs';
import { listChangedTo, News, runSurfaceChecks, subscribing } from './surface.mjs';

// The handler of elicitation/create: it types the question's last word.
const answered = ({ message }) => ({ action: 'accept', content: { line: message.split(' ').at(-1) } });

/*
 * make(options) makes a client, http() and stdio() its transport; schemas are the names of messages as the generation wants them;
 * connected(client, transport) prints and returns whether what the generation promises of the connection holds.
 */
export async function run({ target, make, http, stdio, schemas, callTool, connected, isModern = () => false }) {
  const isHttp = target[0].startsWith('http');
  const [tools, resources, logs] = [new News(), new News(), new News()];
  const client = make({ capabilities: { elicitation: {} }, listChanged: listChangedTo(tools, resources) });
  const [url, token] = target;
  const transport = isHttp
    ? http(new URL(url), { requestInit: token ? { headers: { Authorization: `Bearer ${token}` } } : undefined })
    : stdio({ command: target[0], args: target.slice(1), stderr: 'inherit', env: process.env });
  let strays = 0;
  client.onerror = (error) => {
    // stray text on the server's stdout shows up here
    strays += 1;
    console.log(`client error: ${error.message}`);
  };
  client.setRequestHandler(schemas.elicit, ({ params }) => answered(params));
  await client.connect(transport);
  const isGood = connected(client, transport, isHttp);
  const call = callTool(client);
  const checks = () => runChecks({ client, call, asks: true, listTools: async () => (await client.listTools()).tools });
  const surface = () => {
    // since 2026-07-28 a request asks for the log itself
    if (!isHttp) client.setNotificationHandler(schemas.log, ({ params }) => logs.add(params));
    return runSurfaceChecks({
      client,
      call,
      tools,
      resources,
      logs: isHttp || isModern(client) ? undefined : logs,
      subscribe: subscribing(client, (handler) => client.setNotificationHandler(schemas.updated, ({ params }) => handler(params)), isModern(client)),
    });
  };
  // Over HTTP last, because a call is aborted there: the second generation takes the end of its stream for a lost connection and opens one
  // more GET stream a little later, for which the server gives up the one before; the client then reports an error.
  let failed = isHttp ? await surface() : await checks();
  failed += isHttp ? await checks() : await surface();
  if (!isModern(client)) await client.ping();
  const seen = strays;
  if (isHttp && !isModern(client)) await transport.terminateSession();
  await client.close();
  console.log(seen ? 'not ok - the client saw no error of the transport' : 'ok - the client saw no error of the transport');
  process.exit(failed || seen || !isGood ? 1 : 0);
}
