/** Charts of rows: bars, lines, areas, or one number. The table beside them is their text. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../app/html.js";
import { number } from "../app/texts.js";

/** @typedef {{ labels: string[], series: { name: string, values: (number | null)[] }[] }} Drawing */

export const KINDS = { bar: "Bar", line: "Line", area: "Area", number: "Number" };
const MOST_SERIES = 8;
const LEFT = 48, TOP = 20, BOTTOM = 26, LABEL = 32, LETTER = 6.5, LONGEST = 18;
const FORMS = /** @type {Record<string, Intl.DateTimeFormatOptions>} */ ({
  year: { year: "numeric" }, quarter: { year: "numeric", month: "short" }, month: { year: "numeric", month: "short" }, week: { dateStyle: "medium" }, day: { dateStyle: "medium" },
  hour: { dateStyle: "short", timeStyle: "short" }, minute: { dateStyle: "short", timeStyle: "short" },
});

/** @param {any} value @param {any} [group] How the column is grouped. @returns {string} */
export function label(value, group) {
  if (value === null || value === undefined) return "none";
  if (typeof value === "number") return Number.isInteger(value) && value < 10_000 ? String(value) : number(value);
  if (typeof value !== "string") return typeof value === "object" ? JSON.stringify(value) : String(value);
  if (!group?.every || Number.isNaN(Date.parse(value))) return value;
  return new Intl.DateTimeFormat(undefined, { ...FORMS[group.every], timeZone: group.timezone ?? "UTC" }).format(new Date(value));
}

/** The first group is the axis; a second one makes a series of each of its values, else each column of values is one.
 * @param {Record<string, any>[]} rows @param {Record<string, any>} aggregate @returns {Drawing} */
export function draw(rows, { group = {}, values = {} }) {
  const [axis, split] = Object.keys(group);
  const columns = Object.keys(values);
  const first = columns[0] ?? "";
  if (!axis) return { labels: [""], series: columns.map((name) => ({ name, values: [plain(rows[0]?.[name])] })).slice(0, MOST_SERIES) };
  if (!split) return { labels: rows.map((row) => label(row[axis], group[axis])), series: columns.slice(0, MOST_SERIES).map((name) => ({ name, values: rows.map((row) => plain(row[name])) })) };
  const labels = [...new Set(rows.map((row) => label(row[axis], group[axis])))];
  const names = [...new Set(rows.map((row) => label(row[split], group[split])))].slice(0, MOST_SERIES);
  const found = new Map(rows.map((row) => [JSON.stringify([label(row[axis], group[axis]), label(row[split], group[split])]), plain(row[first])]));
  return { labels, series: names.map((name) => ({ name, values: labels.map((each) => found.get(JSON.stringify([each, name])) ?? null) })) };
}

/** @param {any} value @returns {number | null} */
const plain = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** @param {number} least @param {number} most @returns {number[]} Round numbers from below the least to above the most. */
export function ticks(least, most) {
  const span = most - least || 1;
  const power = 10 ** Math.floor(Math.log10(span / 4));
  const step = power * ([1, 2, 5, 10].find((each) => span / (each * power) <= 5) ?? 10);
  const begin = Math.floor(least / step) * step;
  return Array.from({ length: Math.ceil((most - begin) / step) + 1 }, (_, index) => Number((begin + index * step).toPrecision(12)));
}

/** @param {{ drawing: Drawing, kind: string, name: string, height?: number }} given */
export function Chart({ drawing, kind, name, height = 288 }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const { series, labels } = drawing;
  if (kind === "number")
    return html`<div class="chart-numbers" ref=${box}>${series.map((each) => html`<div key=${each.name}><span class="figure-name" dir="auto">${each.name}</span><br /><b class="chart-number">${each.values[0] === null ? "none" : number(each.values[0] ?? 0)}</b></div>`)}</div>`;
  return html`<div class="chart-box" ref=${box}>${width > 0 && html`<${Plot} drawing=${drawing} kind=${kind} name=${name} width=${width} height=${height} />`}
    ${series.length > 1 && labels.length > 0 && html`<div class="legend">${series.map((each, index) => html`<span key=${each.name}><i class=${`legend-${index + 1}`} /><span dir="auto">${each.name}</span></span>`)}</div>`}</div>`;
}

/** @param {{ drawing: Drawing, kind: string, name: string, width: number, height: number }} given */
function Plot({ drawing: { labels, series }, kind, name, width, height }) {
  const all = series.flatMap(({ values }) => values).filter((value) => value !== null);
  const lines = ticks(Math.min(0, ...all), Math.max(0, ...all, all.length ? -Infinity : 1));
  const [low, high] = [lines[0] ?? 0, lines.at(-1) ?? 1];
  const y = (/** @type {number} */ value) => TOP + (height - TOP - BOTTOM) * (1 - (value - low) / (high - low || 1));
  const band = (width - LEFT) / Math.max(1, labels.length);
  const x = (/** @type {number} */ index) => LEFT + band * (index + 0.5);
  const longest = Math.min(LONGEST, Math.max(...labels.map((text) => text.length)));
  const every = Math.ceil(Math.max(LABEL, (longest + 2) * LETTER) / band);
  return html`<svg class="plot" width=${width} height=${height} role="img" aria-label=${`${name}. The table has its numbers.`}>
    ${lines.map((value) => html`<g key=${value}><line x1=${LEFT} x2=${width} y1=${y(value)} y2=${y(value)} class=${value === 0 ? "is-base" : ""} />
      <text x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${number(value)}</text></g>`)}
    ${kind === "bar" ? html`<${Bars} series=${series} x=${x} y=${y} band=${band} />` : series.map((each, index) => html`<${Line} key=${each.name} values=${each.values} index=${index} x=${x} y=${y} isArea=${kind === "area"} />`)}
    ${labels.map((text, index) => index % every === 0 && html`<text key=${index} x=${x(index)} y=${height - 8} text-anchor="middle">${cut(text, (band * every) / LETTER)}</text>`)}</svg>`;
}

/** @param {string} text @param {number} length @returns {string} */
const cut = (text, length) => ([...text].length > length ? `${[...text].slice(0, Math.max(2, Math.floor(length) - 1)).join("")}…` : text);

/** @typedef {(value: number) => number} Scale */

/** @param {{ series: Drawing["series"], x: Scale, y: Scale, band: number }} given */
function Bars({ series, x, y, band }) {
  const width = Math.max(1, Math.min(64, (band * 0.7) / series.length));
  return series.map(({ values }, position) => values.map((value, index) => {
    if (value === null) return null;
    const left = x(index) + (position - series.length / 2) * width;
    return html`<g key=${`${position}-${index}`}><rect class=${`bar-${position + 1}`} x=${left} y=${Math.min(y(value), y(0))} width=${Math.max(1, width - 1)} height=${Math.abs(y(value) - y(0))} rx=${Math.min(2, width / 4)} />
      ${width > 26 && html`<text class="is-value" x=${left + width / 2} y=${Math.min(y(value), y(0)) - 6} text-anchor="middle">${number(Math.round(value * 100) / 100)}</text>`}</g>`;
  }));
}

/** @param {{ values: (number | null)[], index: number, x: Scale, y: Scale, isArea: boolean }} given */
function Line({ values, index, x, y, isArea }) {
  const points = values.map((value, at) => (value === null ? null : [x(at), y(value)])).filter((point) => point !== null);
  const text = points.map((point) => point.join(",")).join(" ");
  const [first, last] = [points[0], points.at(-1)];
  return html`<g class=${`line-${index + 1}`}>${isArea && first && last && html`<polygon points=${`${first[0]},${y(0)} ${text} ${last[0]},${y(0)}`} />`}<polyline points=${text} />
    ${points.length < 40 && points.map(([left, top]) => html`<circle key=${left} cx=${left} cy=${top} r="2.5" />`)}</g>`;
}
