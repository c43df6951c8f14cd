/** The session and live lists, for components. */
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { ServiceError, Session } from "@auth-collections/client";
import { type LiveName, type LiveQuery, type LiveRecord, type LiveState, type LiveWhere, realtime } from "@auth-collections/client/realtime";
import type { Schema } from "./schema.js";
import { ac } from "./service.js";

/** The present session; null while no user is signed in, undefined until the client has read its store. */
export function useSession(): Session | null | undefined {
  const [session, setSession] = useState<Session | null>();
  useEffect(() => {
    const stop = ac.auth.onChange((_, next) => setSession(next));
    void ac.auth.session().then(setSession);
    return stop;
  }, []);
  return session;
}

interface Shown<C extends LiveName<Schema>> {
  documents: readonly LiveRecord<Schema, C>[];
  state: LiveState;
  problem?: ServiceError | undefined;
}

/** The records of a query, as they are now. All lists of the app share one socket. */
export function useLive<C extends LiveName<Schema>>(name: C, query: LiveQuery<LiveWhere<Schema, C>> = {}): Shown<C> {
  // A component makes a new object for the same query each time that it renders.
  const asked = JSON.stringify(query);
  const store = useMemo(() => {
    let shown: Shown<C> = { documents: [], state: "connecting" };
    const follow = (notify: () => void) => {
      const show = (next: Partial<Shown<C>>) => {
        shown = { ...shown, ...next };
        notify();
      };
      const list = realtime(ac).live(name, JSON.parse(asked), {
        data: (documents) => show({ documents }),
        state: (state, problem) => show({ state, problem }),
      });
      return () => list.close();
    };
    return { follow, read: () => shown };
  }, [name, asked]);
  return useSyncExternalStore(store.follow, store.read);
}
