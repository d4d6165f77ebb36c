// Draws the speed of a job by its number of workers, with what workers, servers and network would allow alone.
(() => {
  const {report: {results}, color, axis, element, legend, threeDigits} = tandem;
  const limits = [['by_workers', 'workers alone', '#1a7f37'], ['by_servers', 'servers alone', '#c5221f'], ['by_network', 'network alone', '#7c3aed']]
    .filter(([key]) => results.some(own => own[key] !== null));
  const band = 'rgba(37, 99, 235, 0.14)', last = results[results.length - 1].workers;
  const line = (label, pick, shadeOf, more) => ({
    label, borderColor: shadeOf, backgroundColor: shadeOf, borderWidth: 2, pointRadius: 0, pointHitRadius: 6,
    data: results.filter(own => pick(own) !== null).map(own => ({x: own.workers, y: pick(own)})), ...more});
  // A cap far above all predictions is left out of the view.
  const most = Math.max(...results.map(own => own.range_samples_per_s[1]));
  const caps = results.map(own => own.by_servers).filter(cap => cap !== null && cap < 3 * most);
  new Chart(element('scaling'), {
    type: 'line',
    data: {datasets: [
      line('predicted', own => own.samples_per_s, color.simulated, {pointRadius: 4, clip: false}),
      line('least', own => own.range_samples_per_s[0], band, {borderWidth: 0, fill: '+1'}),
      line('most', own => own.range_samples_per_s[1], band, {borderWidth: 0}),
      ...limits.map(([key, label, shadeOf]) => line(label, own => own[key], shadeOf, {borderDash: [6, 4]})),
    ]},
    options: {
      scales: {x: axis('workers', {type: 'linear', min: results.length > 1 ? results[0].workers : 0, max: last, ticks: {precision: 0}}),
               y: axis('samples/s', {min: 0, max: Math.max(most, ...caps) * 1.1, ticks: {callback: threeDigits, includeBounds: false}})},
      plugins: {tooltip: {callbacks: {title: () => '', label: ({dataset, raw}) =>
        `${dataset.label}, ${raw.x} ${raw.x === 1 ? 'worker' : 'workers'}: ${threeDigits(raw.y)} samples/s`}}}},
  });
  legend('scaling-legend', [['predicted', color.simulated], ...limits.map(([, label, shadeOf]) => [label, shadeOf])]);
})();
