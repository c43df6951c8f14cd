/** The rows of a grid, by cursor: pages of 100, of which at most 10,000 rows are held. */

export const PAGE = 100;
const HELD_PAGES = 100;
// Chromium cuts an element's height at 33,554,428 px: so many rows have a place in any form of the grid.
const ROWS_MAX = 500_000;

/** @typedef {{ items: any[], next: string | null }} Answer */
/** @typedef {{ cursor: string, items: any[] | null, isAsked: boolean }} Held */

export class Rows {
  /** @param {Answer} first The page that begins. @param {(cursor: string) => Promise<Answer>} load @param {() => void} changed */
  constructor(first, load, changed) {
    /** @type {Held[]} */
    this.pages = [{ cursor: "*", items: first.items, isAsked: false }];
    this.known = first.items.length;
    this.next = first.next;
    this.load = load;
    this.changed = changed;
    this.error = /** @type {Error | null} */ (null);
    this.isClosed = false;
  }

  /** @param {number} index @returns {any} The row; undefined while it is loaded. */
  at(index) {
    const page = this.pages[Math.floor(index / PAGE)];
    if (page && !page.items) this.ask(page);
    return page?.items?.[index % PAGE];
  }

  /** Loads what comes after the last row. @param {number} last The last row in sight. */
  reach(last) {
    if (!this.next || this.error || last + PAGE / 2 < this.known || this.known >= ROWS_MAX) return;
    const page = { cursor: this.next, items: null, isAsked: false };
    this.next = null;
    this.pages.push(page);
    this.ask(page);
  }

  /** @param {Held} page */
  async ask(page) {
    if (page.isAsked) return;
    page.isAsked = true;
    try {
      const { items, next } = await this.load(page.cursor);
      this.take(page, items, next);
      this.error = null;
    } catch (error) {
      this.error = error instanceof Error ? error : new Error(String(error));
      if (this.pages.at(-1) === page && page.items === null) {
        this.pages.pop();
        this.next = page.cursor;
      }
    }
    page.isAsked = false;
    if (!this.isClosed) this.changed();
  }

  /** @param {Held} page @param {any[]} items @param {string | null} next */
  take(page, items, next) {
    page.items = items;
    const at = this.pages.indexOf(page);
    if (at === this.pages.length - 1) {
      this.known = at * PAGE + items.length;
      this.next = next;
    }
    const held = this.pages.filter((each) => each.items);
    if (held.length <= HELD_PAGES) return;
    // The pages are in order: the farthest from this one is the first or the last that is held.
    const [first, last] = [held[0], held.at(-1)];
    const farthest = first && last && at - this.pages.indexOf(first) >= this.pages.indexOf(last) - at ? first : last;
    if (farthest) farthest.items = null;
  }

  /** Loads again what failed. */
  retry() {
    this.error = null;
    this.changed();
  }

  /** Shows another state of a record. @param {any} item */
  put(item) {
    for (const { items } of this.pages) {
      const at = items?.findIndex((each) => each.id === item.id) ?? -1;
      if (items && at >= 0) items[at] = item;
    }
    this.changed();
  }
}
