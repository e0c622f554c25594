'use strict';
// Maps the time of a program to the time that is drawn. With folding, layers that
// repeat the layer before them take a narrow band instead of their time.

function layerRuns(program) {
  const { ops, events } = program.lanes;
  const byLayer = new Map();
  for (let index = 0; index < events.op.length; ++index) {
    const layer = ops.layer[events.op[index]];
    let run = byLayer.get(layer);
    if (!run) byLayer.set(layer, run = { layer, start: Infinity, end: 0, parts: [] });
    run.start = Math.min(run.start, events.start[index]);
    run.end = Math.max(run.end, events.start[index] + events.time[index]);
    run.parts.push(`${ops.kind[events.op[index]]}:${events.lane[index]}:${events.time[index]}`);
  }
  return [...byLayer.values()];
}

// The numbered layers in order of time, each with its end and a signature.
function layersOf(program, strings) {
  const runs = layerRuns(program).filter(run => strings[run.layer] !== '');
  runs.sort((a, b) => a.start - b.start);
  return runs.map((run, index) => ({
    name: strings[run.layer],
    start: run.start,
    // Ops of neighbouring layers overlap on different lanes.
    end: index + 1 < runs.length ? runs[index + 1].start : run.end,
    signature: run.parts.join(' '),
  }));
}

// Segments {start, end, at, width, repeats}: the interval of the program's time, its
// place and width in drawn time, and, for a band, the number of layers in it.
function foldProgram(program, strings, folds) {
  const end = program.step_seconds * 1e9;
  const segments = [];
  let at = 0;
  const add = (start, stop, width, repeats) => {
    segments.push({ start, end: stop, at, width, repeats });
    at += width;
  };
  const layers = folds ? layersOf(program, strings) : [];
  let drawnTo = 0;
  for (let index = 1; index < layers.length; ++index) {
    const first = index;
    while (index < layers.length && layers[index].signature === layers[first - 1].signature)
      ++index;
    // A band for a single layer would hide more than it saves.
    if (index - first < 2) continue;
    const from = layers[first].start, to = layers[index - 1].end;
    add(drawnTo, from, from - drawnTo, 0);
    add(from, to, (layers[first - 1].end - layers[first - 1].start) * 0.3, index - first);
    drawnTo = to;
  }
  if (drawnTo < end || !segments.length) add(drawnTo, end, end - drawnTo, 0);
  return { segments, width: at };
}

function toDrawn(fold, time) {
  const { segments } = fold;
  let low = 0, high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (segments[middle].start <= time) low = middle;
    else high = middle - 1;
  }
  const segment = segments[low];
  const length = segment.end - segment.start;
  const share = length > 0 ? Math.min((time - segment.start) / length, 1) : 0;
  return { at: segment.at + share * segment.width, isHidden: segment.repeats > 0 };
}
