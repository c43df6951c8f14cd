/** Numbers, times and names as people read them, in the browser's own locale. */
import { html } from "./html.js";

const NUMBER = new Intl.NumberFormat();
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const SECOND = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const DAY_AND_SECOND = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** @param {number} value @returns {string} */
export const number = (value) => NUMBER.format(value);

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];

/** @param {number} value @returns {string} `9.4 MB`. */
export function bytes(value) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, value)) / 3));
  return new Intl.NumberFormat(undefined, { style: "unit", unit: UNITS[power], maximumFractionDigits: 1 }).format(value / 1000 ** power);
}

/** The local time, with UTC in the title. @param {{ at: string | null, day?: boolean, never?: string }} given */
export function Time({ at, day = false, never = "never" }) {
  if (!at) return html`<span class="faint">${never}</span>`;
  const time = new Date(at);
  return html`<time datetime=${at} title=${at}>${(day ? DAY : MOMENT).format(time)}</time>`;
}

/** A time of day with its seconds, and with UTC in the title. @param {{ at: string, day?: boolean }} given */
export function Moment({ at, day = false }) {
  return html`<time datetime=${at} title=${at}>${(day ? DAY_AND_SECOND : SECOND).format(new Date(at))}</time>`;
}

/** @param {string} at @returns {string} `27 minutes`, for a time to come. */
export function remaining(at) {
  const minutes = Math.max(1, Math.round((Date.parse(at) - Date.now()) / 60_000));
  if (minutes < 120) return `${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
  return `${Math.round(minutes / 60)} hours`;
}

/** @param {{ email: string | null }} user @returns {string} The address; a word for an anonymous user, who has none. */
export const addressOf = ({ email }) => email ?? "anonymous";

/** @param {Record<string, unknown>} settings Of a project. @returns {boolean} True where users sign in by their names, too. */
export const hasNames = ({ USERNAMES = "off" }) => USERNAMES !== "off";

/** @param {string} name @returns {string} Two letters. */
export const initials = (name) => name.split(/\s+/).map((word) => [...word][0] ?? "").slice(0, 2).join("").toUpperCase();

/** @param {Record<string, string>} roles @returns {string} */
export const describeRoles = (roles) =>
  Object.entries(roles).map(([project, role]) => (project === "*" ? `${role} of all projects` : `${role} of ${project}`)).join(", ");
