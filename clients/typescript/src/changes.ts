/** The changes of a live list, one by one, for a loop. */
import type { ServiceError } from "./errors.js";
import type { Line } from "./lines.js";

/** Changes that wait for a slow reader; past them the list begins again with a snapshot. */
const WAITING = 1_000;

/** A snapshot, and each change after it; another snapshot where changes were missed. Raises the problem of a list that
 * is closed for good. */
export async function* changes(line: Line, query: object): AsyncGenerator<any> {
  let items: any[] = [], wake = () => {}, ended: { problem: ServiceError | undefined } | null = null;
  const follower = line.follow(query, {
    data(documents, changes) {
      if (documents) items = [{ op: "snapshot", documents }];
      items.push(...changes);
      if (items.length > WAITING) line.again(follower);
      wake();
    },
    state(state, problem) {
      if (state === "closed") ended = { problem };
      wake();
    },
  });
  const end = (): { problem: ServiceError | undefined } | null => ended;
  try {
    for (;;) {
      if (items.length) yield items.shift();
      else if (!end()) await new Promise<void>((resolve) => (wake = resolve));
      else if (end()!.problem) throw end()!.problem;
      else return;
    }
  } finally {
    line.leave(follower);
  }
}
