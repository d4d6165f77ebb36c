// Draws machines that depart and arrive: live workers over time, and a timeline with one row per slot and result. The
// data of a result is that of members_of_run() (validation/report/members.hpp).
tandem.members = (() => {
  const {axis, element, make, legend, svg, drawRuler, threeDigits, timeScale, timeText} = tandem;
  const shades = {present: '#9fc3b5', absent: '#d5dae1', departed: '#c5221f', joined: '#1a7f37', paused: '#f2c14e', launched: '#8e63ce'};
  const legendEntries = [['machine absent', shades.absent], ['departed', shades.departed], ['joined', shades.joined]];
  const rowHeight = 14;

  /** A line that is as wide at any zoom. */
  const addMark = (picture, time, kind, text, height) => {
    const line = svg('line', {x1: time, x2: time, y1: 0, y2: height, stroke: shades[kind], 'stroke-width': 2.5,
                              'vector-effect': 'non-scaling-stroke', class: kind}, picture);
    svg('title', {}, line).textContent = `${text} at ${timeText(time)}`;
  };
  const addSpan = (picture, from, to, fill, text, height, y = 0) => {
    const bar = svg('rect', {x: from, y, width: Math.max(0, to - from), height, fill}, picture);
    svg('title', {}, bar).textContent = `${text}, ${timeText(from)} to ${timeText(to)}`;
  };
  /** Over the slices of a timeline of steps. */
  const drawWindow = (picture, {absent, marks}, height) => {
    absent.forEach(([start, duration]) => addSpan(picture, start, start + duration, shades.absent, 'no machine', height));
    marks.forEach(([time, kind, text]) => addMark(picture, time, kind, text, height));
  };

  const drawSlot = (picture, stays, end) => {
    let since = null;
    stays.forEach(stay => {
      const name = `machine ${stay.machine}`, until = stay.departed_s === null ? end : stay.departed_s;
      if (since !== null) addSpan(picture, since, stay.joined_s, shades.absent, 'no machine', rowHeight);
      addSpan(picture, stay.joined_s, until, shades.present, name, rowHeight);
      since = stay.departed_s;
    });
    if (since !== null && since < end) addSpan(picture, since, end, shades.absent, 'no machine', rowHeight);
    stays.forEach(stay => {
      const name = `machine ${stay.machine}`;
      if (stay.arrived) addMark(picture, stay.joined_s, 'joined', `${name} joined`, rowHeight);
      if (stay.departed_s !== null) addMark(picture, stay.departed_s, 'departed', `${name} departed (${stay.cause})`, rowHeight);
    });
  };
  /** Results of older versions have none. */
  const launchesOf = members => members.launches || [];
  /** Two results of one job have the same slots. */
  const slotsOf = worlds => {
    const slots = new Map(worlds.flatMap(world => world.members.slots.map(slot => [slot.slot, slot])));
    return [...slots.values()].sort((a, b) => a.slot - b.slot);
  };
  const drawTimeline = (board, worlds) => {
    const end = Math.max(...worlds.map(world => world.members.end_s));
    board.style.cursor = 'default';
    slotsOf(worlds).forEach(slot => {
      const rank = make('span', {className: 'rank', textContent: slot.label});
      rank.style.gridRow = `span ${worlds.length}`;
      board.append(rank);
      worlds.forEach(({name, color, members}) => {
        const label = make('span', {className: 'world', textContent: name});
        const own = members.slots.find(one => one.slot === slot.slot);
        label.style.color = color;
        const picture = svg('svg', {height: rowHeight, preserveAspectRatio: 'none', viewBox: `0 0 ${end} ${rowHeight}`});
        if (own) drawSlot(picture, own.stays, members.end_s);
        members.pauses.forEach(([from, to]) => addSpan(picture, from, to, shades.paused, 'training paused', rowHeight / 4));
        launchesOf(members).forEach(([number, from, to]) =>
          addSpan(picture, from, to, shades.launched, `launch ${number}`, rowHeight / 4, rowHeight * 3 / 4));
        board.append(label, picture);
      });
      board.append(make('span', {className: 'gap'}));
    });
    const ruler = svg('svg', {class: 'axis', height: 20});
    board.append(make('span', {}), make('span', {}), ruler);
    drawRuler(ruler, 0, end);
  };

  const drawLive = (canvas, worlds) => {
    const scale = timeScale(worlds.map(world => world.members.end_s));
    const most = Math.max(...worlds.flatMap(world => world.members.live.map(([, workers]) => workers)));
    return new Chart(canvas, {
      type: 'line',
      // The lines of two worlds often lie on each other, so the one on top has gaps.
      data: {datasets: worlds.map(({name, color, members}, index) => ({
        borderDash: index + 1 < worlds.length ? [6, 5] : [],
        label: name, borderColor: color, backgroundColor: color, borderWidth: 2, pointRadius: 0, pointHitRadius: 6, stepped: true,
        data: [...members.live, [members.end_s, (members.live[members.live.length - 1] || [0, 0])[1]]]
          .map(([time, workers]) => ({x: time * scale.factor, y: workers}))}))},
      options: {scales: {x: axis(`time (${scale.unit})`, {type: 'linear', min: 0}),
                         y: axis('workers with a machine', {min: 0, max: most + 1, ticks: {precision: 0}})},
                plugins: {tooltip: {callbacks: {label: item =>
                  `${item.dataset.label}: ${item.parsed.y} from ${threeDigits(item.parsed.x)} ${scale.unit} on`}}}},
    });
  };

  let chart = null;
  /** Replaces the content of `part`. `worlds`: [{name, color, members}]; empty: no machine may depart. */
  const draw = (part, worlds) => {
    if (chart) chart.destroy();
    chart = null;
    part.replaceChildren();
    if (worlds.length === 0) return;
    part.innerHTML = `
      <h3>Machines of workers over the whole job</h3>
      <p class="lead">One row per slot: a worker's place, where one machine follows another. The clock is that of the job; a departure is
        marked when the machine was taken away, which the job notices later.</p>
      <div class="legend" id="members-legend"></div>
      <div class="timeline" id="members-timeline"></div>
      <p class="lead" id="slots-left-out"></p>
      <div class="charts single"><div class="chart"><h3>Live workers over time</h3><div class="legend" id="live-legend"></div>
        <div style="height: 220px"><canvas id="live-workers"></canvas></div></div></div>`;
    const pauses = worlds.some(world => world.members.pauses.length > 0) ? [['training paused', shades.paused]] : [];
    const launches = worlds.some(world => launchesOf(world.members).length > 0) ? [['ranks launched again', shades.launched]] : [];
    legend('members-legend', [['machine present', shades.present], ...legendEntries, ...pauses, ...launches]);
    drawTimeline(element('members-timeline'), worlds);
    const left = worlds[0].members.slots_left_out;
    element('slots-left-out').textContent = left > 0 ? `${left} more slots, with fewer machines, are not shown.` : '';
    legend('live-legend', worlds.length > 1 ? worlds.map(world => [world.name, world.color]) : []);
    chart = drawLive(element('live-workers'), worlds);
  };

  return {draw, drawWindow, legend: legendEntries};
})();
