// Small plots, drawn in SVG.

import {svg} from './dom.js';

const width = 240; // of the drawing, which is stretched to its column

/* plot(numbers, {name, height}): a line through two numbers or more, with a name for those who do not see it. */
export function plot(numbers, {name, height}) {
  const low = Math.min(0, ...numbers);
  const high = Math.max(...numbers);
  const x = (i) => 2 + (i / (numbers.length - 1)) * (width - 4);
  const y = (value) => height - 3 - ((value - low) / (high - low || 1)) * (height - 6);
  const points = numbers.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  return svg('svg', {class: 'plot', viewBox: `0 0 ${width} ${height}`, width: '100%', height, preserveAspectRatio: 'none', role: 'img', 'aria-label': name},
    svg('line', {class: 'axis', x1: 0, x2: width, y1: y(0), y2: y(0)}),
    svg('polyline', {points}));
}
