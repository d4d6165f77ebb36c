// Draws the blocks of the page model (validation/report/page.hpp) in their order: headings, notes, tables, and
// canvases for charts, which other scripts fill.
(() => {
  const {report, make} = tandem;

  /** A figure as printed matter: minus sign, and spaces that do not break except after a slash. */
  const typeset = text =>
    (text === '-' ? '–' : text.replaceAll('-', '−').replaceAll(' ', '\u00a0').replaceAll('\u00a0/\u00a0', '\u00a0/ '));

  const cellOf = (value, column) => {
    const {text, mark, hint} = typeof value === 'string' ? {text: value} : value;
    const cell = make('td', {className: column.words ? 'words' : ''});
    if (mark === 'badge')
      cell.append(make('span', {className: `badge ${text.replace(' ', '-')}`, title: hint, textContent: text}));
    else
      cell.textContent = column.words && text !== '-' ? text : typeset(text);
    if (mark === 'beyond') cell.classList.add('beyond');
    return cell;
  };
  const tableOf = ({size, columns, rows}) => {
    const head = make('tr', {}, columns.map(column =>
      make('th', {className: column.words ? 'words' : '', textContent: column.name})));
    const body = rows.map(row =>
      make('tr', {className: row.kind}, row.cells.map((cell, index) => cellOf(cell, columns[index]))));
    const table = make('table', {className: `${size} ${columns.length > 8 ? 'dense' : ''}`},
                       [make('thead', {}, [head]), make('tbody', {}, body)]);
    return make('div', {className: `scroll ${size === 'scrolling' ? 'tall' : ''}`}, [table]);
  };
  const chartOf = ({id, title, height}) => make('div', {className: 'chart'}, [
    make('h3', {textContent: title}),
    make('div', {className: 'legend', id: `${id}-legend`}),
    make('div', {style: `height: ${height}px`}, [make('canvas', {id})]),
  ]);

  const elementOf = {
    heading: block => [make(`h${block.level}`, {textContent: block.text})],
    note: block => [make('p', {className: 'lead', textContent: block.text})],
    bullets: block => [make('ul', {className: 'remarks'}, block.texts.map(text => make('li', {textContent: text})))],
    code: block => [make('pre', {className: block.is_failure ? 'failed' : '', textContent: block.text})],
    tiles: block => [make('div', {className: 'tiles'}, block.tiles.map(([name, value, hint]) =>
      make('div', {className: 'tile', title: hint}, [make('span', {textContent: name}), make('b', {textContent: typeset(value)})])))],
    banner: block => [make('div', {className: `banner ${block.state.toLowerCase().replaceAll(' ', '-')}`}, [
      make('b', {textContent: block.state}), block.text,
      ...(block.points.length ? [make('ul', {}, block.points.map(text => make('li', {textContent: text})))] : [])])],
    table: block => [tableOf(block)],
    charts: block => [make('div', {className: `charts ${block.charts.length === 1 ? 'single' : ''}`}, block.charts.map(chartOf))],
    details: block => [make('details', {}, [make('summary', {textContent: block.title}), ...elementsOf(block.content)])],
    explorer: () => [make('div', {id: 'explorer'})],
  };
  const elementsOf = blocks => blocks.flatMap(block => elementOf[block.kind](block));

  const {title, kind, blocks} = report.page;
  document.querySelector('main').replaceChildren(
    make('h1', {}, [make('small', {textContent: kind}), title]), ...elementsOf(blocks));
})();
