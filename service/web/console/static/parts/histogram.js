/** The requests of the last 24 hours by hour, and the errors among them. The page on usage has the numbers. */
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { number } from "../app/texts.js";

const WIDTH = 600, HEIGHT = 44;
const HOUR = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const LABELS = 5;

/** @param {{ project: string }} given */
export function Histogram({ project }) {
  const { data } = useLoading((signal) => call(`${pathOf(project)}/usage`, { signal }), [project]);
  const steps = /** @type {any[]} */ (data?.steps ?? []);
  const bars = steps.map(({ at, requests, errors_4xx, errors_5xx }) => ({ at, requests, errors: errors_4xx + errors_5xx }));
  const most = Math.max(1, ...bars.map(({ requests }) => requests));
  const worst = bars.reduce((one, other) => (other.errors > one.errors ? other : one), { at: "", errors: 0 });
  const band = WIDTH / Math.max(1, bars.length);
  const hour = (/** @type {string} */ at) => HOUR.format(new Date(at));
  const name = `Requests by hour of the last day${worst.errors ? `; most errors, ${number(worst.errors)}, from ${hour(worst.at)} on` : ", none with an error"}`;
  return html`<div class="histogram"><svg class="chart-plot" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${name}>
      ${bars.map(({ at, requests, errors }, index) => html`<g key=${at}><${Bar} value=${requests / most} kind="faint" left=${band * index} width=${band} /><${Bar} value=${errors / most} kind="bad" left=${band * index} width=${band} />
        <title>${`${hour(at)}: ${number(requests)} requests, ${number(errors)} errors`}</title></g>`)}
      <line class="is-base" x1="0" x2=${WIDTH} y1=${HEIGHT} y2=${HEIGHT} /></svg>
    <div class="chart-x small faint" aria-hidden="true">${bars.filter((_, index) => index % Math.ceil(bars.length / LABELS) === 0).map(({ at }) => html`<span key=${at}>${hour(at)}</span>`)}<span>now</span></div></div>`;
}

/** @param {{ value: number, kind: string, left: number, width: number }} given `value` is a part of the highest bar. */
function Bar({ value, kind, left, width }) {
  if (!value) return null;
  const height = Math.max(1, value * HEIGHT);
  return html`<rect class=${`bar-${kind}`} x=${left + width * 0.1} y=${HEIGHT - height} width=${width * 0.8} height=${height} />`;
}
