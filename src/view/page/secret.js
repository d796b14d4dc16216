// The view's secret, which each tab keeps for itself and sends as a header: no page of another origin can read or send it.
// The key in the link is exchanged for it, once; another tab of this page has it from the first.

const patience = 2000; // ms to wait for the other tabs
const others = new BroadcastChannel('secret');
const key = /^#key=([0-9a-f]+)$/.exec(location.hash)?.[1];
if (key) history.replaceState(null, '', '/');

/* isView: the page is that of `cl-mcp-server view`; otherwise it is that of a server with --view, which asks for tokens. */
export const isView = /^[0-9a-f]{32}\.localhost$/.test(location.hostname);

let secret = sessionStorage.getItem('secret');

others.addEventListener('message', ({data}) => {
  if (data === 'ask' && secret) others.postMessage({secret});
});

const askOthers = () => new Promise((resolve) => {
  others.addEventListener('message', ({data}) => data?.secret && resolve(data.secret));
  others.postMessage('ask');
  setTimeout(resolve, patience);
});

const askView = async () => {
  const response = await fetch('/secret', {headers: {'View-Key': key}, credentials: 'omit', cache: 'no-store'});
  return response.ok ? response.text() : null;
};

/* enter(): whether the view admits this tab. */
export async function enter() {
  secret ||= (key && await askView().catch(() => null)) || await askOthers();
  if (secret) sessionStorage.setItem('secret', secret);
  return Boolean(secret);
}

/* secretly(headers): they, and the secret. */
export const secretly = (headers = {}) => (secret ? {...headers, 'View-Secret': secret} : headers);
