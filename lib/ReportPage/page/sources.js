'use strict';
// The lines of Python that ops come from, with their times and what passes did there.

function lineFacts(data, programs) {
  const facts = new Map();
  const at = (file, line) => {
    const key = file + '\n' + line;
    if (!facts.has(key))
      facts.set(key, { seconds: programs.map(() => 0), verdicts: new Map() });
    return facts.get(key);
  };
  programs.forEach((program, number) => {
    const { ops, events } = program.lanes;
    for (let index = 0; index < events.op.length; ++index) {
      const op = events.op[index], file = data.strings[ops.file[op]];
      if (file) at(file, ops.line[op]).seconds[number] += events.time[index] / 1e9;
    }
  });
  for (const remark of data.remarks || []) {
    if (!remark.file || remark.verdict === 'noted') continue;
    const { verdicts } = at(remark.file, remark.line);
    verdicts.set(remark.verdict, (verdicts.get(remark.verdict) || 0) + 1);
  }
  return facts;
}

function sourceLine(file, number, text, fact, programs) {
  const verdicts = fact ? [...fact.verdicts].map(([verdict, count]) =>
    html('span', { class: 'mark ' + verdict }, `${count} ${verdict}`)) : [];
  const times = fact ? fact.seconds.map(formatSeconds) : [];
  const isMarked = fact && (fact.verdicts.size || fact.seconds.some(Boolean));
  return html('tr', { class: isMarked ? 'marked' : null },
    html('td', { class: 'number' }, number),
    html('td', { class: 'number' }, isMarked ? times.join(' → ') : ''),
    html('td', {}, html('pre', {}, text)), html('td', {}, verdicts));
}

function sourcesSection(data, programs) {
  const facts = lineFacts(data, programs);
  const part = section('sources', 'Source');
  if (!data.sources.length) {
    part.append(html('p', {}, 'None of the files that the programs name is at hand.'));
    return part;
  }
  part.append(html('p', { class: 'note' }, 'Times are those of all ops of a line, ' +
    (programs.length > 1 ? 'before → after' : 'summed') +
    '; communication counts whether or not it is hidden.'));
  for (const { file, excerpts } of data.sources) {
    const rows = excerpts.flatMap((excerpt, index) => [
      ...(index ? [html('tr', { class: 'gap' }, html('td', { colspan: 4 }, '⋯'))] : []),
      ...excerpt.lines.map((text, offset) => {
        const number = excerpt.first + offset;
        return sourceLine(file, number, text, facts.get(file + '\n' + number), programs);
      }),
    ]);
    const marked = excerpts.flatMap(excerpt => excerpt.lines.map((text, offset) =>
      facts.get(file + '\n' + (excerpt.first + offset)))).filter(Boolean);
    const busiest = marked.reduce((sum, fact) => sum + fact.seconds[0] || 0, 0);
    part.append(filterable(html('details', { open: data.sources.length === 1 },
      html('summary', {}, html('code', {}, file),
        html('span', { class: 'faint' }, ' ' + (busiest ? formatSeconds(busiest) : ''))),
      html('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': file },
        html('table', { class: 'code' }, html('tbody', {}, rows)))),
      file, excerpts.flatMap(excerpt => excerpt.lines)));
  }
  return part;
}
