// The difference of two texts by lines, as rows {sign: ' ', '-', '+', text}. Both texts can be read from the rows.

const longest = 400; // lines; longer texts are shown one after the other

export function diff(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  const rows = [];
  const put = (sign, text) => rows.push({sign, text});
  if (a.length > longest || b.length > longest) {
    a.forEach((line) => put('-', line));
    b.forEach((line) => put('+', line));
    return rows;
  }
  // length[i][j]: lines in common from a[i] and b[j] on
  const length = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      put(' ', a[i++]);
      j++;
    } else if (i < a.length && (j === b.length || length[i + 1][j] >= length[i][j + 1])) put('-', a[i++]);
    else put('+', b[j++]);
  }
  return rows;
}
