// What an official client of either generation must be able to do; the caller brings a connected client and how it calls tools.
import assert from 'node:assert/strict';

const textOf = (result) => result.content.map((block) => block.text ?? '').join('\n');

// Both generations reject with an error that has the JSON-RPC code.
async function rejection(promise) {
  try {
    const value = await promise;
    return { value };
  } catch (error) {
    return { error };
  }
}

export async function runChecks({ client, call, listTools, asks }) {
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

  await check('the tools are listed', async () => {
    const names = (await listTools()).map((tool) => tool.name);
    for (const name of ['evaluate-lisp', 'list-errors', 'get-backtrace', 'reset-session']) assert.ok(names.includes(name), name);
  });

  await check('the server says its name and version', () => {
    assert.equal(client.getServerVersion().name, 'cl-mcp-server');
    assert.ok(client.getServerCapabilities().tools);
  });

  await check('a tool is called and its result is the report', async () => {
    const result = await call('evaluate-lisp', { code: '(format t "hello~%") (values (+ 1 2) :two)' });
    assert.ok(!result.isError);
    assert.equal(textOf(result), '[stdout]\nhello\n\n=> 3\n=> :TWO');
  });

  await check('the session lasts from call to call', async () => {
    await call('evaluate-lisp', { code: '(defun square (x) (* x x))' });
    assert.equal(textOf(await call('evaluate-lisp', { code: '(square 12)' })), '=> 144');
  });

  await check('an error of the evaluated code is a result', async () => {
    const result = await call('evaluate-lisp', { code: '(/ 1 0)' });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /^\[ERROR\] DIVISION-BY-ZERO\n/);
    assert.match(textOf(await call('list-errors', { index: 0 })), /^Error: DIVISION-BY-ZERO\n/);
  });

  await check('an unknown tool is rejected with -32602', async () => {
    const { error, value } = await rejection(call('no-such-tool', {}));
    assert.ok(error, `not rejected: ${JSON.stringify(value)}`);
    assert.equal(error.code, -32602);
    assert.match(error.message, /no-such-tool/);
  });

  await check('wrong arguments are a result that names the argument', async () => {
    const result = await call('evaluate-lisp', { coed: '1' });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /coed/);
  });

  if (asks)
    await check('a line that the code reads is asked for', async () => {
      const result = await call('evaluate-lisp', { code: '(progn (format t "Say: please") (list (read-line) (read-line *query-io*)))' });
      assert.match(textOf(result), /=> \("please" "please"\)/);
    });

  await check('progress arrives while a call runs', async () => {
    const seen = [];
    const result = await call('evaluate-lisp', { code: '(progn (sleep 3.2) :done)' }, { onprogress: (p) => seen.push(p.progress) });
    assert.equal(textOf(result), '=> :DONE');
    assert.ok(seen.length >= 1, 'no progress');
    for (let i = 1; i < seen.length; i += 1) assert.ok(seen[i] > seen[i - 1], `progress does not grow: ${seen}`);
  });

  await check('a call that the client aborts is stopped, and the next one is served', async () => {
    const controller = new AbortController();
    const pending = rejection(call('evaluate-lisp', { code: '(loop)', timeout: 60 }, { signal: controller.signal }));
    await listTools(); // answered while the evaluation runs: it has been read
    controller.abort('enough');
    const { error } = await pending;
    assert.ok(error);
    const started = Date.now();
    assert.equal(textOf(await call('evaluate-lisp', { code: '(+ 20 22)' })), '=> 42');
    assert.ok(Date.now() - started < 10000);
  });

  await check('calls are served side by side in sessions of their own', async () => {
    await call('create-session', { name: 'aside' });
    const results = await Promise.all([
      call('evaluate-lisp', { code: '(progn (sleep 0.3) :slow)' }),
      call('evaluate-lisp', { code: ':quick', session: 'aside' }),
    ]);
    assert.deepEqual(results.map(textOf), ['=> :SLOW', '=> :QUICK']);
  });

  return failed;
}
