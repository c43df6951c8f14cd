/** Calls of what an app gave the client. */

/** Calls a listener. One that throws is reported, and stops neither the client nor other listeners. */
export function guard(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (typeof reportError === "function") reportError(error);
    else console.error(error);
  }
}
