/** The first records of a query, kept in the service's order while changes come. Pure. */
export interface Kept {
  id: string;
  data: Record<string, unknown>;
  [name: string]: unknown;
}
export type FrameChange<D> = { op: "enter" | "change"; document: D } | { op: "leave"; document_id: string };

/** The first letters of the types of values, in their order: number, string, object, boolean. */
const KINDS = "nsob";
const rankOf = (value: unknown): number => (value === null ? 0 : KINDS.indexOf((typeof value)[0]!) + 1);
/** Surrogates stand for code points above all others, though their units are below U+E000. */
const lift = (text: string): string => text.replace(/[\ud800-\udfff]/g, "\uffff$&");

/** The order of two texts by code points, not by UTF-16 units. */
export function compareText(left: string, right: string): number {
  const one = lift(left), other = lift(right);
  return one < other ? -1 : Number(one > other);
}

/** The order in which lists sort: null, numbers, text, objects, booleans. */
export function compareValues(left: unknown, right: unknown): number {
  const rank = rankOf(left), difference = rank - rankOf(right);
  if (difference) return difference;
  if (rank === 2) return compareText(left as string, right as string);
  return rank === 3 ? compareText(JSON.stringify(left), JSON.stringify(right)) : Number(left) - Number(right);
}

const OWN = ["id", "email", "created_at", "updated_at", "version"];

/** An array sorts by its least element, descending (`sign` -1) by its greatest; an empty one is less than all. */
function valueOf(document: Kept, field: string, sign: number): unknown {
  const path = OWN.includes(field) ? field : field.replace(/^(data\.)?/, "data.");
  const value = path.split(".").reduce<any>((found, name) => found?.[name], document);
  return Array.isArray(value) ? [...value].sort((one, other) => sign * compareValues(one, other))[0] : value;
}

export interface Window<D> {
  readonly documents: D[];
  fill(documents: D[], isComplete: boolean): void;
  /** Returns true where records that belong here are not known: the query must be asked again. */
  apply(changes: FrameChange<D>[]): boolean;
}

export function makeWindow<D extends Kept>(limit: number, sort_by = "created_at", sort_order?: string): Window<D> {
  const field = sort_by.replace(/^-/, ""), sign = sort_order === "desc" || sort_by !== field ? -1 : 1;
  const compare = (one: D, other: D): number =>
    sign * (compareValues(valueOf(one, field, sign), valueOf(other, field, sign)) || compareText(one.id, other.id));
  // `isWhole`: nothing lies behind the window, so it has all that the query finds.
  let shown: D[] = [], isWhole = true;

  function change(change: FrameChange<D>): void {
    const isGone = change.op === "leave", id = isGone ? change.document_id : change.document.id, last = shown.at(-1);
    const rest = shown.filter((each) => each.id !== id);
    // Behind the window's end are records that are not known, so the place of this one among them is not known either.
    const isHere = !isGone && (isWhole || (last && compare(change.document, last) <= 0));
    if (isHere) rest.push(change.document), rest.sort(compare);
    isWhole &&= rest.length <= limit;
    shown = rest.slice(0, limit);
  }
  return {
    get documents() {
      return shown;
    },
    fill(documents, isComplete) {
      shown = documents;
      isWhole = isComplete;
    },
    apply(changes) {
      changes.forEach(change);
      return !isWhole && shown.length < limit;
    },
  };
}
