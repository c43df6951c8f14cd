/** The id of a document that a batch is about to create. It is worth something within its own batch only. */
import { ConfigurationError } from "./errors.js";

let written: object | null = null;

export class Placeholder {
  constructor(private readonly batch: object, private readonly name: string) {}

  toJSON(): unknown {
    if (written !== this.batch) this.toString();
    return { $id: this.name };
  }

  toString(): string {
    throw new ConfigurationError("The id of a document that a batch creates is good in that batch only");
  }
}

/** `work` may write the placeholders of `batch`. */
export function writing<T>(batch: object, work: () => T): T {
  written = batch;
  try {
    return work();
  } finally {
    written = null;
  }
}
