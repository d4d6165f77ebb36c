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
      // A short name is one line, a long one may break after a slash.
      cell.textContent = column.words && text !== '-' ? text.replaceAll('/', '/\u200b') : typeset(text);
    if (column.words && text.length <= 24) cell.classList.add('short');
    if (mark === 'beyond' || mark === 'best') cell.classList.add(mark);
    return cell;
  };
  /** Columns in groups that stay together: a name that begins with a small letter continues the one before it. */
  const columnGroups = columns => {
    const groups = [];
    columns.forEach(({name}, index) => {
      if (index > 1 && /^[a-z]/.test(name)) groups[groups.length - 1].push(index);
      else groups.push([index]);
    });
    return groups;
  };
  /** The parts of a table that is too wide for the page: each has the first column and as many others as fit. */
  const partsThatFit = ({columns}, widths, room) => {
    const [first, ...others] = columnGroups(columns), parts = [];
    let used = Infinity;
    others.forEach(group => {
      const width = group.reduce((sum, index) => sum + widths[index], 0);
      if (used + width > room) {
        parts.push([...first]);
        used = widths[0];
      }
      parts[parts.length - 1].push(...group);
      used += width;
    });
    return parts;
  };
  const picked = (block, part) => ({...block, columns: part.map(index => block.columns[index]),
    rows: block.rows.map(row => ({...row, cells: part.map(index => row.cells[index])}))});
  /** On screens that are wide enough for a page of figures, wide tables continue below instead of being scrolled. */
  const fit = (frame, block) => {
    const narrowest = 800, table = frame.querySelector('table');
    if (frame.clientWidth < narrowest || table.scrollWidth <= frame.clientWidth + 1) return;
    const widths = [...table.querySelectorAll('th')].map(cell => cell.offsetWidth);
    const parts = partsThatFit(block, widths, frame.clientWidth);
    if (parts.length > 1) frame.replaceWith(...parts.map(part => tableOf(picked(block, part))));
  };
  const tables = [];
  const tableOf = block => {
    const {size, columns, rows} = block;
    const head = make('tr', {}, columns.map(column =>
      make('th', {className: column.words ? 'words' : '', textContent: column.name})));
    const body = rows.map(row =>
      make('tr', {className: row.kind}, row.cells.map((cell, index) => cellOf(cell, columns[index]))));
    const table = make('table', {className: `${size} ${columns.length > 8 ? 'dense' : ''}`},
                       [make('thead', {}, [head]), make('tbody', {}, body)]);
    const frame = make('div', {className: `scroll ${size === 'scrolling' ? 'tall' : ''}`}, [table]);
    tables.push([frame, block]);
    return frame;
  };
  const chartOf = ({id, title, height}) => make('div', {className: 'chart'}, [
    make('h3', {textContent: title}),
    make('div', {className: 'legend', id: `${id}-legend`}),
    make('div', {style: `height: ${height}px`}, [make('canvas', {id})]),
  ]);

  const drawingOf = ({title, note, svg}) => [
    make('h3', {textContent: title}), make('div', {className: 'drawing', innerHTML: svg}),
    ...(note ? [make('p', {className: 'lead', textContent: note})] : [])];

  const elementOf = {
    drawing: block => drawingOf(block),
    heading: block => [make(`h${block.level}`, {textContent: block.text})],
    note: block => [make('p', {className: 'lead', textContent: block.text})],
    bullets: block => [make('ul', {className: 'remarks'}, block.texts.map(text => make('li', {textContent: text})))],
    code: block => [make('pre', {className: block.is_failure ? 'failed' : '', textContent: block.text})],
    tiles: block => [make('div', {className: 'tiles'}, block.tiles.map(([name, value, hint]) =>
      make('div', {className: 'tile', title: hint}, [make('span', {textContent: name}), make('b', {textContent: typeset(value)})])))],
    banner: block => [make('div', {className: `banner ${block.state.toLowerCase().replaceAll(' ', '-')}`}, [
      make('b', {textContent: block.state}), block.text,
      ...(block.points.length ? [make('ul', {}, block.points.map(text => make('li', {textContent: text})))] : [])])],
    answer: block => [make('section', {className: 'answer'}, [
      ...(block.question ? [make('p', {className: 'question', textContent: block.question})] : []),
      make('p', {className: 'text', textContent: block.text}),
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
  tables.slice().forEach(([frame, block]) => {
    const closed = frame.closest('details');
    if (!closed) return fit(frame, block);
    closed.addEventListener('toggle', () => fit(frame, block), {once: true});
  });
})();
