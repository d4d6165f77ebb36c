// Draws the page of many results: one table that sorts by any column, and two marked results side by side.
(() => {
  const {report, bytesText: bytes, element, make, shade, signed, threeDigits, timeText} = tandem;

  const count = value => (value >= 1000 ? Math.round(value).toLocaleString('en') : threeDigits(value));
  const share = value => `${threeDigits(value * 100)} %`;
  const plain = value => value;
  /** [heading, value of a result, text of a value, whether the column is of words] */
  const columns = [
    ['result', own => own.path, plain, true], ['world', own => own.world, plain, true],
    ['throughput (samples/s)', own => own.throughput, count], ['step time', own => own.step_time_s, timeText],
    ['makespan', own => own.makespan_s, timeText], ['time to target', own => own.time_to_target_s, timeText],
    ['best accuracy', own => own.best_accuracy, share], ['best top-5 accuracy', own => own.best_top5_accuracy, share], ['algorithm', own => own.algorithm, plain, true],
    ['model', own => own.model, plain, true], ['data set', own => own.dataset, plain, true],
    ['workers', own => own.workers, count], ['rounds', own => own.rounds, count], ['samples', own => own.samples, count],
    ['local steps per round', own => own.local_steps, threeDigits], ['staleness', own => own.staleness, threeDigits],
    ['departures', own => own.departures, count], ['lost samples', own => own.lost_samples, count],
    ['sent per sample', own => own.bytes_sent_per_sample, bytes],
    ...['computing', 'data', 'exchange'].map(part => [part, own => own.shares && own.shares[part], share]),
    ['started', own => own.started, text => text.replace('T', ' ').replace('Z', ''), true],
  ].filter(([, value]) => report.results.some(own => known(value(own))));
  function known(value) { return value !== null && value !== undefined && value !== ''; }
  const textOf = (own, [, value, text]) => (known(value(own)) ? text(value(own)) : '–');

  const marked = [];
  let sorting = {column: null, descending: false};

  const compared = () => {
    if (marked.length < 2) return [];
    const [one, other] = marked;
    const rows = columns.slice(1).map(column => {
      const [heading, value] = column, a = value(one), b = value(other);
      const ratio = typeof a === 'number' && typeof b === 'number' && a !== 0 ? `${signed((b / a - 1) * 100)} %` : '';
      return make('tr', {className: a === b ? 'same' : ''}, [
        make('td', {className: 'words', textContent: heading}), make('td', {textContent: textOf(one, column)}),
        make('td', {textContent: textOf(other, column)}), make('td', {textContent: ratio})]);
    });
    const head = [['', 'words'], [one.path, ''], [other.path, ''], ['difference', '']].map(([textContent, className]) =>
      make('th', {textContent, className}));
    return [make('h2', {textContent: 'Side by side'}), make('div', {className: 'scroll'}, [
      make('table', {id: 'compared', className: 'narrow'}, [make('thead', {}, [make('tr', {}, head)]), make('tbody', {}, rows)])])];
  };
  const mark = own => {
    const at = marked.indexOf(own);
    if (at >= 0) marked.splice(at, 1);
    else marked.push(own);
    if (marked.length > 2) marked.shift();
    draw();
  };
  const sorted = () => {
    if (sorting.column === null) return report.results;
    const value = columns[sorting.column][1], sign = sorting.descending ? -1 : 1;
    // Unknown values come last in both directions.
    return [...report.results].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (!known(x) || !known(y)) return known(y) - known(x);
      return sign * (typeof x === 'number' ? x - y : String(x).localeCompare(String(y)));
    });
  };
  const sortBy = column => {
    const isWords = columns[column][3];
    sorting = {column, descending: sorting.column === column ? !sorting.descending : !isWords};
    draw();
  };
  const nameCell = own => make('td', {className: 'words'}, own.report
    ? [make('a', {href: own.report, textContent: own.path, title: 'open its report'})] : [own.path]);
  /** Of the marked results, or the first one. */
  const drawMembers = () => {
    const having = report.results.filter(own => own.members), chosen = marked.filter(own => own.members);
    const shown = chosen.length > 0 ? chosen : having.slice(0, 1), part = make('div', {id: 'members-part'});
    element('explorer').append(part);
    tandem.members.draw(part, shown.map((own, index) => ({name: own.path, color: shade(index), members: own.members})));
  };
  const drawData = () => {
    const having = report.results.filter(own => own.data_epochs), chosen = marked.filter(own => own.data_epochs);
    const shown = chosen.length > 0 ? chosen : having.slice(0, 1), part = make('div', {id: 'data-part'});
    element('explorer').append(part);
    tandem.data.draw(part, shown.map(own => ({name: own.path, epochs: own.data_epochs})));
  };
  const draw = () => {
    const arrow = index => (sorting.column === index ? (sorting.descending ? ' ↓' : ' ↑') : '');
    const head = [make('th', {}), ...columns.map(([heading, , , words], index) => make('th', {
      className: `sortable ${words ? 'words' : ''}`, textContent: heading + arrow(index), onclick: () => sortBy(index)}))];
    const rows = sorted().map(own => make('tr', {}, [
      make('td', {}, [make('input', {type: 'checkbox', checked: marked.includes(own), title: 'compare', onchange: () => mark(own)})]),
      nameCell(own),
      ...columns.slice(1).map(column => make('td', {className: column[3] ? 'words' : '', textContent: textOf(own, column)}))]));
    element('explorer').replaceChildren(...compared(), make('h2', {textContent: 'All results'}), make('div', {className: 'scroll tall'}, [
      make('table', {id: 'results', className: 'dense'}, [make('thead', {}, [make('tr', {}, head)]), make('tbody', {}, rows)])]));
    drawData();
    drawMembers();
    document.body.dataset.drawn = rows.length;
  };
  // Opened with #path,path the page shows these two, so that a comparison can be sent as a link.
  const wanted = decodeURIComponent(location.hash.slice(1)).split(',');
  report.results.filter(own => wanted.includes(own.path)).slice(0, 2).forEach(own => marked.push(own));
  draw();
})();
