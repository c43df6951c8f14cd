/** The requests of a project in the last 24 hours as a small line, which loads when it comes into sight. */
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { number } from "../app/texts.js";

const WIDTH = 300, HEIGHT = 56;

/** @param {{ project: string, isQuiet: boolean }} given A quiet project had no request, so none is asked for. */
export function Spark({ project, isQuiet }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [steps, setSteps] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    if (!box.current || isQuiet) return undefined;
    const aborter = new AbortController();
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      call(`${pathOf(project)}/usage`, { signal: aborter.signal }).then((found) => setSteps(found.steps), () => undefined);
    });
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      aborter.abort();
    };
  }, [project, isQuiet]);
  const most = Math.max(1, ...steps.map(({ requests }) => requests));
  const x = (/** @type {number} */ index) => (index / Math.max(1, steps.length - 1)) * WIDTH;
  const y = (/** @type {number} */ value) => HEIGHT - 6 - (value / most) * (HEIGHT - 12);
  const points = steps.map(({ requests }, index) => `${x(index)},${y(requests)}`).join(" ");
  const total = steps.reduce((sum, { requests }) => sum + requests, 0);
  return html`<span class="spark-box" ref=${box}><svg class="spark" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${isQuiet ? "No requests in 24 hours" : `${number(total)} requests in 24 hours`}>
    ${steps.length ? html`<polygon points=${`0,${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} /><polyline points=${points} />
      ${steps.map(({ at, requests, errors_5xx }, index) => errors_5xx > 0 && html`<rect key=${at} class="is-bad" x=${Math.max(0, x(index) - 2)} y=${y(requests)} width="4" height=${HEIGHT - y(requests)} />`)}`
      : html`<line class="spark-quiet" x1="0" x2=${WIDTH} y1=${HEIGHT - 6} y2=${HEIGHT - 6} />`}</svg></span>`;
}
