// Draws the share of machines alive by age: the Kaplan-Meier estimate with its interval, fitted models, and groups;
// and departures by age and by hour of the day with their intervals.
(() => {
  const {report, color, shade, shades, axis, element, legend, threeDigits} = tandem;
  const unit = report.last_s >= 7200 ? {factor: 1 / 3600, name: 'h'}
    : report.last_s >= 120 ? {factor: 1 / 60, name: 'min'} : {factor: 1, name: 's'};
  /** A curve that falls at each step. An interval has no bound where all have departed. */
  const stairs = (steps, last, key) => {
    const known = steps.filter(step => step[key] !== null);
    const points = known.map(step => ({x: step.time_s * unit.factor, y: step[key] * 100}));
    const from = [{x: 0, y: 100}, ...points];
    return [...from, {x: last * unit.factor, y: from[from.length - 1].y}];
  };
  const line = (label, data, shadeOf, more = {}) => ({
    label, data, borderColor: shadeOf, backgroundColor: shadeOf, borderWidth: 2, pointRadius: 0, pointHitRadius: 6, ...more});
  const draw = (id, datasets, entries) => {
    if (!element(id)) return;
    new Chart(element(id), {
      type: 'line',
      data: {datasets},
      options: {
        scales: {x: axis(`age (${unit.name})`, {type: 'linear', min: 0, max: report.last_s * unit.factor}),
                 y: axis('alive (%)', {min: 0, max: 100})},
        plugins: {tooltip: {callbacks: {title: () => '', label: ({dataset, raw}) =>
          `${dataset.label}, ${threeDigits(raw.x)} ${unit.name}: ${raw.y.toFixed(1)} %`}}}},
    });
    legend(`${id}-legend`, entries);
  };
  const stepped = {stepped: 'before'}, edge = {...stepped, borderWidth: 0};
  /** An estimate, and the band of its interval. */
  const banded = (name, {survival, last_s: last}, shadeOf, band) => [
    line(name, stairs(survival, last, 'survival'), shadeOf, stepped),
    line(`${name}, lower end`, stairs(survival, last, 'lower'), band, {...edge, fill: '+1'}),
    line(`${name}, upper end`, stairs(survival, last, 'upper'), band, edge),
  ];
  draw('survival', [
    ...report.models.map((model, index) => line(model.name,
      model.points.map(([age, share]) => ({x: age * unit.factor, y: share * 100})), shade(index),
      model.name === report.chosen ? {borderWidth: 3} : {borderDash: [6, 4]})),
    ...banded('estimate', report, color.ink, 'rgba(27, 36, 48, 0.12)'),
  ], [['estimate', color.ink], ...shades(report.models.map(model => model.name))]);
  draw('groups', report.results.flatMap((group, index) => banded(group.name, group, shade(index), `${shade(index)}26`)),
    shades(report.results.map(group => group.name)));

  // ---- Departures by age and by hour of the day ----

  const intervals = {
    id: 'intervals',
    beforeDatasetsDraw({ctx, chartArea: area, data, scales: {x, y}}) {
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      ctx.lineWidth = 2;
      data.datasets.forEach(({borderColor, data: points}) => points.forEach(({x: at, low, high}) => {
        if (typeof high !== 'number') return;
        ctx.strokeStyle = `${borderColor}80`;
        ctx.beginPath();
        ctx.moveTo(x.getPixelForValue(at), y.getPixelForValue(low));
        ctx.lineTo(x.getPixelForValue(at), y.getPixelForValue(high));
        ctx.stroke();
      }));
      ctx.restore();
    },
  };
  /** Points of several series, those of one place next to each other. `series`: {name, points: {begin, end, y, low, high, text}}. */
  const drawPoints = (id, series, x, title, others = []) => {
    if (!element(id)) return;
    const largest = key => Math.max(...series.flatMap(({points}) => points.map(point => point[key])));
    new Chart(element(id), {
      type: 'scatter',
      data: {datasets: [
        ...series.map(({name, points}, index) => ({
          label: name, borderColor: shade(index), backgroundColor: shade(index), pointRadius: 4,
          data: points.map(({begin, end, ...more}) => ({x: begin + (end - begin) * (index + 0.5) / series.length, ...more}))})),
        ...others]},
      options: {
        // Rates of few departures, and their bounds, may be far above all others.
        scales: {x, y: axis(title, {min: 0, max: Math.min(largest('high'), 3 * largest('y'), 4 * largest('low')) * 1.05, ticks: {includeBounds: false}})},
        plugins: {tooltip: {callbacks: {label: ({dataset, raw}) => `${dataset.label}, ${raw.text}`}}}},
      plugins: [intervals],
    });
    legend(`${id}-legend`, shades(series.map(({name}) => name)));
  };
  const aged = report.by_age.map(({name, rates}) => ({name, points: rates.filter(({rate}) => rate !== null).map(own => {
    const [y, low, high] = [own.rate, own.lower, own.upper].map(rate => rate / unit.factor);
    const [begin, end] = [own.begin_s, own.end_s].map(age => age * unit.factor);
    return {begin, end, y, low, high, text: `${threeDigits(begin)} to ${threeDigits(end)} ${unit.name}: ${threeDigits(y)} per ${unit.name} (`
      + `${threeDigits(low)} to ${threeDigits(high)}), ${own.deaths} departures`};
  })}));
  drawPoints('ages', aged, axis(`age (${unit.name})`, {type: 'linear', min: 0, max: report.last_s * unit.factor}),
    `departures of a machine per ${unit.name}`);
  const timed = report.by_hour.map(({name, hours}) => ({
    name, points: hours.flatMap((own, hour) => (own.lower === null ? [] : [{begin: hour, end: hour + 1, y: own.factor, low: own.lower, high: own.upper,
      text: `${hour} to ${hour + 1} h: ${threeDigits(own.factor)} (${threeDigits(own.lower)} to ${threeDigits(own.upper)}), ${own.deaths} departures`}]))}));
  drawPoints('hours', timed, axis('hour of the day (UTC)', {type: 'linear', min: 0, max: 24, ticks: {stepSize: 3}}),
    'factor of the hazard', [{label: 'mean', type: 'line', data: [{x: 0, y: 1, text: 'factor 1'}, {x: 24, y: 1, text: 'factor 1'}],
      borderColor: color.soft, borderDash: [5, 4], borderWidth: 1, pointRadius: 0}]);
})();
