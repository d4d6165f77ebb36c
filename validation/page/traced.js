// Draws the page of an imported job: one step by streams of the GPU, and steps on other machines.
(() => {
  const {report, color, shade, shades, axis, element, make, legend, svg, drawRuler, threeDigits, timeText} = tandem;
  const shadeOf = {'forward pass': '#2a9d8f', 'backward pass': '#17685f', optimiser: '#8e6bbf', 'other computation': '#8d99ae',
    'hidden communication': '#9cc3f5', 'exposed communication': '#c5221f', copies: '#f2c14e'};
  const rowHeight = 22;

  const drawTimeline = () => {
    const part = element('explorer'), {lanes, length_s: length, ready_s: ready} = report.timeline;
    if (!part) return;
    const used = Object.keys(shadeOf).filter(kind => lanes.some(lane => lane.blocks.some(block => block[2] === kind)));
    const board = make('div', {className: 'timeline streams'});
    const picture = parent => {
      const made = svg('svg', {height: rowHeight, preserveAspectRatio: 'none', viewBox: `0 0 ${length} ${rowHeight}`});
      parent.append(made);
      return made;
    };
    // On a white line, since those of the backward pass lie on a dark bar.
    const markReady = rows => ready.forEach((time, bucket) => {
      for (const [stroke, width] of [['white', 4], [color.ink, 1.5]]) {
        const line = svg('line', {x1: time, x2: time, y1: 0, y2: rowHeight, stroke, 'stroke-width': width,
                                  'vector-effect': 'non-scaling-stroke'}, rows);
        svg('title', {}, line).textContent = `bucket ${bucket} is ready after ${timeText(time)}`;
      }
    });
    lanes.forEach(lane => {
      board.append(make('span', {className: 'lane', textContent: lane.name}));
      const rows = picture(board);
      lane.blocks.forEach(([begin, duration, kind]) => {
        const bar = svg('rect', {x: begin, y: 0, width: duration, height: rowHeight, fill: shadeOf[kind]}, rows);
        svg('title', {}, bar).textContent = `${kind}: ${timeText(duration)}, from ${timeText(begin)}`;
      });
      markReady(rows);
    });
    const ruler = svg('svg', {class: 'axis', height: 20});
    board.append(make('span', {}), ruler);
    part.append(make('div', {className: 'legend', id: 'streams-legend'}), board);
    legend('streams-legend', [...used.map(kind => [kind, shadeOf[kind]]), ...(ready.length ? [['bucket ready', color.ink]] : [])]);
    drawRuler(ruler, 0, length);
  };

  /** A logarithmic axis with ticks at these values alone. */
  const ticksAt = (title, values, more) => axis(title, {
    type: 'logarithmic', ...more, afterBuildTicks: scale => { scale.ticks = values.map(value => ({value})); },
    ticks: {autoSkip: false, maxRotation: 0, callback: threeDigits}});
  const drawCurves = (id, curves, x, y, text) => {
    const all = [...new Set(curves.flatMap(curve => curve.points.map(point => point.x)))].sort((a, b) => a - b);
    new Chart(element(id), {
      type: 'line',
      data: {datasets: curves.map(({name, points}, index) => ({
        label: name, data: points, borderColor: shade(index), backgroundColor: shade(index), borderWidth: 2, pointRadius: 3, clip: 5}))},
      options: {
        scales: {x: ticksAt(x, all, {min: all[0], max: all[all.length - 1]}), y},
        plugins: {tooltip: {callbacks: {title: () => '', label: ({dataset, raw}) => `${dataset.label}, ${text(raw)}`}}},
      },
    });
    legend(`${id}-legend`, shades(curves.map(curve => curve.name)));
  };

  drawTimeline();
  const {by_workers: byWorkers, by_bandwidth: byBandwidth} = report.results;
  drawCurves('by-workers', byWorkers, 'GPUs', axis('share of the speed of one GPU alone (%)', {min: 0, max: 100}),
             ({x, y}) => `${x} GPUs: ${threeDigits(y)} %`);
  const times = byBandwidth.flatMap(curve => curve.points.map(point => point.y));
  const least = Math.min(...times) / 1.3, most = Math.max(...times) * 1.3, round = [];
  for (let power = 10 ** Math.floor(Math.log10(least)); power < most; power *= 10)
    round.push(...[1, 2, 5].map(factor => factor * power).filter(value => value >= least && value <= most));
  drawCurves('by-bandwidth', byBandwidth, "bandwidth of each GPU's link (Gb/s)",
             ticksAt('step (ms)', round, {min: least, max: most}), ({x, y}) => `${threeDigits(x)} Gb/s: ${threeDigits(y)} ms`);
  document.body.dataset.drawn = Object.keys(Chart.instances).length;
})();
