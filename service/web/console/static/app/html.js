/** Templates: htm makes Preact's elements of them, without a build. */
import { h } from "preact";
import htm from "htm";

export { h };
export const html = htm.bind(h);
