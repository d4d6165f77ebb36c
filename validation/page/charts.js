// Draws the charts of the report from the document embedded in the page.
(() => {
  const report = JSON.parse(document.getElementById('report').textContent);
  const color = {simulated: '#2563eb', measured: '#e8710a', line: '#dfe4ea', ink: '#1b2430', soft: '#5b6675'};
  const names = report.variants.map(variant => variant.name);
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
  Chart.defaults.devicePixelRatio = Math.max(2, window.devicePixelRatio || 1);
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  Chart.defaults.color = color.soft;
  Chart.defaults.plugins.legend.display = false;

  const figure = (variant, key) => variant.figures.find(f => f.key === key && f.rank === -1);
  const threeDigits = value => Number(value.toPrecision(3)).toLocaleString('en', {maximumSignificantDigits: 3});
  /** One scale for all values of an axis. */
  const timeScale = values => {
    const largest = Math.max(...values);
    if (largest >= 1) return {factor: 1, unit: 's'};
    return largest >= 1e-3 ? {factor: 1e3, unit: 'ms'} : {factor: 1e6, unit: 'µs'};
  };
  const axis = (title, more = {}) => ({
    title: {display: true, text: title, color: color.soft},
    grid: {color: color.line, borderColor: color.line},
    ...more,
  });
  const categories = {grid: {display: false, borderColor: color.line}, ticks: {color: color.ink, autoSkip: false}};
  const withUnit = unit => ({callbacks: {label: item =>
    `${item.dataset.label}: ${threeDigits(item.chart.options.indexAxis === 'y' ? item.parsed.x : item.parsed.y)} ${unit}`}});
  const worlds = (simulated, measured, thickness) => [
    {label: 'simulated', data: simulated, backgroundColor: color.simulated, maxBarThickness: thickness},
    {label: 'measured', data: measured, backgroundColor: color.measured, maxBarThickness: thickness},
  ];
  /** Horizontal pairs of bars, one pair a name. */
  const pairs = (id, labels, simulated, measured, title, unit) => {
    const canvas = document.getElementById(id);
    if (!canvas) return;
    new Chart(canvas, {
      type: 'bar',
      data: {labels, datasets: worlds(simulated, measured, 14)},
      options: {indexAxis: 'y', scales: {x: axis(title, {beginAtZero: true}), y: categories},
                plugins: {tooltip: withUnit(unit)}},
    });
  };

  const steps = report.variants.map(variant => figure(variant, 'step_time'));
  const stepScale = timeScale(steps.flatMap(step => [step.simulated, step.measured]));
  pairs('step-time', names, steps.map(step => step.simulated * stepScale.factor),
        steps.map(step => step.measured * stepScale.factor), `mean step time (${stepScale.unit})`, stepScale.unit);
  const ranked = report.ranking.variants;
  pairs('throughput', ranked.map(row => row.name), ranked.map(row => row.simulated_throughput),
        ranked.map(row => row.measured_throughput), 'throughput (samples/s)', 'samples/s');

  /** Error of step time as a dot with its interval, over the band of tolerance. */
  const band = {
    id: 'tolerance',
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales: {x}} = chart;
      const tolerance = report.tolerance * 100;
      const left = x.getPixelForValue(-tolerance), right = x.getPixelForValue(tolerance);
      ctx.save();
      ctx.fillStyle = 'rgba(26, 127, 55, 0.10)';
      ctx.fillRect(left, area.top, right - left, area.bottom - area.top);
      ctx.strokeStyle = '#7a8594';
      ctx.beginPath();
      ctx.moveTo(x.getPixelForValue(0), area.top);
      ctx.lineTo(x.getPixelForValue(0), area.bottom);
      ctx.stroke();
      ctx.restore();
    },
    afterDatasetsDraw(chart) {
      const {ctx, scales: {x}} = chart;
      chart.getDatasetMeta(0).data.forEach((bar, index) => {
        ctx.save();
        ctx.fillStyle = color.ink;
        ctx.beginPath();
        ctx.arc(x.getPixelForValue(steps[index].error * 100), bar.y, 5, 0, 2 * Math.PI);
        ctx.fill();
        ctx.restore();
      });
    },
  };
  const intervals = steps.map(step => (step.interval || [step.error, step.error]).map(end => end * 100));
  const reach = Math.max(report.tolerance * 120, ...intervals.flat().map(end => Math.abs(end) * 1.1));
  new Chart(document.getElementById('step-error'), {
    type: 'bar',
    data: {labels: names, datasets: [{label: 'error', data: intervals, backgroundColor: '#9aa5b4', barThickness: 5}]},
    options: {indexAxis: 'y',
              scales: {x: axis('error of step time (%)', {min: -reach, max: reach,
                       ticks: {callback: value => (value > 0 ? '+' : '') + threeDigits(value).replace('-', '−'), includeBounds: false}}),
                       y: categories},
              plugins: {tooltip: {callbacks: {label: item => `${threeDigits(steps[item.dataIndex].error * 100)} %`}}}},
    plugins: [band],
  });

  report.variants.forEach((variant, index) => {
    const phases = report.phases.map(name => figure(variant, `phase.${name}`));
    const scale = timeScale(phases.flatMap(phase => [phase.simulated, phase.measured]));
    new Chart(document.getElementById(`phases-${index}`), {
      type: 'bar',
      data: {labels: report.phases, datasets: worlds(phases.map(phase => phase.simulated * scale.factor),
                                                     phases.map(phase => phase.measured * scale.factor), 60)},
      options: {datasets: {bar: {categoryPercentage: 0.6}},
                scales: {x: categories, y: axis(`mean time a step (${scale.unit})`, {beginAtZero: true})},
                plugins: {tooltip: withUnit(scale.unit)}},
    });
  });

  const lastTime = curve => curve.length ? curve[curve.length - 1][0] : 0;
  report.variants.forEach((variant, index) => {
    const canvas = document.getElementById(`accuracy-${index}`);
    if (!canvas) return;
    const curves = [variant.accuracy.simulated, ...variant.accuracy.measured];
    const scale = timeScale(curves.map(lastTime));
    const line = (world, curve, width) => ({
      label: world, data: curve.map(([time, accuracy]) => ({x: time * scale.factor, y: accuracy * 100})),
      borderColor: color[world], backgroundColor: color[world], borderWidth: width, pointRadius: width, tension: 0,
    });
    new Chart(canvas, {
      type: 'line',
      data: {datasets: [line('simulated', variant.accuracy.simulated, 2.5),
                        ...variant.accuracy.measured.map((curve, run) => line('measured', curve, run === 0 ? 2 : 1))]},
      options: {scales: {x: axis(`time (${scale.unit})`, {type: 'linear', beginAtZero: true}),
                         y: axis('test accuracy (%)', {suggestedMin: 0, suggestedMax: 100})},
                plugins: {tooltip: withUnit('%')}},
    });
  });

  window.addEventListener('beforeprint', () => {
    document.querySelectorAll('details').forEach(part => { part.open = true; });
    Object.values(Chart.instances).forEach(chart => chart.resize());
  });
  document.body.dataset.drawn = Object.keys(Chart.instances).length;
})();
