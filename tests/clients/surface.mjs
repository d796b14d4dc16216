// What an official client of either generation must find beside tools: resources, prompts, completion, and being told of changes.
import assert from 'node:assert/strict';

const LIMIT_MS = 20000 * Number(process.env.CL_MCP_TEST_STRETCH ?? 1);

// Things that arrive, and waiting for one of them.
export class News {
  #seen = [];
  #waiting = [];

  add(item) {
    this.#seen.push(item);
    this.#waiting = this.#waiting.filter(({ condition, resolve }) => !condition(item) || resolve(item));
  }

  // The first one, already here or to come, for which the condition holds.
  wait(what, condition = () => true) {
    const found = this.#seen.find(condition);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${what}: not within ${LIMIT_MS} ms`)), LIMIT_MS);
      this.#waiting.push({
        condition,
        resolve: (item) => {
          clearTimeout(timer);
          resolve(item);
        },
      });
    });
  }

  forget() {
    this.#seen = [];
  }

  get count() {
    return this.#seen.length;
  }
}

// listChanged for the client's options; the lists come as the client fetched them again.
export function listChangedTo(tools, resources) {
  const handler = (news) => ({ onChanged: (error, items) => news.add(error ? { error } : { items }) });
  return { tools: handler(tools), resources: handler(resources) };
}

// How a client subscribes to a resource; `onUpdated(handler)` registers for the notification.
export function subscribing(client, onUpdated, isModern) {
  return async (uri, news) => {
    onUpdated((params) => news.add(params));
    if (!isModern) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    }
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    return () => subscription.close();
  };
}

// `subscribe(uri, news)` resolves to a function that ends the subscription.
export async function runSurfaceChecks({ client, call, tools, resources, subscribe, logs }) {
  let failed = 0;
  const check = async (name, body) => {
    try {
      await body();
      console.log(`ok - ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`not ok - ${name}\n${error.stack}`);
    }
  };
  const read = async (uri) => (await client.readResource({ uri })).contents[0];

  await check('a new session changes the list of resources', async () => {
    resources.forget();
    await call('create-session', { name: 'surface' });
    const { items } = await resources.wait('the list of resources', ({ items }) => items?.some(({ uri }) => uri === 'lisp://session/surface/transcript'));
    assert.ok(items.some(({ uri }) => uri === 'lisp://guide'));
  });

  await check('resources and templates are listed and read', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate === 'lisp://symbol/{package}/{name}'));
    assert.match((await read('lisp://guide')).text, /evaluate-lisp/);
    assert.match((await read('lisp://session/surface/symbol/cl/car')).text, /COMMON-LISP/);
    await call('evaluate-lisp', { code: '(defun cube (x) (* x x x))', session: 'surface' });
    assert.match((await read('lisp://session/surface/transcript')).text, /\(defun cube/);
    assert.match((await read('lisp://session/surface/definitions')).text, /CUBE/);
  });

  await check('a resource that is not there is an error', async () => {
    for (const uri of ['lisp://nothing', 'lisp://session/nobody/transcript', 'lisp://symbol/cl/no-such-symbol-here']) {
      await assert.rejects(client.readResource({ uri }), (error) => error.code === -32002 || error.code === -32602);
    }
  });

  await check('a subscribed resource is told of until it is not subscribed any more', async () => {
    const news = new News();
    const end = await subscribe('lisp://session/surface/last-error', news);
    await call('evaluate-lisp', { code: '(error "for the client")', session: 'surface' });
    await news.wait('the update of the last error', ({ uri }) => uri === 'lisp://session/surface/last-error');
    assert.match((await read('lisp://session/surface/last-error')).text, /for the client/);
    await end();
    news.forget();
    await call('evaluate-lisp', { code: '1', session: 'surface' });
    await call('list-sessions', {});
    assert.equal(news.count, 0);
  });

  await check('a tool that the session defines is listed, called, and gone when it is removed', async () => {
    tools.forget();
    await call('evaluate-lisp', { code: '(cl-mcp:define-tool greet ((name string "Whom")) "Greets." (format nil "Hello, ~a." name))' });
    const { items } = await tools.wait('the list of tools', ({ items }) => items?.some(({ name }) => name === 'user-greet'));
    assert.deepEqual(items.find(({ name }) => name === 'user-greet').inputSchema.required, ['name']);
    assert.equal((await call('user-greet', { name: 'client' })).content[0].text, 'Hello, client.');
    tools.forget();
    await call('evaluate-lisp', { code: "(cl-mcp:remove-tool 'greet)" });
    await tools.wait('the list without it', ({ items }) => items && !items.some(({ name }) => name === 'user-greet'));
  });

  await check('prompts are listed and filled in', async () => {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map(({ name }) => name), ['debug-last-error', 'explore-system', 'write-and-test', 'profile-hotspot']);
    for (const { name, arguments: wanted } of prompts) {
      const given = Object.fromEntries(wanted.map((argument) => [argument.name, `<${argument.name}>`]));
      const { messages } = await client.getPrompt({ name, arguments: given });
      assert.equal(messages[0].role, 'user');
      for (const value of Object.values(given)) assert.ok(messages[0].content.text.includes(value), `${name}: ${value}`);
    }
    await assert.rejects(client.getPrompt({ name: 'explore-system', arguments: {} }), (error) => error.code === -32602);
  });

  await check('names are completed', async () => {
    const values = async (ref, name, value, given = {}) =>
      (await client.complete({ ref, argument: { name, value }, context: { arguments: given } })).completion;
    const symbol = { type: 'ref/resource', uri: 'lisp://symbol/{package}/{name}' };
    assert.deepEqual((await values(symbol, 'name', 'multiple-value-c', { package: 'cl' })).values, ['multiple-value-call']);
    assert.ok((await values(symbol, 'package', 'cl-m')).values.includes('cl-mcp'));
    const all = await values(symbol, 'name', '', { package: 'cl' });
    assert.equal(all.values.length, 100);
    assert.equal(all.total, 978);
    assert.equal(all.hasMore, true);
    assert.ok((await values({ type: 'ref/prompt', name: 'explore-system' }, 'system', 'asd')).values.includes('asdf'));
    assert.deepEqual((await values({ type: 'ref/prompt', name: 'debug-last-error' }, 'session', 'surf')).values, ['surface']);
  });

  if (logs) {
    await check('the log is told from the level on that was set', async () => {
      await client.setLoggingLevel('debug');
      await call('evaluate-lisp', { code: '1', session: 'surface' });
      await logs.wait('a line of the log', ({ data }) => data.includes('surface'));
      await client.setLoggingLevel('error');
    });
  }

  return failed;
}
