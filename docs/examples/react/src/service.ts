/** The client of the whole app. Vite gives the variables of `.env.local`. */
import { createClient } from "@auth-collections/client";
import type { Schema } from "./schema.js";

const { VITE_URL, VITE_PUBLISHABLE_KEY } = import.meta.env;
export const ac = createClient<Schema>({ url: VITE_URL, key: VITE_PUBLISHABLE_KEY });
