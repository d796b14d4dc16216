// Which servers run. The tabs of one browser share one stream: the tab that holds a lock keeps it open and tells the others.

/* watchServers(onServers, onProblem): begin. onServers gets {servers, 'read-only'}; onProblem a sentence, or '' when it is over. */
export function watchServers(onServers, onProblem) {
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
  const keep = () => new Promise(() => { // never resolved: the lock is held until the tab closes
    isKeeper = true;
    open();
  });
  const open = () => {
    const source = new EventSource('/watch');
    source.onmessage = ({data}) => {
      take(JSON.parse(data));
      others.postMessage(latest);
    };
    source.onerror = async () => {
      // A server with --view serves the page itself: it is the only one, and has no /watch.
      if (source.readyState === EventSource.CLOSED && !latest && (await fetch('/watch').catch(() => null))?.status === 404) {
        take({servers: [{id: 'this', pid: '', client: location.host, directory: '', address: '/mcp', 'is-ended': false}], 'read-only': false});
        others.postMessage(latest);
        return;
      }
      const problem = 'The view itself does not answer: it has ended, or the machine slept. Start cl-mcp-server view again if this stays.';
      onProblem(problem);
      others.postMessage({problem});
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(open, 3000);
    };
  };
  if (navigator.locks) {
    others.postMessage('tell');
    navigator.locks.request('watch', keep);
  } else keep();
}
