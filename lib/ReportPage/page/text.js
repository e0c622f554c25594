'use strict';
// Elements and formatted numbers. Text from the data, which may come from a hostile
// file, only ever becomes text nodes and attributes.

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
}

function append(node, children) {
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === '') continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function html(tag, attributes, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  return append(node, children);
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(node, attributes);
  return append(node, children);
}

function formatScaled(value, units, base) {
  let index = 0;
  while (index + 1 < units.length && Math.abs(value) >= base) {
    value /= base;
    ++index;
  }
  const digits = value === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits) + ' ' + units[index];
}

function formatSeconds(seconds) {
  if (seconds === undefined || seconds === null) return '';
  const magnitude = Math.abs(seconds);
  if (magnitude >= 1) return seconds.toFixed(3) + ' s';
  if (magnitude >= 1e-3) return (seconds * 1e3).toFixed(3) + ' ms';
  return (seconds * 1e6).toFixed(magnitude >= 1e-4 ? 1 : 2) + ' µs';
}

function formatBytes(bytes) {
  return formatScaled(bytes, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
}

function formatChange(before, after) {
  if (!before) return '';
  const percent = 100 * (after - before) / before;
  if (Math.abs(percent) < 0.05) return 'unchanged';
  return (percent > 0 ? '+' : '−') + Math.abs(percent).toFixed(1) + ' %';
}

function formatCount(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function formatSource(file, line) {
  return file ? `${file}:${line}` : '';
}

// "layers 0 to 3, 5" of "model.layers.0", ...
function formatLayers(layers) {
  const groups = new Map();
  for (const layer of layers) {
    const match = /^(.*[._])(\d+)$/.exec(layer);
    const prefix = match ? match[1] : layer;
    if (!groups.has(prefix)) groups.set(prefix, []);
    if (match) groups.get(prefix).push(Number(match[2]));
  }
  const texts = [];
  for (const [prefix, numbers] of groups) {
    numbers.sort((a, b) => a - b);
    const ranges = [];
    for (const number of numbers) {
      const last = ranges[ranges.length - 1];
      if (last && last[1] + 1 === number) last[1] = number;
      else ranges.push([number, number]);
    }
    const name = prefix.replace(/[._]$/, '');
    texts.push(name + ' ' + ranges
      .map(([first, last]) => first === last ? first : `${first} to ${last}`).join(', '));
  }
  return texts.join('; ');
}

// Elements that the filter hides where they do not contain its text.
const filtered = [];

function filterable(node, ...texts) {
  filtered.push({ node, text: texts.flat(Infinity).filter(Boolean).join(' ').toLowerCase() });
  return node;
}

function section(id, title, ...children) {
  return html('section', { id, 'aria-labelledby': id + '-title' },
    html('h2', { id: id + '-title' }, title), ...children);
}

function table(columns, rows, attributes) {
  const head = html('tr', {}, columns.map(column =>
    html('th', { scope: 'col', class: column.number ? 'number' : null }, column.title)));
  return html('div', { class: 'scroll', tabindex: 0, role: 'region',
                       'aria-label': (attributes || {}).label || 'table' },
    html('table', {}, html('thead', {}, head), html('tbody', {}, rows)));
}

function row(columns, cells, attributes) {
  return html('tr', attributes, cells.map((cell, index) =>
    html('td', { class: columns[index].number ? 'number' : null }, cell)));
}
