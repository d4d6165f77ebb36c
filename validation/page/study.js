// Draws the charts of a study from its answer: efficiency and measures of each panel, shares of time and accuracy of
// each place of the grid, and published figures. A chart without a canvas on the page is not drawn.
(() => {
  const {report, color, shade, axis, bytesText, categories, element, legend, roundTicks, threeDigits, timeScale, timeText} = tandem;
  const {answer: {panels, measures, across, down}, configurations, published} = report;
  const draw = (id, configuration) => { if (element(id)) new Chart(element(id), configuration()); };
  const range = values => [Math.min(...values), Math.max(...values)];
  const tooltip = label => ({tooltip: {callbacks: {label}}});
  const variants = [...new Set(panels.flatMap(panel => panel.rows.map(row => row.variant)))];
  /** Eight colours, and again with dashes. */
  const styleOf = variant => {
    const index = variants.indexOf(variant), ink = shade(index % 8);
    return {borderColor: ink, backgroundColor: ink, borderWidth: 2, borderDash: [[], [7, 3], [2, 3]][Math.floor(index / 8) % 3]};
  };
  /** An axis of names with its title. */
  const named = text => ({...categories, title: {display: true, text, color: color.soft}});
  const rowTitle = down === null ? 'variant' : down.name;
  const isNumeric = across !== null && across.numbers.length > 0;

  // ---- Names next to their lines ----

  const font = `13px ${Chart.defaults.font.family}`;
  const widthOf = (() => {
    const context = document.createElement('canvas').getContext('2d');
    return text => { context.font = font; return context.measureText(text).width; };
  })();
  const cut = (text, room) => {
    let shown = text;
    while (shown.length > 2 && widthOf(shown) > room) shown = `${shown.slice(0, -2)}…`;
    return shown;
  };
  /** Room at the right of a chart; at most a third of a narrow page. */
  const roomFor = texts => Math.min(18 + Math.max(0, ...texts.map(widthOf)), Math.max(170, innerWidth / 3));
  /** Moves labels that would overlap. */
  const spread = (labels, top, bottom) => {
    const distance = Math.min(15, (bottom - top) / Math.max(1, labels.length - 1));
    labels.sort((a, b) => a.y - b.y);
    labels.forEach((label, index) => { label.at = Math.max(label.y, index === 0 ? top : labels[index - 1].at + distance); });
    for (let index = labels.length - 1, limit = bottom; index >= 0; --index, limit = Math.min(limit, labels[index + 1].at) - distance)
      labels[index].at = Math.min(labels[index].at, limit);
    return labels;
  };
  /** The name of each line where it ends. Lines of one name are named once. */
  const lineNames = {
    id: 'line-names',
    afterDatasetsDraw(chart) {
      const {ctx, chartArea: area, data, width} = chart, named = new Set();
      const labels = data.datasets.flatMap(({label, borderColor}, index) => {
        const last = chart.getDatasetMeta(index).data.filter(point => !point.skip).pop();
        if (!last || named.has(label)) return [];
        named.add(label);
        return [{text: label, ink: borderColor, x: last.x, y: last.y}];
      });
      ctx.save();
      ctx.font = font;
      ctx.textBaseline = 'middle';
      spread(labels, area.top, area.bottom).forEach(({text, ink, x, y, at}) => {
        ctx.strokeStyle = ctx.fillStyle = ink;
        ctx.lineWidth = 0.7;
        ctx.beginPath();
        ctx.moveTo(x + 5, y);
        ctx.lineTo(area.right + 8, at);
        ctx.stroke();
        ctx.fillText(cut(text, width - area.right - 12), area.right + 10, at);
      });
      ctx.restore();
    },
  };
  /** The text of each bar after its end, and the spread of seeds or of an ensemble. `texts`, `spreads`: by dataset. */
  const barTexts = (texts, spreads) => ({
    id: 'bar-texts',
    afterDatasetsDraw(chart) {
      const {ctx, scales: {x}} = chart;
      ctx.save();
      ctx.font = font;
      ctx.textBaseline = 'middle';
      texts.forEach((own, dataset) => chart.getDatasetMeta(dataset).data.forEach((bar, index) => {
        const ends = spreads[dataset][index];
        let end = bar.x;
        if (ends) {
          const [low, high] = ends.map(value => x.getPixelForValue(value));
          ctx.strokeStyle = color.ink;
          ctx.beginPath();
          [[low, bar.y, high, bar.y], [low, bar.y - 4, low, bar.y + 4], [high, bar.y - 4, high, bar.y + 4]].forEach(([x1, y1, x2, y2]) => {
            ctx.moveTo(x1, y1);
            ctx.lineTo(x2, y2);
          });
          ctx.stroke();
          end = Math.max(end, high);
        }
        ctx.fillStyle = color.ink;
        if (own[index]) ctx.fillText(own[index], end + 6, bar.y);
      }));
      ctx.restore();
    },
  });

  // ---- The comparison ----

  const columnName = column => (across === null ? '' : across.values[column]);
  const xAxis = panel => {
    const numbers = panel.columns.map(column => across.numbers[column]), [low, high] = range(numbers);
    const isLogarithmic = low > 0 && high >= 8 * low;
    return axis(across.name, {
      type: isLogarithmic ? 'logarithmic' : 'linear', min: low, max: high,
      afterBuildTicks: scale => { scale.ticks = numbers.map(value => ({value})).sort((a, b) => a.value - b.value); },
      ticks: {callback: value => columnName(across.numbers.indexOf(value)), autoSkip: true, maxRotation: 0}});
  };
  /** `pick`: the y value of a row at a column, or null. */
  const drawLines = (id, panel, pick, y, text) => draw(id, () => ({
    type: 'line',
    data: {datasets: panel.rows.map(row => {
      const isKnee = at => row.knee !== null && row.knee === across.numbers[panel.columns[at]];
      return {label: row.variant, ...styleOf(row.variant), spanGaps: true, clip: false,
              data: panel.columns.map((column, at) => ({x: across.numbers[column], y: pick(row, at)})),
              pointRadius: panel.columns.map((_, at) => (isKnee(at) ? 7 : 3)),
              pointStyle: panel.columns.map((_, at) => (isKnee(at) ? 'rectRot' : 'circle'))};
    })},
    options: {layout: {padding: {right: roomFor(panel.rows.map(row => row.variant))}}, scales: {x: xAxis(panel), y},
              plugins: tooltip(item => `${item.dataset.label}, ${across.name} ${columnName(panel.columns[item.dataIndex])}: ${text(item.parsed.y)}`)},
    plugins: [lineNames],
  }));
  panels.forEach((panel, index) => drawLines(`efficiency-${index}`, panel,
    (row, at) => (row.efficiency[at] === null ? null : row.efficiency[at] * 100),
    axis(`throughput of each worker, of that with ${columnName(panel.columns[0])} (%)`, {beginAtZero: true}), value => `${threeDigits(value)} %`));

  const meanOf = (row, at, measure) => (row.cells[at] ? row.cells[at].estimates[measure].mean : null);
  const textOf = ({key, unit}) => value => {
    if (key === 'last_accuracy') return value.toFixed(4);
    if (unit === 'USD') return `$${value >= 1 ? value.toFixed(2) : threeDigits(value)}`;
    return unit === 's' ? timeText(value) : `${threeDigits(value)} ${unit}`;
  };
  const allMeans = measure => panels.flatMap(({rows}) => rows.flatMap(row => row.cells.map((_, at) => meanOf(row, at, measure))))
    .filter(value => value !== null);
  const valueAxis = (measure, index, isLogarithmic) => {
    const [low, high] = range(allMeans(index));
    const {factor, unit} = measure.unit === 's' ? timeScale([high]) : {factor: 1, unit: measure.unit};
    const callback = isLogarithmic ? value => roundTicks(high / low)(value * factor) : value => threeDigits(value * factor);
    return axis(`${measure.name}${unit ? ` (${unit})` : ''}`, {
      type: isLogarithmic ? 'logarithmic' : 'linear', beginAtZero: measure.key !== 'last_accuracy', ticks: {callback, maxRotation: 0}});
  };
  const isWide = index => { const [low, high] = range(allMeans(index)); return low > 0 && high >= 8 * low; };

  /** [low, high] of the seeds or of the ensemble of a cell; null: there is one simulation. */
  const spreadOf = (cell, measure) => {
    const {mean, deviation} = cell.estimates[measure];
    if (deviation !== null) return [mean - deviation, mean + deviation];
    return measures[measure].key === 'throughput' ? configurations[cell.configurations[0]].interval : null;
  };
  /** Bars of the variants, of which the best ones are blue. */
  const drawBars = (id, panel, measure, index) => draw(id, () => {
    const cells = panel.rows.map(row => row.cells[0]), show = textOf(measure);
    const gain = ({gain}) => (gain === null || measure.key === 'last_accuracy' ? ''
      : measure.key === 'cost' ? ` (${threeDigits(gain * 100)} %)` : ` (${threeDigits(gain)}x)`);
    const texts = cells.map(cell => {
      const estimate = cell && cell.estimates[index];
      return estimate && estimate.mean !== null ? show(estimate.mean) + gain(estimate) : '–';
    });
    const spreads = cells.map(cell => (cell && cell.estimates[index].mean !== null ? spreadOf(cell, index) : null));
    const ends = [...cells.map(cell => cell && cell.estimates[index].mean), ...spreads.flat()].filter(value => value !== null);
    const marks = cells.map(cell => (cell && cell.estimates[index].place !== 'behind' ? color.simulated : '#b9c8ea'));
    // Accuracies are points on an axis that shows their differences; bars begin at 0.
    const isAccuracy = measure.key === 'last_accuracy', [low, high] = ends.length > 0 ? range(ends) : [0, 1], margin = (high - low) / 4 || 0.01;
    const limits = isAccuracy ? {beginAtZero: false, suggestedMin: low - margin, suggestedMax: high + margin} : {beginAtZero: true, suggestedMax: Math.max(0, high)};
    return {
      type: isAccuracy ? 'line' : 'bar',
      data: {labels: panel.rows.map(row => row.variant), datasets: [{
        data: cells.map(cell => cell && cell.estimates[index].mean), maxBarThickness: 16, backgroundColor: marks,
        showLine: false, pointRadius: 5, pointBackgroundColor: marks, pointBorderColor: marks}]},
      options: {indexAxis: 'y', layout: {padding: {right: roomFor(texts)}},
                scales: {x: {...valueAxis(measure, index, false), ...limits}, y: {...named(rowTitle), offset: true}}, plugins: {tooltip: {enabled: false}}},
      plugins: [barTexts([texts], [spreads])],
    };
  });
  /** One group of bars for each column: gains over the baseline, if each column has it. */
  const drawGroups = (id, panel, measure, index) => draw(id, () => {
    const estimates = panel.rows.map(row => row.cells.map(cell => cell && cell.estimates[index]));
    const known = estimates.flat().filter(one => one && one.mean !== null);
    const isGain = !['last_accuracy', 'cost'].includes(measure.key) && known.every(one => one.gain !== null);
    const pick = one => (one ? (isGain ? one.gain : one.mean) : null);
    const [low, high] = range(known.map(pick));
    const isLogarithmic = low > 0 && high >= 30 * low;
    const gainAxis = axis(`${measure.name}, times as good as the baseline`, isLogarithmic
      ? {type: 'logarithmic', min: low / 2, ticks: {callback: roundTicks(high / low), maxRotation: 0}} : {min: 0});
    const texts = estimates.map((row, at) => row.map(one =>
      (pick(one) === null ? '' : `${panel.rows[at].variant}: ${isGain ? `${threeDigits(one.gain)}x` : textOf(measure)(one.mean)}`)));
    return {
      type: 'bar',
      data: {labels: panel.columns.map(columnName), datasets: panel.rows.map((row, at) => ({
        label: row.variant, backgroundColor: styleOf(row.variant).backgroundColor, data: estimates[at].map(pick), maxBarThickness: 14}))},
      options: {indexAxis: 'y', layout: {padding: {right: roomFor(texts.flat())}}, plugins: {tooltip: {enabled: false}},
                scales: {x: isGain ? gainAxis : {...valueAxis(measure, index, isLogarithmic), beginAtZero: true}, y: named(across.name)}},
      plugins: [barTexts(texts, texts.map(row => row.map(() => null)))],
    };
  });
  measures.forEach((measure, index) => panels.forEach((panel, at) => {
    const id = `measure-${index}-${at}`;
    if (allMeans(index).length === 0) return;
    if (isNumeric)
      drawLines(id, panel, (row, column) => meanOf(row, column, index),
                valueAxis(measure, index, isWide(index)), textOf(measure));
    else (across === null ? drawBars : drawGroups)(id, panel, measure, index);
  }));

  // ---- Traffic ----

  const bytesOf = cell => (cell ? cell.configurations.reduce((sum, name) => sum + configurations[name].bytes_per_sample, 0) / cell.configurations.length : null);
  panels.forEach((panel, index) => {
    const id = `traffic-${index}`, bytes = panel.rows.map(row => row.cells.map(bytesOf));
    const known = bytes.flat().filter(value => value !== null), [low, high] = range(known);
    const isLogarithmic = isNumeric && low > 0 && high >= 8 * low;
    const y = axis('bytes per sample', {type: isLogarithmic ? 'logarithmic' : 'linear', beginAtZero: true, ticks: {maxRotation: 0,
      callback: value => (isLogarithmic && roundTicks(high / low)(value) === '' ? '' : bytesText(value))}});
    if (isNumeric) return drawLines(id, panel, (row, at) => bytesOf(row.cells[at]), y, bytesText);
    const texts = bytes.map((row, at) => row.map(value =>
      (value === null ? '' : `${across === null ? '' : `${panel.rows[at].variant}: `}${bytesText(value)}`)));
    const bars = across === null
      ? {labels: panel.rows.map(row => row.variant), datasets: [{data: bytes.map(row => row[0]), backgroundColor: color.simulated}]}
      : {labels: panel.columns.map(columnName), datasets: panel.rows.map((row, at) => ({data: bytes[at], backgroundColor: styleOf(row.variant).backgroundColor}))};
    const shown = across === null ? [texts.map(row => row[0])] : texts;
    return draw(id, () => ({
      type: 'bar',
      data: {...bars, datasets: bars.datasets.map(own => ({...own, maxBarThickness: 14}))},
      options: {indexAxis: 'y', layout: {padding: {right: roomFor(texts.flat())}}, plugins: {tooltip: {enabled: false}}, scales: {x: y, y: named(across === null ? rowTitle : across.name)}},
      plugins: [barTexts(shown, shown.map(row => row.map(() => null)))],
    }));
  });

  // ---- Each place of the grid ----

  const places = panels.flatMap(panel => panel.columns.map((_, at) =>
    panel.rows.filter(row => row.cells[at]).map(row => ({variant: row.variant, ...row.cells[at]}))));
  const parts = [['computing', 'computing', '#17685f'], ['data', 'data', '#8d99ae'], ['query', 'questions to the coordinator', '#f2c14e'],
                 ['communicating', 'communicating', '#b98a6c'], ['waiting', 'waiting for others', '#dfc8bb'],
                 ['exchange', 'communicating and waiting', '#c9a0dc'], ['commits', 'waiting for commits', '#6d597a'],
                 ['other', 'outside steps', '#e9edf2']]
    .filter(([key]) => places.flat().some(cell => cell.shares && cell.shares[key] > 0.005));
  places.forEach((cells, index) => {
    const id = `shares-${index}`;
    draw(id, () => ({
      type: 'bar',
      data: {labels: cells.map(cell => cell.variant), datasets: parts.map(([key, label, backgroundColor]) => ({
        label, backgroundColor, maxBarThickness: 14, data: cells.map(cell => ((cell.shares && cell.shares[key]) || 0) * 100)}))},
      options: {indexAxis: 'y', plugins: tooltip(item => `${item.dataset.label}: ${threeDigits(item.parsed.x)} %`),
                scales: {x: axis('share of the time of the job, mean over workers (%)', {stacked: true, min: 0, max: 100}), y: {...named('variant'), stacked: true}}},
    }));
    if (element(id)) legend(`${id}-legend`, parts.map(([, label, box]) => [label, box]));
  });

  const all = Object.values(configurations).filter(own => own.curve.length > 0);
  /** `pick`: the x value of a point [time, samples, accuracy]. */
  const drawAccuracy = (name, pick, title) => {
    const [first, last] = range(all.flatMap(own => own.curve.map(pick)).filter(x => x > 0));
    const target = Math.max(0, ...all.map(own => own.target || 0));
    // One axis for all charts, so that they can be compared.
    const [lowest, highest] = range(all.flatMap(own => own.curve.map(point => point[2] * 100)));
    const x = last > 30 * first
      ? {type: 'logarithmic', min: first, max: last, ticks: {callback: roundTicks(last / first), maxRotation: 0}}
      : {type: 'linear', min: 0, max: last, ticks: {includeBounds: false, maxRotation: 0}};
    places.forEach((cells, index) => draw(`${name}-${index}`, () => ({
      type: 'line',
      data: {datasets: [
        ...cells.flatMap(cell => cell.configurations.map(own => ({
          label: cell.variant, ...styleOf(cell.variant), borderWidth: cell.configurations.length > 1 ? 1 : 2, pointRadius: 1.5,
          ...(configurations[own].is_sequential ? {borderDash: [2, 3]} : {}),
          data: configurations[own].curve.filter(point => pick(point) > 0).map(point => ({x: pick(point), y: point[2] * 100}))}))),
        ...(target > 0 ? [{label: 'target', data: [first, last].map(at => ({x: at, y: target * 100})), borderColor: color.soft,
                           borderDash: [5, 4], borderWidth: 1, pointRadius: 0}] : [])]},
      options: {layout: {padding: {right: roomFor([...cells.map(cell => cell.variant), 'target'])}},
                scales: {x: axis(title, x), y: axis('test accuracy (%)', {suggestedMin: lowest, suggestedMax: highest})},
                plugins: tooltip(item => `${item.dataset.label}: ${threeDigits(item.parsed.y)} %`)},
      plugins: [lineNames],
    })));
  };
  if (all.length > 0) {
    const scale = timeScale(all.flatMap(own => own.curve.map(point => point[0])));
    drawAccuracy('accuracy', point => point[0] * scale.factor, `time (${scale.unit})`);
    drawAccuracy('accuracy-samples', point => point[1], 'samples processed by all workers');
  }

  const gains = published.filter(row => row.figure.endsWith('speed_up') && row.ours !== null);
  draw('published', () => {
    const texts = ['value', 'ours'].map(key => gains.map(row => threeDigits(row[key])));
    return {
      type: 'bar',
      data: {labels: gains.map(row => row.configuration), datasets: [
        {label: 'published', data: gains.map(row => row.value), backgroundColor: color.measured, maxBarThickness: 12},
        {label: 'simulated', data: gains.map(row => row.ours), backgroundColor: color.simulated, maxBarThickness: 12}]},
      options: {indexAxis: 'y', layout: {padding: {right: roomFor(texts.flat())}}, plugins: {tooltip: {enabled: false}},
                scales: {x: axis('speed-up', {beginAtZero: true}), y: categories}},
      plugins: [barTexts(texts, texts.map(own => own.map(() => null)))],
    };
  });
  if (element('published')) legend('published-legend', [['published', color.measured], ['simulated', color.simulated]]);
  document.body.dataset.drawn = Object.keys(Chart.instances).length;
})();
