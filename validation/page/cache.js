// Draws the miss ratios of cache policies over the capacity; Belady's is the bound.
(() => {
  const {report, color, shade, shades, axis, element, legend, roundTicks, threeDigits} = tandem;
  const bound = 'belady';
  const names = [...new Set(report.results.map(own => own.policy))].filter(name => name !== bound);
  const drawn = report.results.some(own => own.policy === bound) ? [...names, bound] : names;
  const capacities = report.results.map(own => own.capacity_bytes);
  const few = Math.min(...capacities), many = Math.max(...capacities);
  const shadeOf = name => (name === bound ? color.ink : shade(names.indexOf(name)));
  const draw = (id, key, title) => {
    if (!element(id)) return;
    new Chart(element(id), {
      type: 'line',
      data: {datasets: drawn.map(name => ({
        label: name, borderColor: shadeOf(name), backgroundColor: shadeOf(name), borderWidth: 2, pointRadius: 3,
        borderDash: name === bound ? [6, 4] : [],
        data: report.results.filter(own => own.policy === name).map(own => ({x: own.capacity_bytes, y: own[key], own}))
          .sort((a, b) => a.x - b.x)}))},
      options: {
        scales: {
          x: axis(report.ignores_sizes ? 'capacity (objects)' : 'capacity (bytes)', {type: 'logarithmic', min: few, max: many,
            ticks: {callback: roundTicks(many / few), maxRotation: 0}}),
          y: axis(title, {min: 0, max: 1})},
        plugins: {tooltip: {callbacks: {label: ({dataset, raw}) => [
          `${dataset.label}, ${threeDigits(raw.x)}: ${raw.y.toFixed(4)}`,
          ...(raw.own[`${key}_error`] ? [`estimated, ± ${raw.own[`${key}_error`].toFixed(4)}`] : [])]}}},
      },
    });
    legend(`${id}-legend`, [...shades(names), ...(drawn.length > names.length ? [[report.bound_name, color.ink]] : [])]);
  };
  draw('miss-ratio', 'miss_ratio', 'misses / requests');
  draw('byte-miss-ratio', 'byte_miss_ratio', 'missed bytes / requested bytes');
})();
