'use strict';
// Tables: communication and ops by kind, refused sites, and all remarks.

function kindsSection(programs) {
  const names = [...new Set(programs.flatMap(program => program.ops.map(kind => kind.op)))];
  const find = (program, name) => program.ops.find(kind => kind.op === name);
  const value = (name, key) => programs.map(program => (find(program, name) || {})[key] || 0);
  const isCollective = name => programs.some(program => {
    const kind = find(program, name);
    return kind && kind.wire_bytes > 0;
  });
  const time = name => Math.max(...value(name, 'seconds'));
  names.sort((a, b) => time(b) - time(a));
  const many = programs.length > 1;
  const heads = title => programs.map(program =>
    ({ title: many ? `${title} ${program.role}` : title, number: true }));
  const build = (list, withBytes) => {
    const columns = [{ title: 'op' }, ...heads('count'), ...heads('time'),
                     ...(withBytes ? heads('sent') : heads('bound by'))];
    const rows = list.map(name => filterable(row(columns, [
      html('code', {}, name),
      ...value(name, 'count').map(String),
      ...value(name, 'seconds').map(seconds => seconds ? formatSeconds(seconds) : '–'),
      ...(withBytes ? value(name, 'wire_bytes').map(formatBytes)
                    : programs.map(program => {
                        const kind = find(program, name);
                        return kind ? kind.bound + (kind.is_guess ? ' (a guess)' : '') : '';
                      })),
    ]), name));
    return table(columns, rows, { label: withBytes ? 'collectives' : 'ops' });
  };
  const collectives = names.filter(isCollective), others = names.filter(n => !isCollective(n));
  const part = section('kinds', 'Collectives and ops by kind');
  if (collectives.length) part.append(build(collectives, true));
  else part.append(html('p', {}, 'There are no collectives.'));
  part.append(html('details', { open: !many },
    html('summary', {}, `Other ops: ${formatCount(others.length, 'kind')}`), build(others, false)));
  const guess = programs.some(program => program.ops.some(kind => kind.is_guess));
  if (guess) part.append(html('p', { class: 'note' }, 'A guess: Commute does not know what ' +
    'this operator computes, and prices one read of its operands and one write of its results.'));
  return part;
}

function sourceOf(remark) {
  return formatSource(remark.file, remark.line);
}

// The end of a path, with all of it as a tooltip.
function sourceCell(source) {
  return source ? html('code', { title: source }, source.split('/').slice(-2).join('/')) : '';
}

// Remarks that differ only in numbers and in names of nodes, as one row.
function foldRemarks(remarks) {
  const folded = new Map();
  for (const remark of remarks) {
    const message = remark.message + (remark.suggestion ? '; ' + remark.suggestion : '');
    const alike = message.replace(/'[^']*'/g, "'…'").replace(/\d+/g, '#');
    const key = [remark.verdict, remark.pass, remark.name, sourceOf(remark), alike].join('\n');
    const known = folded.get(key);
    if (known) known.nodes.push(remark.node);
    else folded.set(key, { ...remark, message, nodes: [remark.node] });
  }
  return [...folded.values()];
}

function nodesCell(nodes, count) {
  const shown = nodes.slice(0, 3).join(', ');
  const total = Math.max(count || 0, nodes.length);
  return html('span', { title: nodes.slice(0, 200).join(', ') },
    html('code', {}, shown), total > 3 ? ` and ${total - 3} more` : '');
}

function remarksTable(remarks, label) {
  const columns = [{ title: 'verdict' }, { title: 'pass' }, { title: 'places', number: true },
                   { title: 'nodes' }, { title: 'why' }, { title: 'source' }];
  return table(columns, foldRemarks(remarks).map(remark => filterable(row(columns, [
    html('span', { class: remark.verdict }, remark.verdict), remark.pass, remark.nodes.length,
    nodesCell(remark.nodes), remark.message, sourceCell(sourceOf(remark)),
  ]), remark.verdict, remark.pass, remark.nodes, remark.message, sourceOf(remark))), { label });
}

function potentialCell(site) {
  if (!site.potential_seconds) return '';
  return (site.potential_is_bound ? '≤ ' : '') + formatSeconds(site.potential_seconds);
}

function priceText(site) {
  if (site.seconds_before === undefined || site.seconds_after === undefined) return '';
  const needed = site.required_gain ? `, needs a gain of ${(100 * site.required_gain).toFixed(0)} %` : '';
  return `${formatSeconds(site.seconds_before)} as it is, ${formatSeconds(site.seconds_after)} ` +
    `rewritten${needed}`;
}

function refusedTable(sites) {
  const columns = [{ title: 'potential', number: true }, { title: 'pass' },
                   { title: 'places', number: true }, { title: 'nodes' },
                   { title: 'why, and what would change it' }, { title: 'source' }];
  const cells = site => [
    potentialCell(site), site.pass, site.count, nodesCell(site.nodes, site.count),
    html('div', {}, site.reason,
      site.blocker ? html('div', { class: 'faint' }, 'because of ',
        html('code', {}, site.blocker.node || site.blocker.op),
        site.blocker.source ? ` (${site.blocker.source})` : '') : '',
      html('div', { class: 'faint' }, priceText(site)),
      site.remedy ? html('div', { class: 'remedy' }, site.remedy) : ''),
    sourceCell(site.source),
  ];
  return table(columns, sites.map(site => filterable(row(columns, cells(site)),
    site.pass, site.law, site.nodes, site.reason, site.remedy, site.source)),
    { label: 'refused rewrites' });
}

function remedyItem(remedy) {
  const gain = remedy.gain_seconds === undefined ? '' :
    html('strong', {}, ` saves ${formatSeconds(remedy.gain_seconds)}`);
  return html('li', {}, remedy.text, gain, `, ${formatCount(remedy.sites, 'place')}`,
    remedy.option ? html('div', {}, html('code', {}, remedy.option)) : '',
    remedy.vocabulary ? html('details', {}, html('summary', {}, 'vocabulary file'),
                             html('pre', { class: 'scroll' }, remedy.vocabulary)) : '');
}

function refusedSection(explanation) {
  const part = section('refused', 'Refused');
  const sites = explanation.sites.filter(site => site.decision === 'refused');
  if (!sites.length) {
    part.append(html('p', {}, 'No rewrite was refused.'));
    return part;
  }
  if (explanation.remedies.length)
    part.append(html('h3', {}, 'What would help'),
                html('ul', {}, explanation.remedies.map(remedyItem)));
  part.append(html('p', { class: 'note' }, 'Potential: the time that the step would save if the ' +
    'rewrite were possible at all of these places; ≤ marks an upper bound.'));
  // Those that cost nothing are many and rarely of interest.
  const costly = sites.filter(site => site.potential_seconds);
  const others = sites.filter(site => !site.potential_seconds);
  if (costly.length) part.append(refusedTable(costly));
  if (others.length) {
    const count = formatCount(others.length, 'refusal');
    part.append(html('details', { open: !costly.length },
      html('summary', {}, `${count} without potential`), refusedTable(others)));
  }
  return part;
}

function remarksSection(remarks) {
  const applied = remarks.filter(remark => remark.verdict === 'applied').length;
  return section('remarks', 'All remarks',
    html('details', {}, html('summary', {},
      `${formatCount(remarks.length, 'remark')}, ${applied} of them about rewrites`),
      remarksTable(remarks, 'all remarks')));
}
