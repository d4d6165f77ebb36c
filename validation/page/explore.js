// Shows one chosen configuration of a report in detail: phases, distribution, attribution, shares of time, accuracy,
// staleness, local steps and the timeline.
(() => {
  const {report, color, shade, axis, categories, element, make, legend, svg, drawRuler, threeDigits, timeScale, timeText, percent} = tandem;
  if (!element('explorer')) {
    document.body.dataset.drawn = Object.keys(Chart.instances).length;
    return;
  }
  const chart = (id, title) => `<div class="chart"><h3>${title}</h3><div style="height: 250px"><canvas id="${id}"></canvas></div>
    <p class="lead" id="no-${id}"></p></div>`;
  element('explorer').innerHTML = `
    <p id="choice"><label>Configuration <select id="chosen"></select></label></p>
    <h3 id="chosen-name"></h3>
    <div class="legend" id="worlds-legend"></div>
    <div class="charts">
      ${chart('phases', 'Mean time of each phase of a step')}
      ${chart('cdf', 'Distribution of step times')}
      <div class="chart"><h3>Largest contributions to the error of step time</h3><div id="attribution"></div></div>
      <div class="chart"><h3>Where workers' time went</h3><div class="legend" id="shares-legend"></div>
        <div id="shares-part"><canvas id="shares"></canvas></div><p class="lead" id="no-shares"></p></div>
      ${chart('accuracy', 'Test accuracy over time')}
      ${chart('accuracy-samples', 'Test accuracy over samples')}
      ${chart('staleness', 'Staleness of applied pushes')}
      ${chart('local-steps', 'Local steps per round')}
      ${chart('phases-simulated', 'Phases of workers, simulated')}
      ${chart('phases-measured', 'Phases of workers, measured')}
    </div>
    <div id="data-part"></div>
    <div id="members-part"></div>
    <h3>Timeline of a few steps, simulated above measured</h3>
    <p class="lead">Begins with the first step after the warm-up. Shows the first of the measured runs.
      <span class="screen">Zoom with the wheel or the buttons, move by dragging, hover over a slice for its times.</span></p>
    <div class="toolbar"><button id="zoom-in" type="button">Zoom in</button><button id="zoom-out" type="button">Zoom out</button>
      <button id="zoom-all" type="button">All</button></div>
    <div class="legend" id="timeline-legend"></div>
    <div class="timeline" id="timeline"></div>
    <p class="lead" id="ranks-left-out"></p>`;
  const chosen = element('chosen');
  chosen.append(...report.details.map(detail => make('option', {textContent: `${detail.name} (${detail.error})`})));
  element('choice').hidden = report.details.length === 1;
  legend('worlds-legend', [['simulated', color.simulated], ['measured', color.measured]]);
  const worlds = ['simulated', 'measured'];
  /** Waiting is pale, computing is strong; in the order of `report.phases`. */
  const phaseColors = ['#8d99ae', '#2a9d8f', '#17685f', '#8e6bbf', '#f2c14e', '#dfc8bb'];
  const charts = {};
  const draw = (id, configuration) => {
    if (charts[id]) charts[id].destroy();
    charts[id] = new Chart(element(id), configuration);
  };

  const drawPhases = detail => {
    const scale = timeScale(worlds.flatMap(world => detail.phases[world]));
    draw('phases', {
      type: 'bar',
      data: {labels: report.phases, datasets: worlds.map(world => ({
        label: world, data: detail.phases[world].map(time => time * scale.factor), backgroundColor: color[world], maxBarThickness: 40}))},
      options: {datasets: {bar: {categoryPercentage: 0.6}},
                scales: {x: categories, y: axis(`mean time per step (${scale.unit})`, {beginAtZero: true})},
                plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${threeDigits(item.parsed.y)} ${scale.unit}`}}}},
    });
  };

  const drawDistribution = detail => {
    const scale = timeScale(worlds.flatMap(world => detail.step_times[world]));
    draw('cdf', {
      type: 'line',
      data: {datasets: worlds.map(world => ({
        label: world, borderColor: color[world], backgroundColor: color[world], borderWidth: 2, pointRadius: 0, pointHitRadius: 6,
        data: detail.step_times[world].map((time, index, all) => ({x: time * scale.factor, y: 100 * index / (all.length - 1)}))}))},
      options: {scales: {x: axis(`step time (${scale.unit})`, {type: 'linear'}), y: axis('cumulative share of steps (%)', {min: 0, max: 100})},
                plugins: {tooltip: {callbacks: {label: item =>
                  `${item.dataset.label}: ${threeDigits(item.parsed.y)} % within ${threeDigits(item.parsed.x)} ${scale.unit}`}}}},
    });
  };

  /** A chart that may have no data; then the sentence `why` takes its place. */
  const drawIf = (id, has, why, configuration) => {
    element(`no-${id}`).textContent = has ? '' : why;
    element(id).parentElement.hidden = !has;
    if (has) {
      draw(id, configuration());
    } else if (charts[id]) {
      charts[id].destroy();
      delete charts[id];
    }
  };

  /** `pick`: the x value of a point [time, samples, accuracy]. */
  const accuracyChart = (detail, pick, title) => {
    const {simulated, measured} = detail.accuracy;
    const last = Math.max(...[simulated, ...measured].flat().map(pick));
    const line = (world, curve, width) => ({
      label: world, data: curve.map(point => ({x: pick(point), y: point[2] * 100})),
      borderColor: color[world], backgroundColor: color[world], borderWidth: width, pointRadius: width, tension: 0});
    const target = {label: 'target', data: [0, last].map(x => ({x, y: detail.target * 100})),
                    borderColor: color.soft, borderDash: [5, 4], borderWidth: 1, pointRadius: 0};
    return {
      type: 'line',
      data: {datasets: [line('simulated', simulated, 2.5),
                        ...measured.map((curve, run) => line('measured', curve, run === 0 ? 2 : 1)),
                        ...(detail.target > 0 ? [target] : [])]},
      options: {scales: {x: axis(title, {type: 'linear', beginAtZero: true}),
                         y: axis('test accuracy (%)', {suggestedMin: 0, suggestedMax: 100})},
                plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${threeDigits(item.parsed.y)} %`}}}},
    };
  };
  const drawAccuracy = detail => {
    const {simulated, measured} = detail.accuracy, has = simulated.length > 0;
    const scale = timeScale([simulated, ...measured].flat().map(point => point[0]));
    drawIf('accuracy', has, 'No accuracy: nothing was evaluated with real mathematics (workload.math, evaluate_every).',
           () => accuracyChart(detail, point => point[0] * scale.factor, `time (${scale.unit})`));
    drawIf('accuracy-samples', has, '', () => accuracyChart(detail, point => point[1], 'samples processed by all workers'));
  };

  const drawShares = detail => {
    const {ranks, left_out: left} = detail.ranks;
    const rows = ranks.flatMap(rank => worlds.map(world => ({label: `${rank.label}, ${world}`, run: rank[world]})));
    const split = rows.every(({run}) => !run || run.exchange_shares);
    const share = name => run => run.shares[name], part = name => run => run.exchange_shares[name];
    const parts = [
      ['computing', '#17685f', share('computing')], ['data', '#8d99ae', share('data')], ['query', '#f2c14e', share('query')],
      ...(split ? [['exchange: communicating', '#b98a6c', part('communicating')], ['exchange: waiting', '#dfc8bb', part('waiting')]]
                : [['exchange', '#dfc8bb', share('exchange')]]),
      ...(rows.some(({run}) => run && run.shares.commits > 0) ? [['waiting for commits', '#6d597a', run => run.shares.commits || 0]] : []),
      ['other', '#e9edf2', share('other')]];
    legend('shares-legend', parts.map(([name, shade]) => [name, shade]));
    element('shares-part').style.height = `${60 + 22 * rows.length}px`;
    element('no-shares').textContent = left > 0 ? `${left} more workers are not shown.` : '';
    draw('shares', {
      type: 'bar',
      data: {labels: rows.map(row => row.label), datasets: parts.map(([label, backgroundColor, value]) => ({
        label, backgroundColor, data: rows.map(({run}) => run ? value(run) * 100 : 0), maxBarThickness: 14}))},
      options: {indexAxis: 'y', scales: {x: axis('of the makespan (%)', {stacked: true, min: 0, max: 100}), y: {...categories, stacked: true}},
                plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${threeDigits(item.parsed.x)} %`}}}},
    });
  };

  /** How often each value occurred, in both worlds; values of a wide range in bins of equal width. */
  const distributionChart = (distributions, title, what) => {
    const most = 40, present = worlds.map(world => distributions[world]).filter(Boolean);
    const low = Math.min(...present.map(one => one.min)), high = Math.max(...present.map(one => one.max));
    const width = Math.ceil((high - low + 1) / most), bins = Math.ceil((high - low + 1) / width);
    const shares = one => {
      const sums = new Array(bins).fill(0);
      (one ? one.counts : []).forEach(([value, times]) => { sums[Math.floor((value - low) / width)] += 100 * times / one.count; });
      return sums;
    };
    const labels = Array.from({length: bins}, (_, bin) =>
      width === 1 ? `${low + bin}` : `${low + bin * width} to ${low + (bin + 1) * width - 1}`);
    return {
      type: 'bar',
      data: {labels, datasets: worlds.map(world => ({
        label: world, data: shares(distributions[world]), backgroundColor: color[world], maxBarThickness: 40}))},
      options: {scales: {x: {...axis(title), grid: {display: false, borderColor: color.line}}, y: axis(`${what} (%)`, {beginAtZero: true})},
                plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${threeDigits(item.parsed.y)} %`}}}},
    };
  };
  const exceeds = (distributions, bound) => worlds.some(world => distributions[world] && distributions[world].max > bound);
  const drawStaleness = detail => {
    const all = detail.staleness;
    drawIf('staleness', exceeds(all, 0),
           all.simulated ? 'No staleness: every push was computed on the newest model.' : 'No staleness: there is no server.',
           () => distributionChart(all, 'model updates between computing and applying a push', 'pushes'));
  };
  const drawLocalSteps = detail =>
    drawIf('local-steps', exceeds(detail.local_steps, 1), 'Every worker exchanges after each step.',
           () => distributionChart(detail.local_steps, 'steps from one exchange to the next', 'rounds of workers'));

  /** Where each worker is in its step whenever the first worker starts one: locked phases are horizontal rows. */
  const phasesChart = (workers, series, order) => {
    const others = workers.slice(1);
    return {
      type: 'scatter',
      data: {datasets: others.map((label, index) => ({
        label, backgroundColor: shade(index), borderColor: shade(index), pointRadius: 2.5,
        data: series.times.map((x, row) => ({x, y: series.phases[row][index + 1]}))}))},
      options: {scales: {x: axis(`time (s); phase order ${threeDigits(order)}`, {type: 'linear'}),
                         y: axis('share of the step done', {min: 0, max: 1})},
                plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${threeDigits(item.parsed.y)}`}}}},
    };
  };
  const drawPhaseSeries = detail => worlds.forEach(world => {
    const {workers} = detail.phase_series;
    drawIf(`phases-${world}`, workers.length > 1, 'No phases: one worker, or too few steps.',
           () => phasesChart(workers, detail.phase_series[world], detail.phase_order[world]));
  });

  const drawAttribution = detail => {
    const {parts, rest, total} = detail.attribution;
    const rows = [...parts, ...(rest === 0 ? [] : [['all smaller parts', rest]]), ['error of step time', total]];
    element('attribution').replaceChildren(make('table', {}, rows.map(([text, share], index) =>
      make('tr', {className: index === rows.length - 1 ? 'total' : ''},
           [make('td', {textContent: text}), make('td', {textContent: percent(share)})]))));
  };

  // ---- Timeline: two SVGs per rank, simulated and measured; their view box is the visible part of time ----
  const rowHeight = 14;
  let view = {begin: 0, length: 1}, whole = 1, rows = [], ruler = null;

  const addRow = (world, slices, members, parent) => {
    const label = make('span', {className: `world ${world}`, textContent: world});
    const picture = svg('svg', {height: rowHeight, preserveAspectRatio: 'none'});
    slices.forEach(([start, duration, phase, step]) => {
      const bar = svg('rect', {x: start, y: 0, width: duration, height: rowHeight, fill: phaseColors[phase]}, picture);
      svg('title', {}, bar).textContent = `step ${step}, ${report.phases[phase]}: ${timeText(duration)}, from ${timeText(start)}`;
    });
    if (members) tandem.members.drawWindow(picture, members, rowHeight);
    parent.append(label, picture);
    rows.push(picture);
  };
  const show = (begin, length) => {
    view.length = Math.min(whole, Math.max(whole / 2000, length));
    view.begin = Math.min(Math.max(0, begin), whole - view.length);
    rows.forEach(row => row.setAttribute('viewBox', `${view.begin} 0 ${view.length} ${rowHeight}`));
    drawRuler(ruler, view.begin, view.length);
  };
  const zoom = (factor, place = 0.5) =>
    show(view.begin + view.length * place * (1 - factor), view.length * factor);

  const drawTimeline = detail => {
    const part = element('timeline'), {ranks, length_s: length, ranks_left_out: left} = detail.timeline;
    rows = [];
    part.replaceChildren();
    ranks.forEach(rank => {
      part.append(make('span', {className: 'rank', textContent: rank.label}));
      worlds.forEach(world => addRow(world, rank[world], (rank.members || {})[world], part));
      part.append(make('span', {className: 'gap'}));
    });
    ruler = svg('svg', {class: 'axis', height: 20});
    part.append(make('span', {}), make('span', {}), ruler);
    whole = length;
    show(0, length);
    element('ranks-left-out').textContent = left > 0 ? `${left} more workers are not shown.` : '';
  };

  const place = event => {
    const box = rows[0].getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  };
  const board = element('timeline');
  board.addEventListener('wheel', event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, place(event))));
  }, {passive: false});
  let grip = null;
  board.addEventListener('pointerdown', event => {
    grip = {place: place(event), begin: view.begin};
    board.setPointerCapture(event.pointerId);
  });
  board.addEventListener('pointermove', event => {
    if (grip) show(grip.begin + (grip.place - place(event)) * view.length, view.length);
  });
  ['pointerup', 'pointercancel'].forEach(name => board.addEventListener(name, () => { grip = null; }));
  element('zoom-in').addEventListener('click', () => zoom(0.5));
  element('zoom-out').addEventListener('click', () => zoom(2));
  element('zoom-all').addEventListener('click', () => show(0, whole));

  const drawMembers = detail => tandem.members.draw(element('members-part'),
    detail.members ? worlds.map(world => ({name: world, color: color[world], members: detail.members[world]})) : []);
  const drawData = detail => tandem.data.draw(element('data-part'),
    detail.data ? worlds.map(world => ({name: world, epochs: detail.data[world]})) : []);
  /** Marks of machines are explained where there are any. */
  const drawLegend = detail => legend('timeline-legend', [
    ...report.phases.map((phase, index) => [phase, phaseColors[index]]),
    ...(detail.members ? tandem.members.legend : [])]);
  const choose = () => {
    const detail = report.details[chosen.selectedIndex];
    element('chosen-name').textContent = detail.name;
    [drawPhases, drawDistribution, drawAttribution, drawShares, drawAccuracy, drawStaleness, drawLocalSteps, drawPhaseSeries, drawData, drawMembers, drawTimeline, drawLegend].forEach(part => part(detail));
  };
  chosen.addEventListener('change', choose);
  choose();
  document.body.dataset.drawn = Object.keys(Chart.instances).length;
})();
