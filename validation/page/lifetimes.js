// Draws the share of machines alive by age: the Kaplan-Meier estimate with its interval, fitted models, and groups.
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
  const band = 'rgba(27, 36, 48, 0.12)';
  draw('survival', [
    ...report.models.map((model, index) => line(model.name,
      model.points.map(([age, share]) => ({x: age * unit.factor, y: share * 100})), shade(index),
      model.name === report.chosen ? {borderWidth: 3} : {borderDash: [6, 4]})),
    line('estimate', stairs(report.survival, report.last_s, 'survival'), color.ink, stepped),
    line('interval, lower end', stairs(report.survival, report.last_s, 'lower'), band, {...edge, fill: '+1'}),
    line('interval, upper end', stairs(report.survival, report.last_s, 'upper'), band, edge),
  ], [['estimate', color.ink], ...shades(report.models.map(model => model.name))]);
  draw('groups', report.results.map((group, index) =>
    line(group.name, stairs(group.survival, group.last_s, 'survival'), shade(index), stepped)),
    shades(report.results.map(group => group.name)));
})();
