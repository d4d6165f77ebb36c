// Draws the charts over all configurations of a report, from the data embedded in the page.
(() => {
  const {report, color, shade, shades, axis, categories, element, make, legend, percent, roundTicks, signed, threeDigits, timeScale,
         timeText} = tandem;

  const algorithms = [...new Set(report.points.map(point => point.algorithm))];
  const colorOf = algorithm => shade(algorithms.indexOf(algorithm));

  const drawScatter = () => {
    const values = report.points.flatMap(point => [point.simulated, point.measured]);
    const scale = timeScale(values);
    const low = Math.min(...values) * scale.factor / 1.3, high = Math.max(...values) * scale.factor * 1.3;
    const band = 1 + report.tolerance, line = factor => [{x: low, y: low * factor}, {x: high, y: high * factor}];
    const guide = (factor, fill) => ({type: 'line', data: line(factor), borderColor: factor === 1 ? '#7a8594' : 'transparent',
      borderWidth: 1, pointRadius: 0, pointHitRadius: 0, fill, backgroundColor: 'rgba(26, 127, 55, 0.10)', order: 2});
    const limits = {min: low, max: high, type: 'logarithmic', ticks: {callback: roundTicks(high / low), maxRotation: 0}};
    new Chart(element('scatter'), {
      type: 'scatter',
      data: {datasets: [
        ...algorithms.map(algorithm => ({
          label: algorithm,
          data: report.points.filter(point => point.algorithm === algorithm).map(point =>
            ({x: point.measured * scale.factor, y: point.simulated * scale.factor, point})),
          backgroundColor: colorOf(algorithm) + 'b0', borderColor: colorOf(algorithm),
          pointStyle: context => (context.raw && context.raw.point && context.raw.point.set === 'calibration' ? 'triangle' : 'circle'),
          pointRadius: report.points.length > 100 ? 3.5 : 5.5, order: 1,
        })),
        guide(1, false), guide(band, '+1'), guide(1 / band, false),
      ]},
      options: {scales: {x: axis(`measured (${scale.unit})`, limits), y: axis(`simulated (${scale.unit})`, limits)},
                plugins: {tooltip: {filter: item => item.raw.point, callbacks: {label: ({raw}) =>
                  [raw.point.name, `simulated ${timeText(raw.point.simulated)}, measured ${timeText(raw.point.measured)}`,
                   `error ${percent(raw.point.error)}`]}}}},
    });
    legend('scatter-legend', shades(algorithms));
    const sets = new Set(report.points.map(point => point.set));
    if (sets.has('calibration') && sets.size > 1)
      element('scatter-legend').append(make('span', {textContent: '▲ calibration set  ● hold-out set'}));
  };

  /** Draws the band of tolerance and the interval of each error. `along`: the axis of the errors. */
  const marks = (along, points) => ({
    id: 'marks',
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales} = chart;
      const [low, high, zero] = [-1, 1, 0].map(sign => scales[along].getPixelForValue(sign * report.tolerance * 100));
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      ctx.fillStyle = 'rgba(26, 127, 55, 0.10)';
      ctx.strokeStyle = '#7a8594';
      if (along === 'x') ctx.fillRect(low, area.top, high - low, area.height);
      else ctx.fillRect(area.left, high, area.width, low - high);
      ctx.beginPath();
      if (along === 'x') { ctx.moveTo(zero, area.top); ctx.lineTo(zero, area.bottom); }
      else { ctx.moveTo(area.left, zero); ctx.lineTo(area.right, zero); }
      ctx.stroke();
      const other = scales[along === 'x' ? 'y' : 'x'];
      points.forEach((point, index) => {
        if (!point.interval) return;
        const [from, to] = point.interval.map(end => scales[along].getPixelForValue(end * 100));
        const at = other.getPixelForValue(index);
        ctx.strokeStyle = '#9aa5b4';
        ctx.lineWidth = points.length > 100 ? 1 : 3;
        ctx.beginPath();
        if (along === 'x') { ctx.moveTo(from, at); ctx.lineTo(to, at); } else { ctx.moveTo(at, from); ctx.lineTo(at, to); }
        ctx.stroke();
      });
      ctx.restore();
    },
  });

  const drawErrors = () => {
    const points = [...report.points].sort((a, b) => a.error - b.error);
    const named = points.length <= report.named_lines;
    const ends = points.flatMap(point => [point.error, ...(point.interval || [])]).map(end => Math.abs(end) * 110);
    const reach = Math.max(report.tolerance * 120, ...ends);
    const errors = axis('error of step time (%)', {min: -reach, max: reach,
      ticks: {callback: signed, includeBounds: false}});
    const places = named
      ? {type: 'linear', min: -0.6, max: points.length - 0.4, reverse: true, grid: {display: false, borderColor: color.line},
         afterBuildTicks: scale => { scale.ticks = points.map((_, value) => ({value})); },
         ticks: {color: color.ink, autoSkip: false, callback: value => points[value].name}}
      : axis(`configurations, from most optimistic to most pessimistic (${points.length})`,
             {type: 'linear', min: -1, max: points.length, ticks: {display: false}, grid: {display: false, borderColor: color.line}});
    legend('step-error-legend', [[`tolerance of ${threeDigits(report.tolerance * 100)} %`, '#1a7f3733']]);
    new Chart(element('step-error'), {
      type: 'scatter',
      data: {datasets: [{
        data: points.map((point, index) => named ? {x: point.error * 100, y: index} : {x: index, y: point.error * 100}),
        backgroundColor: points.map(point => named ? color.ink : colorOf(point.algorithm)),
        borderColor: 'transparent', pointRadius: points.length > 100 ? 2 : 4.5,
      }]},
      options: {scales: named ? {x: errors, y: places} : {x: places, y: errors},
                plugins: {tooltip: {callbacks: {label: item => {
                  const point = points[item.dataIndex];
                  const interval = point.interval ? ` (${percent(point.interval[0])} to ${percent(point.interval[1])})` : '';
                  return [point.name, `error ${percent(point.error)}${interval}`];
                }}}}},
      plugins: [marks(named ? 'x' : 'y', points)],
    });
  };

  /** Signed and absolute means: two bars per label. */
  const drawPairs = (id, labels, bias, absolute, title) => {
    if (!element(id) || labels.length === 0) return;
    legend(`${id}-legend`, [['mean (signed)', color.bias], ['mean of absolute values', color.absolute]]);
    const bars = (label, data, backgroundColor) => ({label, data: data.map(value => value * 100), backgroundColor, maxBarThickness: 12});
    new Chart(element(id), {
      type: 'bar',
      data: {labels, datasets: [bars('mean (signed)', bias, color.bias), bars('mean of absolute values', absolute, color.absolute)]},
      options: {indexAxis: 'y', scales: {x: axis(title, {ticks: {callback: signed}}), y: categories},
                plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${signed(item.parsed.x)} %`}}}},
    });
  };

  const drawThroughput = ranking => {
    legend('throughput-legend', [['simulated', color.simulated], ['measured', color.measured]]);
    const bars = world => ({label: world, data: ranking.variants.map(row => row[`${world}_throughput`]),
                            backgroundColor: color[world], maxBarThickness: 14});
    new Chart(element('throughput'), {
      type: 'bar',
      data: {labels: ranking.variants.map(row => row.name), datasets: [bars('simulated'), bars('measured')]},
      options: {indexAxis: 'y', scales: {x: axis('throughput (samples/s)', {beginAtZero: true}), y: categories},
                plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${threeDigits(item.parsed.x)} samples/s`}}}},
    });
  };

  if (report.points.length > 0) {
    drawScatter();
    drawErrors();
    drawPairs('phase-errors', report.phase_errors.map(row => row[0]), report.phase_errors.map(row => row[1]),
              report.phase_errors.map(row => row[2]), 'contribution to the error of step time (%)');
    const hosts = report.hosts.slice(0, 16);
    const platforms = new Set(report.hosts.map(host => host.platform));
    drawPairs('host-errors', hosts.map(host => platforms.size > 1 ? `${host.platform}: ${host.host}` : host.host),
              hosts.map(host => host.bias), hosts.map(host => host.mape), 'error of step time (%)');
    if (report.ranking) drawThroughput(report.ranking);
  }
})();
