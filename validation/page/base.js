// Shared by the scripts of all pages: the data embedded in the page, elements, colours, axes and texts of numbers.
const tandem = (() => {
  const report = JSON.parse(document.getElementById('report').textContent);
  const color = {simulated: '#2563eb', measured: '#e8710a', line: '#dfe4ea', ink: '#1b2430', soft: '#5b6675',
                 bias: '#374151', absolute: '#9aa5b4'};
  const palette = ['#2563eb', '#e8710a', '#1a7f37', '#b4237a', '#7c3aed', '#0e7490', '#a16207', '#4b5563'];
  const others = '#c3cad4';
  /** A chart has at most eight colours, each for one thing; all further things are light grey. */
  const shade = index => (index < palette.length ? palette[index] : others);
  /** Entries of a legend for things in the order of their colours. */
  const shades = names => [...names.slice(0, palette.length).map((name, index) => [name, shade(index)]),
                           ...(names.length > palette.length ? [[`${names.length - palette.length} others`, others]] : [])];
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
  Chart.defaults.devicePixelRatio = Math.max(2, window.devicePixelRatio || 1);
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  Chart.defaults.color = color.soft;
  Chart.defaults.plugins.legend.display = false;

  const threeDigits = value => Number(value.toPrecision(3)).toLocaleString('en', {maximumSignificantDigits: 3});
  const signed = value => (value > 0 ? '+' : '') + threeDigits(value).replace('-', '−');
  const percent = ratio => `${signed(ratio * 100)} %`;
  /** One scale for all values of an axis. */
  const timeScale = values => {
    const largest = Math.max(0, ...values);
    if (largest >= 1) return {factor: 1, unit: 's'};
    return largest >= 1e-3 ? {factor: 1e3, unit: 'ms'} : {factor: 1e6, unit: 'µs'};
  };
  const timeText = seconds => {
    const scale = timeScale([Math.abs(seconds)]);
    return `${threeDigits(seconds * scale.factor)} ${scale.unit}`;
  };
  const bytesText = value => {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
    return `${threeDigits(value / 1000 ** power)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
  };
  /** The name of a namespace looks like an address, and pages contain none. */
  const svgNamespace = 'http:' + '//www.w3.org/2000/svg';
  const axis = (title, more = {}) => ({
    title: {display: true, text: title, color: color.soft},
    grid: {color: color.line, borderColor: color.line},
    ...more,
  });
  const categories = {grid: {display: false, borderColor: color.line}, ticks: {color: color.ink, autoSkip: false}};
  const element = id => document.getElementById(id);
  /** An element with properties and children (elements or texts). Texts are never read as HTML. */
  const make = (name, properties, children = []) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  /** Ticks of a logarithmic axis: all round ones in a narrow range, else 1, 2 and 5 times powers of ten. */
  const roundTicks = ratio => value => {
    const digit = Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(3));
    return (ratio < 8 ? Number.isInteger(digit * 2) : [1, 2, 5].includes(digit)) ? threeDigits(value) : '';
  };
  /** Replaces the entries of a legend: a box in each colour, and a text. */
  const legend = (id, entries) => element(id).replaceChildren(...entries.map(([text, shade]) =>
    make('span', {}, [make('i', {style: `background: ${shade}`}), text])));
  const svg = (name, attributes, parent) => {
    const made = document.createElementNS(svgNamespace, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    if (parent) parent.append(made);
    return made;
  };
  /** 1, 2 or 5 times a power of ten, about six in the view. */
  const tickDistance = length => {
    const power = 10 ** Math.floor(Math.log10(length / 5));
    return [1, 2, 5, 10].map(factor => factor * power).find(distance => length / distance <= 7);
  };
  /** The times of a timeline, whose view begins at `begin`. */
  const drawRuler = (ruler, begin, length) => {
    ruler.replaceChildren();
    const distance = tickDistance(length), scale = timeScale([distance]);
    for (let tick = Math.ceil(begin / distance); tick * distance <= begin + length * 0.97; ++tick) {
      const place = `${(tick * distance - begin) / length * 100}%`;
      svg('line', {x1: place, x2: place, y1: 0, y2: 5, stroke: '#9aa5b4'}, ruler);
      svg('text', {x: place, y: 17, 'text-anchor': tick === 0 ? 'start' : 'middle'}, ruler).textContent =
        `${Number((tick * distance * scale.factor).toPrecision(8))} ${scale.unit}`;
    }
  };
  window.addEventListener('beforeprint', () => {
    const all = Object.keys(report.points || report.configurations || report.results);
    if (all.length <= 24) document.querySelectorAll('details').forEach(part => { part.open = true; });
    Object.values(Chart.instances).forEach(chart => chart.resize());
  });
  return {report, color, shade, shades, axis, bytesText, categories, element, make, legend, percent, roundTicks, signed, svg, drawRuler, threeDigits,
          timeScale, timeText};
})();
