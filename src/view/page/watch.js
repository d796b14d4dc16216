// Which servers run. The tabs of one browser share one stream: the tab that holds a lock keeps it open and tells the others.

import {messages} from './mcp.js';
import {enter, isView, secretly} from './secret.js';

const pause = 3000; // ms between attempts to reconnect

/* watchServers(onServers, onProblem): begin. onServers gets {servers, 'read-only'}; onProblem a sentence, or '' when it is over. */
export async function watchServers(onServers, onProblem) {
  // A server with --view serves the page itself, and is the only one.
  if (!isView) return onServers({servers: [{id: 'this', pid: '', client: location.host, directory: '', address: '/mcp', 'is-ended': false}], 'read-only': false});
  if (!await enter()) return onProblem('Open the link that cl-mcp-server view has printed. A link that has been used admits no other browser: start cl-mcp-server view again.');
  const others = new BroadcastChannel('servers');
  let latest = null;
  const take = (state) => {
    latest = state;
    onProblem('');
    onServers(state);
  };
  others.onmessage = ({data}) => {
    if (data === 'tell' && latest && isKeeper) others.postMessage(latest);
    else if (data?.servers) take(data);
    else if (typeof data?.problem === 'string') onProblem(data.problem);
  };
  let isKeeper = false;
  const keep = async () => { // never resolved: the lock is held until the tab closes
    for (isKeeper = true; ; await new Promise((resolve) => { setTimeout(resolve, pause); })) {
      try {
        const response = await fetch('/watch', {headers: secretly(), credentials: 'omit'});
        if (response.ok) for await (const state of messages(response)) {
          take(state);
          others.postMessage(latest);
        }
      } catch {} // the connection is lost
      const problem = 'The view itself does not answer: it has ended, or the machine slept. Start cl-mcp-server view again if this stays.';
      onProblem(problem);
      others.postMessage({problem});
    }
  };
  if (navigator.locks) {
    others.postMessage('tell');
    navigator.locks.request('watch', keep);
  } else keep();
}
