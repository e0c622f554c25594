'use strict';
// Puts the page together from the data.

function applyFilter(query, view) {
  for (const { node, text } of filtered) node.hidden = query !== '' && !text.includes(query);
  if (view) view.filter(query);
}

function chooseTheme(button, view) {
  const names = ['automatic', 'light', 'dark'];
  let current = 0;
  button.addEventListener('click', () => {
    current = (current + 1) % names.length;
    document.documentElement.dataset.theme = names[current];
    button.textContent = `Theme: ${names[current]}`;
    if (view) view.readColours(), view.draw();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    if (view) view.readColours(), view.draw();
  });
}

function navigation(parts) {
  return html('nav', { 'aria-label': 'Sections' }, parts.map(part =>
    html('a', { href: '#' + part.id }, part.querySelector('h2').textContent)));
}

function buildPage() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const programs = data.programs.filter(program => program.lanes);
  const parts = [];
  let view = null;
  if (programs.length) {
    const lanes = lanesSection(programs, data.strings);
    view = lanes.view;
    parts.push(lanes.part, kindsSection(programs));
  }
  if (data.rewrites) parts.push(rewritesSection(data.rewrites));
  if (data.explanation) parts.push(refusedSection(data.explanation));
  if (data.proof && data.command === 'verify') parts.unshift(proofSection(data.proof));
  else if (data.proof) parts.push(proofSection(data.proof));
  if (programs.length || data.sources.length) parts.push(sourcesSection(data, programs));
  if (data.remarks) parts.push(remarksSection(data.remarks));
  if (programs.length) parts.push(targetSection(data.target));
  const main = document.getElementById('report');
  main.append(headline(data, programs), navigation(parts), ...parts);

  const filter = document.getElementById('filter');
  filter.addEventListener('input', () => applyFilter(filter.value.trim().toLowerCase(), view));
  document.addEventListener('keydown', event => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName) &&
      document.activeElement.type !== 'checkbox';
    if (event.key === '/' && !isTyping) {
      event.preventDefault();
      filter.focus();
    } else if (event.key === 'Escape' && document.activeElement === filter) {
      filter.value = '';
      applyFilter('', view);
      filter.blur();
    }
  });
  chooseTheme(document.getElementById('theme'), view);
}

buildPage();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
