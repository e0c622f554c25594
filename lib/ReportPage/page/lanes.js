'use strict';
// The two lanes of each program on one time axis, drawn on a canvas: pan by dragging,
// zoom with the buttons, the keys, a pinch or Ctrl and the wheel.

const laneHeight = 26, laneGap = 3, bandHeight = 14, titleHeight = 20, axisHeight = 24;
const laneNames = ['compute', 'communication'];
const boundColours = { compute: '--product', memory: '--memory', overhead: '--overhead',
                       communication: '--collective' };

class LaneView {
  constructor(programs, strings) {
    this.programs = programs;
    this.strings = strings;
    this.canvas = html('canvas', {
      tabindex: 0, role: 'application',
      'aria-label': 'Timeline of the compute and communication lanes. Arrow keys pan, plus ' +
        'and minus zoom, 0 shows everything, comma and period select ops, up and down ' +
        'change the lane.',
    });
    this.details = html('p', { class: 'selected', 'aria-live': 'polite' },
                        'Point at an op, or select one with , and . while the lanes have the focus.');
    this.tip = html('div', { class: 'tip', hidden: true });
    this.folds = programs.some(program => layersOf(program, strings).length > 3);
    this.query = '';
    this.selected = null;
    this.readColours();
    this.arrange();
    this.addHandlers();
    new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.canvas);
  }

  element() {
    const button = (text, label, action) =>
      html('button', { type: 'button', 'aria-label': label, onclick: action }, text);
    this.foldBox = html('input', { type: 'checkbox', onchange: event => {
      this.folds = event.target.checked;
      this.arrange();
      this.draw();
    } });
    this.foldBox.checked = this.folds;
    const legend = html('span', { class: 'legend' },
      Object.entries({ '--product': 'compute-bound', '--memory': 'memory-bound',
                       '--overhead': 'kernel overhead', '--collective': 'communication' })
        .map(([colour, text]) => html('span', {},
          html('i', { style: `background: var(${colour})` }), text)));
    return html('div', { class: 'lanes' },
      html('div', { class: 'tools' },
        button('−', 'zoom out', () => this.zoom(1.6)),
        button('+', 'zoom in', () => this.zoom(1 / 1.6)),
        button('All', 'show the whole step', () => this.fit()),
        html('label', {}, this.foldBox, ' fold repeated layers'), legend),
      html('div', { class: 'canvas' }, this.canvas, this.tip), this.details);
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colours = {};
    for (const name of ['--product', '--memory', '--overhead', '--collective', '--text',
                        '--faint', '--line', '--page', '--band', '--focus'])
      this.colours[name] = style.getPropertyValue(name).trim();
  }

  // Places every event in drawn time.
  arrange() {
    this.rows = this.programs.map(program => {
      const fold = foldProgram(program, this.strings, this.folds);
      const { events } = program.lanes;
      const lanes = [[], []];
      for (let index = 0; index < events.op.length; ++index) {
        const start = toDrawn(fold, events.start[index]);
        if (start.isHidden) continue;
        const end = toDrawn(fold, events.start[index] + events.time[index]);
        lanes[events.lane[index]].push({ index, start: start.at, end: end.at });
      }
      for (const lane of lanes) lane.sort((a, b) => a.start - b.start);
      return { program, fold, lanes, layers: layersOf(program, this.strings) };
    });
    this.width = Math.max(...this.rows.map(row => row.fold.width), 1);
    this.from = 0;
    this.to = this.width * 1.01;
    this.selected = null;
  }

  height() {
    return axisHeight + this.rows.length *
      (titleHeight + bandHeight + 2 * (laneHeight + laneGap) + 8);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.pixels = this.canvas.clientWidth;
    if (!this.pixels) return;
    this.canvas.style.height = this.height() + 'px';
    this.canvas.width = Math.round(this.pixels * ratio);
    this.canvas.height = Math.round(this.height() * ratio);
    this.context = this.canvas.getContext('2d');
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  toX(time) { return (time - this.from) / (this.to - this.from) * this.pixels; }
  toTime(x) { return this.from + x / this.pixels * (this.to - this.from); }

  top(row, lane) {
    const height = titleHeight + bandHeight + 2 * (laneHeight + laneGap) + 8;
    return axisHeight + row * height + titleHeight + bandHeight + lane * (laneHeight + laneGap);
  }

  draw() {
    if (!this.context) return;
    const context = this.context, colours = this.colours;
    context.fillStyle = colours['--page'];
    context.fillRect(0, 0, this.pixels, this.height());
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    this.drawAxis();
    this.rows.forEach((row, number) => {
      context.fillStyle = colours['--text'];
      const title = `${row.program.role}: ${formatSeconds(row.program.step_seconds)}, exposed ` +
        formatSeconds(row.program.exposed_communication_seconds);
      context.fillText(title, 4, this.top(number, 0) - bandHeight - titleHeight / 2);
      this.drawBands(row, number);
      row.lanes.forEach((events, lane) => this.drawLane(row, number, lane, events));
    });
  }

  drawAxis() {
    const context = this.context;
    const span = this.to - this.from;
    const target = Math.max(Math.floor(this.pixels / 110), 2);
    let step = Math.pow(10, Math.floor(Math.log10(span / target)));
    for (const factor of [1, 2, 5, 10])
      if (span / (step * factor) <= target) { step *= factor; break; }
    context.strokeStyle = this.colours['--line'];
    context.fillStyle = this.colours['--faint'];
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = Math.round(this.toX(time)) + 0.5;
      context.beginPath();
      context.moveTo(x, axisHeight - 6);
      context.lineTo(x, this.height());
      context.stroke();
      context.fillText(time === 0 ? '0' : formatSeconds(time / 1e9), x + 3, axisHeight / 2 - 2);
    }
  }

  drawBands(row, number) {
    const context = this.context;
    const y = this.top(number, 0) - bandHeight;
    for (const [index, layer] of row.layers.entries()) {
      const start = toDrawn(row.fold, layer.start);
      if (start.isHidden) continue;
      const x = this.toX(start.at), end = this.toX(toDrawn(row.fold, layer.end - 0.5).at);
      if (end < 0 || x > this.pixels) continue;
      context.fillStyle = this.colours[index % 2 ? '--line' : '--band'];
      context.fillRect(x, y, Math.max(end - x, 0.5), bandHeight - 3);
      this.label(layer.name.split(/[._]/).slice(-2).join(' '), x, y - 1, end - x, bandHeight - 1,
                 '--faint');
    }
    for (const segment of row.fold.segments) {
      if (!segment.repeats) continue;
      const x = this.toX(segment.at), width = this.toX(segment.at + segment.width) - x;
      const height = bandHeight + 2 * (laneHeight + laneGap);
      context.fillStyle = this.colours['--band'];
      context.fillRect(x, y, width, height);
      context.strokeStyle = this.colours['--faint'];
      context.setLineDash([3, 3]);
      context.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 0), height - 1);
      context.setLineDash([]);
      this.label(`${segment.repeats} more`, x, y + 8, width, laneHeight, '--text');
      this.label('layers like', x, y + 24, width, laneHeight, '--text');
      this.label('this', x, y + 40, width, laneHeight, '--text');
    }
  }

  label(text, x, y, width, height, colour) {
    const left = Math.max(x, 0), room = Math.min(x + width, this.pixels) - left - 6;
    if (room < 14) return;
    const context = this.context;
    if (context.measureText(text).width > room) {
      const letters = Math.floor(room / 7);
      if (letters < 3) return;
      text = text.slice(0, letters - 1) + '…';
    }
    context.fillStyle = this.colours[colour];
    context.fillText(text, left + 3, y + height / 2);
  }

  drawLane(row, number, lane, events) {
    const context = this.context, { ops } = row.program.lanes;
    const y = this.top(number, lane);
    let lastX = -1, lastColour = '';
    for (const event of events) {
      const x = this.toX(event.start), end = this.toX(event.end);
      if (end < 0 || x > this.pixels) continue;
      const op = row.program.lanes.events.op[event.index];
      const bound = this.strings[ops.bound[op]];
      const colour = lane === 1 ? '--collective' : boundColours[bound] || '--memory';
      // Thousands of ops in one pixel need to be drawn once.
      if (end - lastX < 0.7 && colour === lastColour && !this.query) continue;
      context.globalAlpha = this.matches(row.program, op) ? 1 : 0.15;
      context.fillStyle = this.colours[colour];
      const width = Math.max(end - x - (end - x > 3 ? 1 : 0), 0.7);
      context.fillRect(x, y, width, laneHeight);
      lastX = end;
      lastColour = colour;
      if (this.selected && this.selected.row === number && this.selected.event === event) {
        context.strokeStyle = this.colours['--focus'];
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), laneHeight - 2);
        context.lineWidth = 1;
      }
      if (width > 24)
        this.label(this.strings[ops.kind[op]], x, y, width, laneHeight, '--page');
      context.globalAlpha = 1;
    }
    if (this.toX(0) > -1)
      this.label(laneNames[lane], events.length ? 0 : 2, y, events.length ? 0 : 120, laneHeight,
                 '--faint');
  }

  describe(program, index) {
    const { ops, events } = program.lanes, op = events.op[index];
    const text = column => this.strings[ops[column][op]];
    const copy = events.copy[index] ? 'reordering copy of ' : '';
    const parts = [
      `${copy}${text('kind')} ${text('node')}`, text('shape'),
      `${formatSeconds(events.time[index] / 1e9)}, bound by ${text('bound') || 'nothing'}`,
      `starts at ${formatSeconds(events.start[index] / 1e9)}`,
      formatSource(text('file'), ops.line[op]), text('layer'),
    ];
    return parts.filter(Boolean);
  }

  matches(program, op) {
    if (!this.query) return true;
    const { ops } = program.lanes;
    return ['kind', 'node', 'file', 'layer', 'shape'].some(column =>
      this.strings[ops[column][op]].toLowerCase().includes(this.query));
  }

  find(x, y) {
    for (let row = 0; row < this.rows.length; ++row)
      for (let lane = 0; lane < 2; ++lane) {
        const top = this.top(row, lane);
        if (y < top || y > top + laneHeight) continue;
        const time = this.toTime(x), slack = (this.to - this.from) / this.pixels;
        const event = this.rows[row].lanes[lane].find(
          event => event.start - slack <= time && time <= event.end + slack);
        return event ? { row, lane, event } : null;
      }
    return null;
  }

  select(found, isTip, x, y) {
    this.selected = found;
    if (!found) {
      this.tip.hidden = true;
      this.draw();
      return;
    }
    const lines = this.describe(this.rows[found.row].program, found.event.index);
    this.details.textContent = lines.join(' · ');
    this.tip.hidden = !isTip;
    if (isTip) {
      this.tip.replaceChildren(...lines.map(line => html('div', {}, line)));
      this.tip.style.left = Math.min(x + 12, Math.max(this.pixels - 270, 0)) + 'px';
      this.tip.style.top = y + 14 + 'px';
    }
    this.draw();
  }

  // Keeps the time at this x in place.
  zoom(factor, x = this.pixels / 2) {
    const at = this.toTime(x);
    const span = Math.min(Math.max((this.to - this.from) * factor, 100), this.width * 1.2);
    this.from = at - (at - this.from) * span / (this.to - this.from);
    this.to = this.from + span;
    this.clamp();
  }

  pan(share) {
    const move = share * (this.to - this.from);
    this.from += move;
    this.to += move;
    this.clamp();
  }

  clamp() {
    const span = this.to - this.from;
    this.from = Math.max(Math.min(this.from, this.width * 1.01 - span / 2), -span / 2);
    if (span >= this.width) this.from = 0;
    this.to = this.from + span;
    this.draw();
  }

  fit() {
    this.from = 0;
    this.to = this.width * 1.01;
    this.draw();
  }

  // Selects the next op of a lane, and moves it into view.
  step(direction, lane, row) {
    const current = this.selected || { row: 0, lane: 0, event: null };
    const to = { row: row ?? current.row, lane: lane ?? current.lane };
    const events = this.rows[to.row].lanes[to.lane];
    if (!events.length) return;
    const { row: fromRow, lane: fromLane } = current;
    let index;
    if (!current.event) index = 0;
    else if (to.row === fromRow && to.lane === fromLane)
      index = events.indexOf(current.event) + direction;
    else index = events.findIndex(event => event.end >= current.event.start);
    to.event = events[Math.min(Math.max(index, 0), events.length - 1)];
    if (to.event.end < this.from || to.event.start > this.to) {
      const span = this.to - this.from;
      this.from = to.event.start - span / 3;
      this.to = this.from + span;
      this.clamp();
    }
    this.select(to, false);
  }

  onKey(event) {
    const lane = this.selected ? 2 * this.selected.row + this.selected.lane : 0;
    const moveLane = change => {
      const next = Math.min(Math.max(lane + change, 0), 2 * this.rows.length - 1);
      this.step(0, next % 2, next >> 1);
    };
    const actions = {
      ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
      ArrowUp: () => moveLane(-1), ArrowDown: () => moveLane(1),
      '+': () => this.zoom(1 / 1.6), '=': () => this.zoom(1 / 1.6), '-': () => this.zoom(1.6),
      0: () => this.fit(), Home: () => this.fit(),
      ',': () => this.step(-1), '.': () => this.step(1),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  addHandlers() {
    const canvas = this.canvas, pointers = new Map();
    canvas.addEventListener('keydown', event => this.onKey(event));
    canvas.addEventListener('wheel', event => {
      // The wheel alone scrolls the page.
      if (!event.ctrlKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
      event.preventDefault();
      if (event.ctrlKey) this.zoom(Math.exp(event.deltaY * 0.004), event.offsetX);
      else this.pan(event.deltaX / this.pixels);
    }, { passive: false });
    canvas.addEventListener('dblclick', event => this.zoom(0.4, event.offsetX));
    canvas.addEventListener('pointerdown', event => {
      pointers.set(event.pointerId, event.offsetX);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
      if (!pointers.has(event.pointerId)) {
        this.select(this.find(event.offsetX, event.offsetY), true, event.offsetX, event.offsetY);
        return;
      }
      const old = pointers.get(event.pointerId);
      if (pointers.size === 1) {
        this.pan((old - event.offsetX) / this.pixels);
      } else {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const apart = Math.abs(event.offsetX - other);
        if (apart > 4) this.zoom(Math.abs(old - other) / apart, (event.offsetX + other) / 2);
      }
      pointers.set(event.pointerId, event.offsetX);
    });
    for (const name of ['pointerup', 'pointercancel'])
      canvas.addEventListener(name, event => {
        pointers.delete(event.pointerId);
        if (event.pointerType === 'touch' || name === 'pointerup')
          this.select(this.find(event.offsetX, event.offsetY), true, event.offsetX,
                      event.offsetY);
      });
    canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
  }

  filter(query) {
    this.query = query;
    this.draw();
  }
}

function lanesSection(programs, strings) {
  const view = new LaneView(programs, strings);
  const part = section('lanes', 'One step on one rank', view.element());
  for (const program of programs)
    if (program.lanes.left_out)
      part.append(html('p', { class: 'note' }, `${program.name}: the last ` +
        `${program.lanes.left_out} intervals are not drawn.`));
  return { part, view };
}
