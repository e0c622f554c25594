'use strict';
// Small graphs, drawn from top to bottom: each box is below the boxes that it uses.

const boxWidth = 196, boxHeight = 44, gapX = 18, gapY = 30;

// Rows of box numbers, ordered so that edges cross little.
function arrangeBoxes(boxes) {
  const depth = boxes.map(() => -1);
  const depthOf = number => {
    if (depth[number] < 0) {
      depth[number] = 0;
      for (const operand of boxes[number].operands)
        depth[number] = Math.max(depth[number], depthOf(operand) + 1);
    }
    return depth[number];
  };
  boxes.forEach((box, number) => depthOf(number));
  // Inputs belong right above their first user.
  boxes.forEach((box, number) => {
    if (boxes[number].operands.length) return;
    const users = boxes.map((user, index) => user.operands.includes(number) ? depth[index] : -1)
      .filter(level => level > 0);
    if (users.length) depth[number] = Math.min(...users) - 1;
  });
  const rows = [];
  boxes.forEach((box, number) => (rows[depth[number]] = rows[depth[number]] || []).push(number));
  const place = boxes.map(() => 0);
  const setPlaces = row => row.forEach((number, index) => {
    place[number] = index - (row.length - 1) / 2;
  });
  rows.forEach(setPlaces);
  const mean = (numbers, own) => numbers.length
    ? numbers.reduce((sum, number) => sum + place[number], 0) / numbers.length : own;
  const users = boxes.map((box, number) =>
    boxes.flatMap((user, index) => user.operands.includes(number) ? [index] : []));
  for (let sweep = 0; sweep < 6; ++sweep) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      const wanted = new Map(row.map(number =>
        [number, mean(down ? boxes[number].operands : users[number], place[number])]));
      row.sort((a, b) => wanted.get(a) - wanted.get(b));
      setPlaces(row);
    }
  }
  return rows;
}

function shorten(text, length) {
  return text.length > length ? text.slice(0, length - 1) + '…' : text;
}

function drawGraph(boxes, title) {
  const rows = arrangeBoxes(boxes);
  const widest = Math.max(...rows.map(row => row.length), 1);
  const width = widest * (boxWidth + gapX) + gapX;
  const height = rows.length * (boxHeight + gapY) + 6;
  const at = boxes.map(() => null);
  rows.forEach((row, level) => row.forEach((number, index) => {
    const left = (width - row.length * (boxWidth + gapX) + gapX) / 2;
    at[number] = { x: left + index * (boxWidth + gapX), y: 4 + level * (boxHeight + gapY) };
  }));
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
                               'aria-label': `${title}: ` + boxes.map(b => b.label).join(', ') });
  boxes.forEach((box, number) => {
    for (const operand of box.operands) {
      const from = at[operand], to = at[number];
      const x1 = from.x + boxWidth / 2, y1 = from.y + boxHeight;
      const x2 = to.x + boxWidth / 2, y2 = to.y;
      const bend = (y2 - y1) / 2;
      picture.append(svg('path', { class: 'edge', d: `M${x1},${y1} C${x1},${y1 + bend} ` +
                                   `${x2},${y2 - bend} ${x2},${y2 - 3}` }),
                     svg('path', { class: 'tip-of-edge',
                                   d: `M${x2 - 3.5},${y2 - 6} L${x2},${y2} L${x2 + 3.5},${y2 - 6} Z` }));
    }
  });
  boxes.forEach((box, number) => {
    const { x, y } = at[number];
    const isInput = box.kind === 'input';
    const name = isInput ? (box.nodes[0] || 'input') : box.label;
    const time = box.seconds > 0 ? ' · ' + formatSeconds(box.seconds) : '';
    picture.append(svg('g', { class: `box ${box.kind} change-${box.change}` },
      svg('title', {}, `${name}\n${box.shape}${time}\n${box.nodes.slice(0, 12).join(', ')}`),
      svg('rect', { x, y, width: boxWidth, height: boxHeight, rx: isInput ? 22 : 6 }),
      svg('text', { x: x + boxWidth / 2, y: y + 18, class: 'name' }, shorten(name, 27)),
      svg('text', { x: x + boxWidth / 2, y: y + 34, class: 'shape' },
          shorten(box.shape.replaceAll('x', '×') + time, 34))));
  });
  return html('div', { class: 'graph scroll', tabindex: 0, role: 'region', 'aria-label': title },
              picture);
}

function rewriteTitle(rewrite) {
  const names = boxes => boxes.filter(box => box.kind === 'collective' ||
                                             (box.change === 'op' && box.kind !== 'input'))
    .map(box => box.label);
  const count = list => [...new Set(list)].map(name => {
    const times = list.filter(other => other === name).length;
    return times > 1 ? `${times} ${name}` : name;
  }).join(', ');
  const from = count(names(rewrite.before)), to = count(names(rewrite.after));
  return `${from || 'computation'} → ${to || 'computation'}`;
}

function rewriteCard(rewrite) {
  const remarks = rewrite.remarks.map(remark => html('li', {},
    html('span', { class: 'pass' }, remark.pass), ' ', html('code', {}, remark.node), ': ',
    remark.message, remark.file ? html('span', { class: 'faint' },
      ' ' + formatSource(remark.file, remark.line)) : ''));
  const places = formatCount(rewrite.count, 'place') +
    (rewrite.layers.length ? `, ${formatLayers(rewrite.layers)}` : '');
  const card = html('article', { class: 'rewrite' },
    html('h3', {}, rewriteTitle(rewrite)),
    html('p', {}, places, ' · these ops take ',
      html('strong', {}, formatSeconds(rewrite.seconds_before)), ' before and ',
      html('strong', {}, formatSeconds(rewrite.seconds_after)), ' after',
      rewrite.count > 1 ? ', in all places together' : ''),
    html('div', { class: 'pair' },
      html('figure', {}, html('figcaption', {}, 'before'), drawGraph(rewrite.before, 'before')),
      html('figure', {}, html('figcaption', {}, 'after'), drawGraph(rewrite.after, 'after'))),
    html('details', {}, html('summary', {}, formatCount(rewrite.remarks.length, 'step')),
      html('ol', {}, remarks),
      html('p', { class: 'faint' }, 'nodes: ' + rewrite.nodes.join(', '))));
  return filterable(card, rewriteTitle(rewrite), rewrite.nodes, rewrite.layers,
    rewrite.remarks.map(r => [r.pass, r.message, r.file]));
}

function rewritesSection(rewrites) {
  const part = section('rewrites', 'Rewrites');
  if (!rewrites.length) part.append(html('p', {}, 'No pass rewrote anything.'));
  else part.append(html('p', { class: 'note' },
    'Each kind of place once, with the products around it. Marked boxes are new or removed; ' +
    'dashed ones compute the same on other shapes.'));
  part.append(...rewrites.map(rewriteCard));
  return part;
}
