// Draws from where samples came, by epoch and class, and for how long batches waited for them: the bars of each epoch are
// those of the results side by side. The data of a result is that of data_epochs() (validation/report/data_section.hpp).
tandem.data = (() => {
  const {axis, element, legend, shade, threeDigits, timeScale} = tandem;
  /** The first result is drawn in full colour, the second one paler. */
  const paleness = ['', '80'];

  const drawBars = (id, worlds, classes, key, title, factor) => {
    const epochs = [...new Set(worlds.flatMap(world => world.epochs.map(own => own.epoch)))].sort((a, b) => a - b);
    const valueOf = (world, epoch, name) => {
      const own = world.epochs.find(one => one.epoch === epoch);
      return own && own.classes[name] ? own.classes[name][key] * factor : 0;
    };
    return new Chart(element(id), {
      type: 'bar',
      data: {labels: epochs, datasets: worlds.flatMap((world, index) => classes.map((name, at) => ({
        label: `${world.name}: ${name}`, stack: world.name, backgroundColor: shade(at) + paleness[index % 2], maxBarThickness: 46,
        data: epochs.map(epoch => valueOf(world, epoch, name))})))},
      options: {
        scales: {x: {...axis('epoch (in each, from left to right: ' + worlds.map(world => world.name).join(', ') + ')'), stacked: true,
                     grid: {display: false}},
                 y: {...axis(title, {beginAtZero: true}), stacked: true}},
        plugins: {tooltip: {callbacks: {label: item => `${item.dataset.label}: ${threeDigits(item.parsed.y)}`}}}},
    });
  };

  let charts = [];
  /** Replaces the content of `part`. `worlds`: [{name, epochs}]; empty: the job has no cache nodes. */
  const draw = (part, worlds) => {
    charts.forEach(chart => chart.destroy());
    charts = [];
    part.replaceChildren();
    if (worlds.length === 0) return;
    part.innerHTML = `
      <h3>From where samples came</h3>
      <p class="lead" id="data-worlds"></p>
      <div class="legend" id="data-legend"></div>
      <div class="charts">
        <div class="chart"><h3>Samples by epoch</h3><div style="height: 250px"><canvas id="data-samples"></canvas></div></div>
        <div class="chart"><h3>Time that batches waited at cache nodes, by epoch</h3>
          <div style="height: 250px"><canvas id="data-blocked"></canvas></div></div>
      </div>`;
    const classes = [...new Set(worlds.flatMap(world => world.epochs.flatMap(own => Object.keys(own.classes))))].sort();
    element('data-worlds').textContent = worlds.length > 1 ? `Full colours: ${worlds[0].name}; pale: ${worlds[1].name}.` : worlds[0].name;
    legend('data-legend', classes.map((name, index) => [name, shade(index)]));
    const blocked = worlds.flatMap(world => world.epochs.map(own =>
      Object.values(own.classes).reduce((sum, of) => sum + of.blocked_s, 0)));
    const scale = timeScale(blocked);
    charts = [drawBars('data-samples', worlds, classes, 'samples', 'samples', 1),
              drawBars('data-blocked', worlds, classes, 'blocked_s', `blocked (${scale.unit})`, scale.factor)];
  };
  return {draw};
})();
