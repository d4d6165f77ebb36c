// Draws the page of a plan: cost against time with bands, and what the mean cost of each configuration pays for.
(() => {
  const {report, color, shades, shade, axis, categories, element, make, legend, threeDigits} = tandem;
  const {results, estimates, goal, ways, shown} = report;
  const grey = '#c3cad4', font = `12px ${Chart.defaults.font.family}`;
  const hours = seconds => seconds / 3600;
  /** Of a configuration that was lived through. An end is null where lives did not end. */
  const places = results.map((own, index) => ({own, index, x: own.time_s, y: own.cost}))
    .filter(({x, y}) => x.median !== null && y.median > 0);
  const usedWays = ways.filter(way => results.some(own => own.way === way));
  const colorOf = way => shade(usedWays.indexOf(way));
  const nameOf = own => `${own.machines} x ${own.offer}, ${own.way}`;
  const bandText = ({median, low, high}, factor) =>
    `${threeDigits(median * factor)} (${threeDigits(low * factor)} to ${high === null ? 'never' : threeDigits(high * factor)})`;

  /** Of what was lived through, and of the goal where it is near. */
  const rangeOf = (key, limit) => {
    const values = places.flatMap(place => Object.values(place[key])).filter(value => value !== null && value > 0);
    const least = Math.min(...values), most = Math.max(...values);
    const near = limit !== undefined && limit > least / 4 && limit < most * 4 ? [limit] : [];
    return [Math.min(least, ...near) / 1.3, Math.max(most, ...near) * 1.3];
  };
  /** Few enough to be read on a narrow screen. */
  const roundValues = ([min, max]) => {
    const digits = max / min > 2000 ? [1] : max / min < 8 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : [1, 2, 5], values = [];
    for (let power = 10 ** Math.floor(Math.log10(min)); power <= max; power *= 10)
      values.push(...digits.map(digit => digit * power).filter(value => value >= min && value <= max));
    return values;
  };
  const logarithmic = (title, range) => axis(title, {
    type: 'logarithmic', min: range[0], max: range[1],
    afterBuildTicks: scale => { scale.ticks = roundValues(range).map(value => ({value})); },
    ticks: {autoSkip: false, maxRotation: 0, callback: threeDigits}});

  /** Bands, numbers of rows, and the goal. */
  const marks = {
    id: 'marks',
    beforeDatasetsDraw({ctx, chartArea: area, scales}) {
      const line = (x1, y1, x2, y2) => { ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke(); };
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      ctx.lineWidth = 2;
      places.forEach(({own, x, y}) => {
        const [left, middle, right] = [x.low, x.median, x.high].map(end => (end === null ? area.right : scales.x.getPixelForValue(hours(end))));
        const [bottom, centre, top] = [y.low, y.median, y.high].map(end => scales.y.getPixelForValue(end));
        ctx.strokeStyle = `${colorOf(own.way)}90`;
        line(left, centre, right, centre);
        line(middle, bottom, middle, top);
      });
      ctx.font = font;
      ctx.fillStyle = color.soft;
      ctx.strokeStyle = color.soft;
      ctx.lineWidth = 1;
      ctx.setLineDash([2, 3]);
      if (goal.deadline_s !== undefined) {
        const at = scales.x.getPixelForValue(hours(goal.deadline_s));
        line(at, area.top, at, area.bottom);
        ctx.textAlign = 'right';
        ctx.fillText('deadline', at - 4, area.top + 12);
      }
      if (goal.budget !== undefined) {
        const at = scales.y.getPixelForValue(goal.budget);
        line(area.left, at, area.right, at);
        ctx.textAlign = 'left';
        ctx.fillText('budget', area.left + 4, at - 4);
      }
      ctx.restore();
    },
    afterDatasetsDraw({ctx, scales}) {
      ctx.save();
      ctx.font = font;
      ctx.fillStyle = color.ink;
      places.filter(({index}) => index < shown).forEach(({index, x, y}) =>
        ctx.fillText(`${index + 1}`, scales.x.getPixelForValue(hours(x.median)) + 8, scales.y.getPixelForValue(y.median) - 8));
      ctx.restore();
    },
  };

  const drawFront = () => {
    const [times, costs] = [rangeOf('x', goal.deadline_s), rangeOf('y', goal.budget)];
    const isInside = (value, [low, high]) => value >= low && value <= high;
    const points = estimates.points.filter(([, , , time, cost]) => isInside(time, times) && isInside(cost, costs))
      .map(([offer, way, machines, time, cost]) => ({x: hours(time), y: cost, name: `${machines} x ${estimates.offers[offer]}, ${ways[way]}`}));
    let cheapest = Infinity;
    const front = [...places].sort((a, b) => a.x.median - b.x.median || a.y.median - b.y.median).filter(({y}) => {
      const isCheaper = y.median < cheapest;
      if (isCheaper) cheapest = y.median;
      return isCheaper;
    });
    const atMedian = place => ({x: hours(place.x.median), y: place.y.median, own: place.own});
    const pointsOf = way => places.filter(({own}) => own.way === way);
    new Chart(element('front'), {
      type: 'scatter',
      data: {datasets: [
        ...usedWays.map(way => ({
          label: way, data: pointsOf(way).map(atMedian), backgroundColor: colorOf(way), order: 1,
          borderColor: pointsOf(way).map(({index}) => (index === 0 ? color.ink : colorOf(way))), borderWidth: 2,
          pointRadius: pointsOf(way).map(({index}) => (index === 0 ? 9 : 5)),
          pointStyle: pointsOf(way).map(({index}) => (index === 0 ? 'rectRot' : 'circle'))})),
        {label: 'front', type: 'line', data: front.map(atMedian), borderColor: color.soft, borderDash: [6, 4], borderWidth: 1.5,
         pointRadius: 0, pointHitRadius: 0, order: 2},
        {label: 'estimates', data: points, backgroundColor: grey, borderColor: 'transparent', pointRadius: 2, order: 3},
      ]},
      options: {
        scales: {x: logarithmic('time (h)', times.map(hours)), y: logarithmic('cost ($)', costs)},
        plugins: {tooltip: {callbacks: {label: ({raw: {x, y, own, name}}) => (own
          ? [nameOf(own), `${bandText(own.time_s, 1 / 3600)} h, $${bandText(own.cost, 1)}`, own.lost_by]
          : [name, `estimate: ${threeDigits(x)} h, $${threeDigits(y)}`])}}},
      },
      plugins: [marks],
    });
    legend('front-legend', [...shades(usedWays), ['estimate', grey]]);
    element('front-legend').append(make('span', {textContent: report.is_met ? '◆ chosen' : '◆ nearest'}));
  };

  const drawUses = () => {
    const rows = results.slice(0, shown);
    const parts = [['useful', '#1a7f37'], ['wasted', '#c5221f'], ['idle', grey], ['waiting', '#e8710a']];
    new Chart(element('uses'), {
      type: 'bar',
      data: {labels: rows.map((own, index) => `${index + 1}: ${own.way}`),
             datasets: parts.map(([name, backgroundColor]) => ({label: name, backgroundColor, maxBarThickness: 18,
                                                               data: rows.map(own => own.uses[name])}))},
      options: {
        indexAxis: 'y', scales: {x: {...axis('mean cost ($)', {beginAtZero: true}), stacked: true}, y: {...categories, stacked: true}},
        plugins: {tooltip: {callbacks: {title: ([item]) => nameOf(rows[item.dataIndex]),
                                        label: item => `${item.dataset.label}: $${threeDigits(item.parsed.x)}`}}}},
    });
    legend('uses-legend', parts);
  };

  if (places.length > 0) drawFront();
  drawUses();
  document.body.dataset.drawn = Object.keys(Chart.instances).length;
})();
