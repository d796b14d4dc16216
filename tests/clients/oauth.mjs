// An official TypeScript client logs in: node oauth.mjs v1|legacy|auto|pin URL. It starts without a token, is led from the server to the
// identity provider, registers there, authorizes with PKCE and comes back with an access token. The person who would consent in a browser is
// one redirection here.
import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import * as v1http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1auth from '@modelcontextprotocol/sdk/client/auth.js';
import * as v2 from '@modelcontextprotocol/client';

const [mode, address] = process.argv.slice(2);
const isFirst = mode === 'v1';
const { StreamableHTTPClientTransport } = isFirst ? v1http : v2;
const { UnauthorizedError } = isFirst ? v1auth : v2;
const makeClient = () =>
  isFirst
    ? new v1.Client({ name: 'v1', version: '0' })
    : new v2.Client({ name: 'v2', version: '0' }, { versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode } });

const kept = {};
const authProvider = {
  redirectUrl: 'http://127.0.0.1:1/callback',
  clientMetadata: { client_name: 'test', redirect_uris: ['http://127.0.0.1:1/callback'], grant_types: ['authorization_code'], token_endpoint_auth_method: 'none' },
  state: () => 'the-state',
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
  redirectToAuthorization: async (url) => {
    const response = await fetch(url, { redirect: 'manual' });
    kept.callback = new URL(response.headers.get('location'));
  },
};

let failed = 0;
const check = (isGood, what) => {
  failed += isGood ? 0 : 1;
  console.log(`${isGood ? 'ok' : 'not ok'} - ${what}`);
};

const transport = () => new StreamableHTTPClientTransport(new URL(address), { authProvider });
const first = transport();
try {
  await makeClient().connect(first);
  check(false, 'the server refuses who has no token');
} catch (error) {
  check(error instanceof UnauthorizedError, `the server refuses who has no token (${error.message})`);
}
check(kept.callback?.searchParams.get('state') === 'the-state', 'the identity provider redirects to the client');
check(kept.tokens === undefined, 'there is no token yet');
const parameters = kept.callback.searchParams;
await first.finishAuth(isFirst ? parameters.get('code') : parameters);
check(kept.tokens?.token_type === 'Bearer', 'the identity provider has given a token');
const client = makeClient();
await client.connect(transport());
const { content } = await client.callTool({ name: 'evaluate-lisp', arguments: { code: '(* 6 7)' } });
check(content[0].text === '=> 42', `the token lets the client in (${content[0].text})`);
await client.close();
process.exit(failed ? 1 : 0);
