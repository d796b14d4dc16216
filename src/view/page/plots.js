// Small plots, drawn in SVG.

import {svg} from './dom.js';

/* plot(numbers, {name, width, height}): a line through the numbers, with a name for those who do not see it. */
export function plot(numbers, {name, width = 200, height = 40}) {
  const low = Math.min(0, ...numbers);
  const high = Math.max(...numbers);
  const x = (i) => (numbers.length < 2 ? width / 2 : 2 + (i / (numbers.length - 1)) * (width - 4));
  const y = (value) => height - 3 - ((value - low) / (high - low || 1)) * (height - 6);
  const points = numbers.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  return svg('svg', {class: 'plot', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': name},
    svg('line', {class: 'axis', x1: 0, x2: width, y1: y(0), y2: y(0)}),
    numbers.length === 1 ? svg('circle', {cx: x(0), cy: y(numbers[0]), r: 2}) : svg('polyline', {points}));
}
