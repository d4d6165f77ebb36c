// Draws the page of a predictor: predicted against measured times, and the error of each group.
(() => {
  const {report: {results}, color, shade, shades, axis, element, legend, percent, roundTicks, signed, timeScale, timeText} = tandem;
  const devices = [...new Set(results.map(({device}) => device))];
  const colorOf = device => shade(devices.indexOf(device));
  const errorOf = ({predicted, measured}) => predicted / measured - 1;
  const nameOf = ({device, group}) => (device ? `${group}, ${device}` : group);
  const tooltip = {callbacks: {label: ({raw: {own}}) => (own
    ? [nameOf(own), `predicted ${timeText(own.predicted)} (${timeText(own.interval[0])} to ${timeText(own.interval[1])})`,
       `measured ${timeText(own.measured)}, error ${percent(errorOf(own))}`] : '')}};
  const datasets = place => devices.map(device => ({
    label: device, borderColor: colorOf(device), backgroundColor: `${colorOf(device)}b0`, pointRadius: 5, order: 1,
    data: results.filter(own => own.device === device).map(own => ({...place(own), own}))}));

  const intervals = factor => ({
    id: 'intervals',
    beforeDatasetsDraw({ctx, chartArea: area, scales: {x, y}}) {
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      ctx.lineWidth = 2;
      results.forEach(({device, measured, interval: [low, high]}) => {
        const at = x.getPixelForValue(measured * factor);
        ctx.strokeStyle = `${colorOf(device)}60`;
        ctx.beginPath();
        ctx.moveTo(at, y.getPixelForValue(low * factor));
        ctx.lineTo(at, y.getPixelForValue(high * factor));
        ctx.stroke();
      });
      ctx.restore();
    },
  });
  const values = results.flatMap(({measured, predicted}) => [measured, predicted]), scale = timeScale(values);
  const least = Math.min(...values) * scale.factor / 1.3, most = Math.max(...values) * scale.factor * 1.3;
  const limits = {type: 'logarithmic', min: least, max: most, ticks: {callback: roundTicks(most / least), maxRotation: 0}};
  new Chart(element('predicted'), {
    type: 'scatter',
    data: {datasets: [
      ...datasets(own => ({x: own.measured * scale.factor, y: own.predicted * scale.factor})),
      {type: 'line', data: [least, most].map(end => ({x: end, y: end})), borderColor: '#7a8594', borderWidth: 1,
       pointRadius: 0, pointHitRadius: 0, order: 2}]},
    options: {scales: {x: axis(`measured (${scale.unit})`, limits), y: axis(`predicted (${scale.unit})`, limits)},
              plugins: {tooltip: {...tooltip, filter: ({raw}) => raw.own}}},
    plugins: [intervals(scale.factor)],
  });

  const meanOf = group => {
    const errors = results.filter(own => own.group === group).map(errorOf);
    return errors.reduce((sum, error) => sum + error, 0) / errors.length;
  };
  const groups = [...new Set(results.map(({group}) => group))].sort((a, b) => meanOf(a) - meanOf(b));
  const reach = Math.max(...results.map(own => Math.abs(errorOf(own)))) * 110 || 1;
  new Chart(element('groups'), {
    type: 'scatter',
    data: {datasets: [
      ...datasets(own => ({x: errorOf(own) * 100, y: groups.indexOf(own.group)})),
      {type: 'line', data: [-0.6, groups.length - 0.4].map(end => ({x: 0, y: end})), borderColor: '#7a8594', borderWidth: 1,
       pointRadius: 0, pointHitRadius: 0, order: 2}]},
    options: {
      scales: {
        x: axis('error (%)', {min: -reach, max: reach, ticks: {callback: signed, includeBounds: false}}),
        y: {type: 'linear', min: -0.6, max: groups.length - 0.4, reverse: true, grid: {display: false, borderColor: color.line},
            afterBuildTicks: ticked => { ticked.ticks = groups.map((_, value) => ({value})); },
            ticks: {color: color.ink, autoSkip: false, callback: value => groups[value]}}},
      plugins: {tooltip: {...tooltip, filter: ({raw}) => raw.own}}},
  });
  if (devices.length > 1) ['predicted', 'groups'].forEach(id => legend(`${id}-legend`, shades(devices)));
})();
