// Reads the replies of tools, which are text for agents: sessions, evaluations, checkpoints, threads, frames, objects.
// A line that it does not know it leaves out; what comes from the session's code is only ever taken as text.

const rows = (text, pattern, make) => text.split('\n').map((line) => pattern.exec(line)).filter(Boolean).map((found) => make(found.groups));

/* sessions(text): [{name, state, package, process, evaluations, errors, memory, image}] from session-info of all. */
export function sessions(text) {
  return rows(text, /^- (?<name>.+?): (?<facts>(?:[^,]*), .*)$/, ({name, facts}) => {
    const fact = (pattern) => (pattern.exec(facts) || [])[1];
    return {name, state: facts.split(',')[0], package: fact(/, package ([^,]+)/), process: fact(/, process (\d+)/),
      evaluations: Number(fact(/(\d+) evaluations?/) || 0), errors: Number(fact(/(\d+) errors?/) || 0), memory: fact(/([\d.]+ [KMG]iB)/),
      image: fact(/, image (.*?), \d+ evaluations?, \d+ errors?/)};
  });
}

/* evaluations(text): [{session, number, state, seconds, code}] from evaluation-status of all. */
export function evaluations(text) {
  return rows(text, /^(?<session>.+?): Evaluation (?<number>\d+) is (?<state>running|waiting)(?:, (?<seconds>[\d.]+) s)?(?<rest>.*)$/,
    ({session, number, state, seconds, rest}) => ({session, number: Number(number), state, seconds: Number(seconds || 0), code: rest.replace(/^[^:]*: ?/, '')}));
}

/* checkpoints(text): [{evaluation, time, name, hasFailed}] from session-history, the newest first. */
export function checkpoints(text) {
  return rows(text, /^- after evaluation (?<evaluation>\d+), (?<time>[\d:]+)Z?(?:, package [^,]+)?(?<rest>.*)$/, ({evaluation, time, rest}) =>
    ({evaluation: Number(evaluation), time, name: (/, named (.+?)(?:, which failed)?$/.exec(rest) || [])[1], hasFailed: /, which failed/.test(rest)}));
}

/* threads(text): [{number, name, doing}] from list-threads. */
export function threads(text) {
  return rows(text, /^(?<number>\d+)(?:, \d+)* {2}(?<name>.*?): (?<doing>.*)$/, ({number, name, doing}) => ({number, name, doing}));
}

/* frames(text): [{number, call, source, locals: [{name, value}]}] from get-backtrace. */
export function frames(text) {
  const found = [];
  for (const line of text.split('\n')) {
    if (/^\.\.\. frames? /.test(line)) break;
    const start = /^(\d+): (.*)$/.exec(line);
    const frame = found.at(-1);
    if (start) found.push({number: Number(start[1]), call: start[2], source: [], locals: []});
    else if (frame && /^ {5}\S/.test(line)) {
      const local = /^ {5}(\S+) = (.*)$/.exec(line);
      if (local) frame.locals.push({name: local[1], value: local[2]});
      else if (!line.includes('(no locals known)')) frame.source.push(line.trim());
    } else if (frame && frame.locals.length) frame.locals.at(-1).value += `\n${line}`;
  }
  return found;
}

/* object(text): {title, facts: [[name, value]], handle, parts: [{name, value, handle}], from, total} from inspect-object; isFleeting: the handles are not kept. */
export function object(text) {
  const isAboutHandles = (line) => /^This is of a copy of the process|^The handles in this reply are not kept/.test(line);
  const lines = text.split('\n').filter((line) => !isAboutHandles(line));
  const kind = lines.findIndex((line, i) => /^Kind: /.test(line) && /^Class: /.test(lines[i + 1] || ''));
  if (kind < 0) return null;
  const found = {title: lines.slice(0, kind).join('\n'), facts: [], parts: [], from: 0, total: 0,
    isFleeting: text.split('\n').some(isAboutHandles)};
  let at = kind;
  for (; at < lines.length && lines[at] !== ''; at++) {
    const fact = /^([^:]+): (.*)$/.exec(lines[at]);
    if (!fact) break;
    if (fact[1] === 'Handle') found.handle = fact[2];
    else found.facts.push([fact[1], fact[2]]);
  }
  for (; at < lines.length; at++) {
    const header = /^Parts(?: (\d+) to \d+ of ([\d,]+))?:$/.exec(lines[at]);
    if (!header) continue;
    found.from = Number(header[1] || 0);
    found.total = Number((header[2] || '0').replaceAll(',', ''));
    break;
  }
  for (at++; at < lines.length; at++) {
    if (!/^ {2}\S/.test(lines[at])) {
      if (/^offset: \d+ shows more/.test(lines[at]) || lines[at] === '') break;
      if (found.parts.length) found.parts.at(-1).value += `\n${lines[at]}`;
      continue;
    }
    const handle = /^(.*) <(h[\d.]+)>$/.exec(lines[at]);
    const line = (handle ? handle[1] : lines[at]).slice(2);
    const split = splitPart(line);
    found.parts.push({name: split[0], value: split[1], handle: handle?.[2]});
  }
  found.total = Math.max(found.total, found.from + found.parts.length);
  return found;
}

/* A key may contain " = ": a subscript or a slot has none, of others the first counts outside of strings. */
function splitPart(line) {
  const quoted = /^("(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^"]*?) = (.*)$/.exec(line) || /^(.*?) = (.*)$/.exec(line);
  if (quoted) return [quoted[1], quoted[2]];
  const unbound = /^(\S+) is unbound$/.exec(line);
  return unbound ? [unbound[1], 'unbound'] : ['', line];
}
