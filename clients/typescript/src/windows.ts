/** The first records of a query, kept in the service's order while changes come. Pure. */
export interface Kept {
  id: string;
  data: Record<string, unknown>;
  [name: string]: unknown;
}
export type FrameChange<D> = { op: "enter" | "change"; document: D } | { op: "leave"; document_id: string };

const RANKS: Record<string, number> = { number: 1, string: 2, object: 3, boolean: 4 };
const rankOf = (value: unknown): number => (value === null || value === undefined ? 0 : RANKS[typeof value] ?? 3);
/** Surrogates stand for code points above all others, though their units are below U+E000. */
const lift = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);

/** The order of two texts by code points, not by UTF-16 units. */
export function compareText(left: string, right: string): number {
  const end = Math.min(left.length, right.length);
  for (let at = 0; at < end; at++) {
    const one = left.charCodeAt(at), other = right.charCodeAt(at);
    if (one !== other) return lift(one) - lift(other);
  }
  return left.length - right.length;
}

/** The order in which lists sort: null, numbers, text, objects, booleans. */
export function compareValues(left: unknown, right: unknown): number {
  const rank = rankOf(left), difference = rank - rankOf(right);
  if (difference || rank === 0) return difference;
  if (rank === 2) return compareText(left as string, right as string);
  return rank === 3 ? compareText(JSON.stringify(left), JSON.stringify(right)) : Number(left) - Number(right);
}

const OWN = ["id", "email", "created_at", "updated_at", "version"];

function valueOf(document: Kept, field: string, isDescending: boolean): unknown {
  const path = field.replace(/^data\./, ""), found = path.split(".").reduce<any>((value, name) => value?.[name], document.data);
  const value = OWN.includes(field) ? document[field] : document.data[path] ?? found;
  if (!Array.isArray(value)) return value;
  // An array sorts by its least element, descending by its greatest; an empty one is less than all.
  return [...value].sort((a, b) => (isDescending ? compareValues(b, a) : compareValues(a, b)))[0];
}

export class Window<D extends Kept> {
  documents: D[] = [];
  /** Nothing lies behind the window: it has all that the query finds. */
  private isComplete = true;
  private readonly compare: (left: D, right: D) => number;

  constructor(private readonly limit: number, sort_by = "created_at", sort_order?: string) {
    const isDescending = sort_order === "desc" || sort_by.startsWith("-"), field = sort_by.replace(/^-/, "");
    const order = (one: D, other: D) =>
      compareValues(valueOf(one, field, isDescending), valueOf(other, field, isDescending)) || compareText(one.id, other.id);
    this.compare = isDescending ? (one, other) => order(other, one) : order;
  }

  fill(documents: D[], isComplete: boolean): void {
    this.documents = documents;
    this.isComplete = isComplete;
  }

  /** Returns true where records that belong here are not known: the query must be asked again. */
  apply(changes: FrameChange<D>[]): boolean {
    for (const change of changes) this.change(change);
    return !this.isComplete && this.documents.length < this.limit;
  }

  private change(change: FrameChange<D>): void {
    const id = change.op === "leave" ? change.document_id : change.document.id, last = this.documents.at(-1);
    const rest = this.documents.filter((each) => each.id !== id);
    // Behind the window's end are records that are not known, so the place of this one among them is not known either.
    const isHere = change.op !== "leave" && (this.isComplete || (last !== undefined && this.compare(change.document, last) <= 0));
    const all = isHere ? [...rest, (change as { document: D }).document].sort(this.compare) : rest;
    if (all.length > this.limit) this.isComplete = false;
    this.documents = all.slice(0, this.limit);
  }
}
