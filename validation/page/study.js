// Draws the charts of a study: throughput by number of workers or by configuration, shares of time, accuracy, and
// published figures. A chart without a canvas on the page is not drawn.
(() => {
  const {report, color, shade, shades, axis, categories, element, legend, roundTicks, threeDigits, timeScale} = tandem;
  const draw = (id, configuration) => { if (element(id)) new Chart(element(id), configuration()); };
  const range = values => [Math.min(...values), Math.max(...values)];
  const tooltip = label => ({plugins: {tooltip: {callbacks: {label}}}});
  const {lines, configurations, panels} = report;
  const algorithms = [...new Set(configurations.map(own => own.algorithm))];
  const shadeOf = own => shade(algorithms.indexOf(own.algorithm));
  /** Small multiples: a panel has the configurations of one group, and all panels share an axis. */
  const panelsOf = id => panels.map(({configurations: members}, index) => [`${id}-${index}`, members.map(at => configurations[at])]);
  /** In a panel the algorithm tells configurations apart, unless there is only one panel. */
  const labelOf = own => (panels.length > 1 ? own.algorithm : own.name);

  /** One line per name over the numbers of workers; the knee is the large point. */
  const drawLines = (id, pick, title, more, unit) => draw(id, () => {
    const [few, many] = range(lines.flatMap(line => line.workers));
    return {
      type: 'line',
      data: {datasets: lines.map((line, index) => ({
        label: line.name, borderColor: shade(index), backgroundColor: shade(index), borderWidth: 2,
        data: line.workers.map((workers, at) => ({x: workers, y: pick(line, at)})),
        pointRadius: line.workers.map(workers => (workers === line.knee ? 7 : 3)),
        pointStyle: line.workers.map(workers => (workers === line.knee ? 'rectRot' : 'circle'))}))},
      options: {
        scales: {
          x: axis('workers', {type: 'logarithmic', min: few, max: many,
            afterBuildTicks: scale => { scale.ticks = [...new Set(lines.flatMap(line => line.workers))].sort((a, b) => a - b).map(value => ({value})); },
            ticks: {callback: value => threeDigits(value), autoSkip: true, maxRotation: 0}}),
          y: axis(title, more)},
        ...tooltip(item => `${item.dataset.label}, ${threeDigits(item.parsed.x)} workers: ${threeDigits(item.parsed.y)} ${unit}`)},
    };
  });
  if (lines.length > 0) {
    const [low, high] = range(lines.flatMap(line => line.throughput));
    drawLines('line-throughput', (line, at) => line.throughput[at], 'throughput (samples/s)',
              {type: 'logarithmic', ticks: {callback: roundTicks(high / low)}}, 'samples/s');
    drawLines('line-efficiency', (line, at) => line.efficiency[at] * 100, 'efficiency (%)', {beginAtZero: true}, '%');
    ['line-throughput', 'line-efficiency'].forEach(id =>
      legend(`${id}-legend`, shades(lines.map(line => line.name))));
  }

  /** Draws the interval of each bar that has one. */
  const whiskers = members => ({
    id: 'whiskers',
    afterDatasetsDraw({ctx, scales: {x, y}}) {
      ctx.save();
      ctx.strokeStyle = color.ink;
      members.forEach((own, index) => {
        if (!own.intervals.throughput) return;
        const [low, high] = own.intervals.throughput.map(end => x.getPixelForValue(end)), at = y.getPixelForValue(index);
        ctx.beginPath();
        [[low, at, high, at], [low, at - 4, low, at + 4], [high, at - 4, high, at + 4]].forEach(([x1, y1, x2, y2]) => {
          ctx.moveTo(x1, y1);
          ctx.lineTo(x2, y2);
        });
        ctx.stroke();
      });
      ctx.restore();
    },
  });
  const throughputText = ({throughput, intervals}) => `${threeDigits(throughput)} samples/s` +
    (intervals.throughput ? ` (90 % of simulations: ${intervals.throughput.map(threeDigits).join(' to ')})` : '');
  const most = Math.max(...configurations.flatMap(own => [own.throughput, ...(own.intervals.throughput || [])]));
  panelsOf('throughput').forEach(([id, members]) => draw(id, () => ({
    type: 'bar',
    data: {labels: members.map(labelOf), datasets: [
      {data: members.map(own => own.throughput), backgroundColor: color.simulated, maxBarThickness: 14}]},
    options: {indexAxis: 'y', scales: {x: axis('throughput (samples/s)', {min: 0, suggestedMax: most}), y: categories},
              ...tooltip(item => throughputText(members[item.dataIndex]))},
    plugins: [whiskers(members)],
  })));

  const exchange = (own, part) => (own.exchange_shares ? own.exchange_shares[part] : 0);
  const parts = [
    ['computing', '#17685f', own => own.shares.computing], ['data', '#8d99ae', own => own.shares.data],
    ['query', '#f2c14e', own => own.shares.query],
    ['communicating', '#b98a6c', own => exchange(own, 'communicating')],
    ['waiting', '#dfc8bb', own => exchange(own, 'waiting')],
    ['communicating and waiting', '#c9a0dc', own => (own.exchange_shares ? 0 : own.shares.exchange)],
    ['other', '#e9edf2', own => own.shares.other],
  ].filter(([, , value]) => configurations.some(own => own.shares && value(own) > 0));
  panelsOf('shares').forEach(([id, members]) => {
    draw(id, () => ({
      type: 'bar',
      data: {labels: members.map(labelOf), datasets: parts.map(([label, backgroundColor, value]) => ({
        label, backgroundColor, data: members.map(own => (own.shares ? value(own) * 100 : 0)), maxBarThickness: 14}))},
      options: {indexAxis: 'y', scales: {x: axis('of the makespan, mean over workers (%)', {stacked: true, min: 0, max: 100}), y: {...categories, stacked: true}},
                ...tooltip(item => `${item.dataset.label}: ${threeDigits(item.parsed.x)} %`)},
    }));
    if (element(id)) legend(`${id}-legend`, parts.map(([label, box]) => [label, box]));
  });

  const curves = configurations.filter(own => own.curve.length > 0);
  /** `pick`: the x value of a point [time, samples, accuracy]. */
  const drawAccuracy = (name, pick, title) => {
    const [first, last] = range(curves.flatMap(own => own.curve.map(pick)).filter(x => x > 0));
    const target = Math.max(0, ...curves.map(own => own.target || 0));
    const x = last > 30 * first
      ? {type: 'logarithmic', min: first, max: last, ticks: {callback: roundTicks(last / first), maxRotation: 0}}
      : {type: 'linear', min: 0, max: last};
    panelsOf(name).forEach(([id, all]) => {
      const members = all.filter(own => own.curve.length > 0);
      draw(id, () => ({
        type: 'line',
        data: {datasets: [
          ...members.map(own => ({
            label: labelOf(own), borderColor: shadeOf(own), backgroundColor: shadeOf(own), borderWidth: 2, pointRadius: 2,
            data: own.curve.filter(point => pick(point) > 0).map(point => ({x: pick(point), y: point[2] * 100}))})),
          ...(target > 0 ? [{label: 'target', data: [first, last].map(at => ({x: at, y: target * 100})), borderColor: color.soft,
                             borderDash: [5, 4], borderWidth: 1, pointRadius: 0}] : [])]},
        options: {scales: {x: axis(title, x), y: axis('test accuracy (%)', {suggestedMin: 0, suggestedMax: 100})},
                  ...tooltip(item => `${item.dataset.label}: ${threeDigits(item.parsed.y)} %`)},
      }));
      if (element(id)) legend(`${id}-legend`, shades(algorithms));
    });
  };
  if (curves.length > 0) {
    const scale = timeScale(curves.flatMap(own => own.curve.map(point => point[0])));
    drawAccuracy('accuracy', point => point[0] * scale.factor, `time (${scale.unit})`);
    drawAccuracy('accuracy-samples', point => point[1], 'samples processed by all workers');
  }

  const gains = report.published.filter(row => row.figure.endsWith('speed_up') && row.ours !== null);
  draw('published', () => ({
    type: 'bar',
    data: {labels: gains.map(row => row.configuration), datasets: [
      {label: 'published', data: gains.map(row => row.value), backgroundColor: color.measured, maxBarThickness: 12},
      {label: 'simulated', data: gains.map(row => row.ours), backgroundColor: color.simulated, maxBarThickness: 12}]},
    options: {indexAxis: 'y', scales: {x: axis('speed-up', {beginAtZero: true}), y: categories},
              ...tooltip(item => `${item.dataset.label}: ${threeDigits(item.parsed.x)}`)},
  }));
  if (element('published')) legend('published-legend', [['published', color.measured], ['simulated', color.simulated]]);
  document.body.dataset.drawn = Object.keys(Chart.instances).length;
})();
