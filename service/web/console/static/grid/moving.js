/** Where the keys of a grid lead, and what Ctrl C takes. */
import { cellText } from "./columns.js";

/** @typedef {{ row: number, column: number }} Cell */

/** @param {KeyboardEvent} event @param {Cell} from @param {number} rows @param {number} columns @param {number} page Rows in sight.
 * @returns {Cell | null} Null for a key that moves nothing. */
export function move(event, { row, column }, rows, columns, page) {
  const isFar = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowDown": return { row: row + 1, column };
    case "ArrowUp": return { row: row - 1, column };
    case "ArrowRight": return event.shiftKey ? null : { row, column: column + 1 };
    case "ArrowLeft": return event.shiftKey ? null : { row, column: column - 1 };
    case "PageDown": return { row: row + page, column };
    case "PageUp": return { row: row - page, column };
    case "Home": return isFar ? { row: 0, column: 0 } : { row, column: 0 };
    case "End": return isFar ? { row: rows - 1, column: columns - 1 } : { row, column: columns - 1 };
    default: return null;
  }
}

/** @param {import("./columns.js").Column[]} columns @param {any[]} rows @returns {string} A table as spreadsheets paste it. */
export function toTsv(columns, rows) {
  const line = (/** @type {string[]} */ cells) => cells.map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t");
  return [line(columns.map(({ title }) => title)), ...rows.map((row) => line(columns.map((column) => rawText(column, row))))].join("\n");
}

/** @param {import("./columns.js").Column} column @param {any} row @returns {string} */
function rawText(column, row) {
  const value = column.read(row);
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : typeof value === "string" ? value : String(value ?? cellText(column, row));
}
