'use strict';
// What a reader wants to know first: the step, its communication, and the verdict.

function comparedNumber(title, programs, get, format) {
  const values = programs.map(get);
  const last = values[values.length - 1];
  const shown = value => html('span', { class: 'value' }, format(value));
  const card = html('div', { class: 'card' }, html('h3', {}, title));
  if (values.length === 1) {
    card.append(html('p', { class: 'big' }, shown(last)));
    return card;
  }
  const [first] = values;
  const state = last === first ? 'same' : last < first ? 'better' : 'worse';
  card.append(html('p', { class: 'big' }, shown(first), html('span', { class: 'arrow' }, ' → '),
                   shown(last)),
              html('p', { class: 'change ' + state }, formatChange(first, last)));
  return card;
}

function verdictCard(proof) {
  const card = html('div', { class: 'card' }, html('h3', {}, 'Proof'));
  if (!proof) {
    card.append(html('p', { class: 'big' }, 'none'),
                html('p', {}, 'The programs were not compared: nothing was changed, or ' +
                              'the proof was switched off.'));
    return card;
  }
  const states = { equivalent: 'better', refines: 'better', different: 'worse',
                   'does not refine': 'worse', deadlock: 'worse' };
  const premises = proof.outputs
    ? formatCount(proof.premises.length, 'premise')
    : proof.assumptions.length ? formatCount(proof.assumptions.length, 'assumption')
    : 'no assumptions';
  card.append(html('p', { class: 'big ' + (states[proof.verdict] || 'same') }, proof.verdict),
              html('p', {}, `on ${formatCount(proof.ranks, 'rank')}, ${premises}; `,
                   html('a', { href: '#proof' }, 'premises')));
  return card;
}

function headline(data, programs) {
  const cards = html('div', { class: 'cards' });
  if (programs.length) {
    cards.append(
      comparedNumber('Step', programs, p => p.step_seconds, formatSeconds),
      comparedNumber('Exposed communication', programs,
                     p => p.exposed_communication_seconds, formatSeconds),
      comparedNumber('Activation memory', programs, p => p.peak_activation_bytes, formatBytes),
      comparedNumber('Sent by each rank', programs, p => p.wire_bytes, formatBytes));
  }
  if (data.command === 'verify') cards.prepend(verdictCard(data.proof));
  else if (data.command === 'opt') cards.append(verdictCard(data.proof));
  const part = html('section', { id: 'headline', 'aria-label': 'Summary' }, cards);
  for (const program of data.programs)
    if (program.no_estimate)
      part.append(html('p', { class: 'note' }, `No prediction for ${program.name}: ` +
                                               program.no_estimate));
  if (programs.length) part.append(targetLine(data.target));
  return part;
}

function targetLine(target) {
  const all = target.measured + target.stated + target.assumed;
  return html('p', { class: 'note' },
    `Times are predictions for ${target.name} (${target.description}). Of its ` +
    `${all} numbers, ${target.measured} are measured, ${target.stated} are from data sheets ` +
    `and publications, and ${target.assumed} are assumed. `,
    html('a', { href: '#target' }, 'Sources'));
}

function targetSection(target) {
  const columns = [{ title: 'number' }, { title: 'evidence' }, { title: 'source' }];
  const rows = target.sources.map(source => row(columns, [
    html('code', {}, source.number), source.evidence, source.source]));
  return section('target', `Target: ${target.name}`,
    html('p', {}, target.description),
    html('details', {}, html('summary', {}, `Sources of its ${rows.length} numbers`),
         table(columns, rows, { label: 'sources of the target' })));
}

// The verdict on ranks' programs beside that of one device.
function refinementSection(proof) {
  const part = section('proof', 'Proof');
  part.append(html('p', {}, html('strong', {}, proof.verdict),
    ` on ${formatCount(proof.ranks, 'rank')}: ${proof.ops} ops in all programs, ` +
    `${formatCount(proof.rounds, 'round')} of inputs.`));
  if (proof.refines) part.append(html('p', {},
    'For all inputs that are related as stated, the ranks together compute what one device ' +
    'computes, if floats are computed without rounding. The verdict does not cover rounding, ' +
    'overflow and NaNs.'));
  if (proof.not_proven) part.append(html('p', { class: 'worse' }, proof.not_proven));
  for (const finding of proof.differences) {
    const text = html('div', { class: 'difference' }, html('p', {}, finding.message));
    if (finding.fix) text.append(html('p', {}, finding.fix));
    if (finding.at) text.append(html('p', {}, 'at: ', html('code', {}, finding.at)));
    if (finding.other)
      text.append(html('p', {}, `${finding.other_program}: `, html('code', {}, finding.other)));
    part.append(text);
  }
  const columns = [{ title: 'output' }, { title: 'on the ranks' }, { title: 'required' },
                   { title: 'holds' }];
  part.append(table(columns, proof.outputs.map(output => row(columns, [
    html('code', {}, output.output), output.relation || 'not found',
    output.required ? 'yes' : 'no', output.holds ? 'yes' : 'no'])),
    { label: 'outputs of the reference' }));
  const list = (title, texts) => texts.length && part.append(html('h3', {}, title),
    html('ul', {}, texts.map(text => html('li', {}, text))));
  list('Premises', proof.premises);
  list('Scope', proof.notes);
  if (proof.values && proof.values.length) {
    const names = [{ title: 'value' }, { title: 'relation' }, { title: 'of the reference' }];
    part.append(html('details', {},
      html('summary', {}, `Relations of ${proof.values.length} values`),
      table(names, proof.values.map(value => row(names, [
        html('code', {}, value.value), value.relation, value.reference || ''])),
        { label: 'relations of values' })));
  }
  return part;
}

function proofSection(proof) {
  // Only ranks that are compared with a reference have relations of outputs.
  if (proof.outputs) return refinementSection(proof);
  const part = section('proof', 'Proof');
  const evaluated = proof.evaluated_ranks < proof.ranks
    ? ` (${proof.evaluated_ranks} evaluated; the others have the same inputs)` : '';
  part.append(html('p', {}, html('strong', {}, proof.verdict),
    ` on ${formatCount(proof.ranks, 'rank')}${evaluated}: ${proof.ops} ops ` +
    `in both programs, ${proof.evaluated_ops} evaluations of ops in ` +
    `${formatCount(proof.rounds, 'round')} of inputs.`));
  if (proof.equivalent) part.append(html('p', {},
    'For all inputs with the stated placements, both programs return the same values on every ' +
    'rank, if floats are computed without rounding. The verdict does not cover rounding, ' +
    'overflow and NaNs.'));
  if (proof.not_proven) part.append(html('p', { class: 'worse' }, proof.not_proven));
  for (const difference of proof.differences)
    part.append(html('div', { class: 'difference' }, html('p', {}, difference.message),
      html('p', {}, 'first: ', html('code', {}, difference.first), html('br'),
           'second: ', html('code', {}, difference.second))));
  const list = (title, texts) => texts.length && part.append(html('h3', {}, title),
    html('ul', {}, texts.map(text => html('li', {}, text))));
  list('Premises and scope', proof.notes);
  list('Stated of inputs', proof.premises);
  list('Assumed, because it is not stated', proof.assumptions);
  if (proof.extents && proof.extents.length) {
    const columns = [{ title: 'size', number: true }, { title: 'evaluated', number: true },
                     { title: 'dims', number: true }, { title: 'why these indices suffice' },
                     { title: 'first use' }];
    part.append(html('details', {},
      html('summary', {}, 'Evaluated indices of each size'),
      table(columns, proof.extents.map(extent => row(columns, [
        extent.size, extent.indices, extent.count, extent.reason,
        html('code', {}, `dim ${extent.dim} of ${extent.value}`)])), { label: 'sizes' })));
  }
  return part;
}
