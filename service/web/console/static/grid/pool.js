/** The rows of a grid that are in sight: as many elements as fit, whose texts are replaced while the grid scrolls. */
import { cellText, thumbnail } from "./columns.js";

const SPARE = 4;

/** @typedef {import("./columns.js").Column} Column */
/** @typedef {{ element: HTMLElement, picture: HTMLImageElement | null, id: Text | null, text: Text, link: HTMLAnchorElement | null }} Cell */
/** @typedef {{ element: HTMLElement, check: HTMLInputElement, cells: Cell[], index: number, row: any }} Slot */
/** @typedef {{ columns: Column[], at: (index: number) => any, known: number, isSelected: (row: any) => boolean,
 *   active: { row: number, column: number }, opened: string, mark: (row: any, column: Column) => string, height: number }} View */

/** @param {string} tag @param {string} name @param {string} [role] @returns {HTMLElement} */
function make(tag, name, role) {
  const element = document.createElement(tag);
  element.className = name;
  if (role) element.setAttribute("role", role);
  return element;
}

/** @param {HTMLElement} parent @param {string} name @returns {Text} A text in an element of its own. */
function makeText(parent, name) {
  const text = document.createTextNode("");
  const element = make("span", name);
  element.dir = "auto";
  element.append(text);
  parent.append(element);
  return text;
}

/** Which three columns the narrow form shows: the first, a text or a reference, and one at the side.
 * @param {Column[]} columns @returns {Record<number, string>} The names of their places. */
function placesOf(columns) {
  const text = columns.findIndex(({ kind }, at) => at > 0 && (kind === "string" || kind === "reference"));
  const side = columns.findIndex((_, at) => at > 0 && at !== text);
  return { [text]: "is-text", [side]: "is-side", 0: "is-frozen is-title" };
}

/** @param {Column} column @param {number} at @param {string} place @returns {Cell} */
function makeCell(column, at, place) {
  const isNumber = column.kind === "integer" || column.kind === "number";
  const element = make("div", `grid-cell ${isNumber ? "number" : ""} ${place} ${column.kind === "id" ? "is-id" : ""}`, "gridcell");
  element.setAttribute("aria-colindex", String(at + 2));
  element.dataset.name = column.title;
  if (column.kind === "reference") {
    const link = /** @type {HTMLAnchorElement} */ (make("a", "reference"));
    link.tabIndex = -1;
    element.append(link);
    return { element, link, picture: null, id: makeText(link, "id"), text: makeText(link, "") };
  }
  const hasPicture = column.kind === "file" && Object.keys(column.definition?.variants ?? {}).length > 0;
  const picture = hasPicture ? document.createElement("img") : null;
  if (picture) {
    picture.className = "thumb";
    picture.alt = "";
    element.append(picture);
  }
  return { element, link: null, picture, id: null, text: makeText(element, column.kind === "id" || column.kind === "object" ? "is-code" : "") };
}

export class Pool {
  /** @param {HTMLElement} body The element whose height is that of all rows. @param {string} name Begins the ids of cells. */
  constructor(body, name) {
    this.body = body;
    this.name = name;
    /** @type {Slot[]} */
    this.slots = [];
    this.key = "";
  }

  /** Makes the elements, where columns or the height of the window changed. @param {View} view @param {number} room In pixels. */
  prepare(view, room) {
    const count = Math.ceil(room / view.height) + SPARE;
    const key = `${count} ${view.columns.map(({ path, kind }) => `${path}:${kind}`).join()}`;
    if (key === this.key) return;
    this.key = key;
    this.slots = Array.from({ length: count }, (_, at) => this.makeSlot(view.columns, at));
    this.body.replaceChildren(...this.slots.map(({ element }) => element));
  }

  /** @param {Column[]} columns @param {number} at @returns {Slot} */
  makeSlot(columns, at) {
    const element = make("div", "grid-row", "row");
    const box = make("div", "grid-cell is-check", "gridcell");
    box.setAttribute("aria-colindex", "1");
    const check = document.createElement("input");
    check.type = "checkbox";
    check.className = "check";
    check.tabIndex = -1;
    check.setAttribute("aria-label", "Select");
    box.append(check);
    const places = placesOf(columns);
    const cells = columns.map((column, index) => makeCell(column, index, places[index] ?? ""));
    cells.forEach((cell, index) => {
      cell.element.id = `${this.name}-${at}-${index}`;
    });
    element.append(box, ...cells.map((cell) => cell.element));
    return { element, check, cells, index: -1, row: undefined };
  }

  /** @param {View} view @param {number} top In pixels. @param {boolean} isForced Whether rows that stay are written again. */
  draw(view, top, isForced) {
    const count = this.slots.length;
    const first = Math.max(0, Math.min(Math.floor(top / view.height) - SPARE / 2, view.known - count));
    for (let index = Math.max(0, first); index < Math.max(0, first) + count; index += 1) {
      const slot = this.slots[index % count];
      if (slot && (isForced || slot.index !== index || slot.row === undefined)) write(slot, view, index);
    }
  }

  /** @param {number} row @param {number} column @returns {string} The id of a cell in sight; else empty. */
  idOf(row, column) {
    const at = row % this.slots.length;
    return this.slots[at]?.index === row ? `${this.name}-${at}-${column}` : "";
  }

  /** @param {Element} target @returns {{ slot: Slot, column: number } | null} What was pressed. */
  find(target) {
    const cell = target.closest(".grid-cell");
    const slot = this.slots.find(({ element }) => element.contains(target));
    return slot ? { slot, column: slot.cells.findIndex(({ element }) => element === cell) } : null;
  }
}

/** @param {Slot} slot @param {View} view @param {number} index */
function write(slot, view, index) {
  const row = index < view.known ? view.at(index) : null;
  slot.index = index;
  slot.row = row;
  slot.element.hidden = row === null;
  if (row === null) return;
  slot.element.style.transform = `translateY(${index * view.height}px)`;
  slot.element.setAttribute("aria-rowindex", String(index + 2));
  const isSelected = row !== undefined && (view.isSelected(row) || row.id === view.opened);
  slot.element.setAttribute("aria-selected", String(isSelected));
  slot.check.checked = row !== undefined && view.isSelected(row);
  view.columns.forEach((column, at) => {
    const cell = slot.cells[at];
    if (cell) writeCell(cell, column, row, view.active.row === index && view.active.column === at, row ? view.mark(row, column) : "");
  });
}

/** @param {Cell} cell @param {Column} column @param {any} row @param {boolean} isActive @param {string} mark */
function writeCell(cell, column, row, isActive, mark) {
  cell.element.classList.toggle("is-active", isActive);
  cell.element.classList.toggle("is-pending", mark === "pending");
  cell.element.classList.toggle("is-bad", mark !== "" && mark !== "pending");
  const value = row ? column.read(row) : undefined;
  cell.text.data = row ? cellText(column, row) : "…";
  cell.element.classList.toggle("none", row === undefined || value === false);
  cell.element.title = mark && mark !== "pending" ? mark : column.kind === "datetime" && value ? String(value) : "";
  if (cell.link && cell.id) {
    cell.id.data = value ? String(value).slice(-6) : "";
    if (value) cell.link.href = column.target(row);
    else cell.link.removeAttribute("href");
  }
  if (cell.picture) {
    const source = value ? thumbnail(String(value), column.definition) : "";
    cell.picture.hidden = !source;
    if (source && cell.picture.src !== source) cell.picture.src = source;
  }
}
