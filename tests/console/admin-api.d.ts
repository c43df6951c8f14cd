// The bodies and answers of the Admin API, found by the path and the method of a call. A path that is no literal has any.
import type { paths } from "admin-document";

type Filled<Path> = Path extends `${infer Before}{${string}}${infer After}` ? `${Before}${string}${Filled<After>}` : Path;
type Form<Path> = Path extends `/admin/v1/${infer Rest}` ? Filled<Rest> : never;
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type Found<Path> = { [Each in keyof paths]: Same<Form<Each>, Path> extends true ? Each : never }[keyof paths];
type Operation<Path, Method extends string> = [Found<Path>] extends [never]
  ? undefined
  : Lowercase<Method> extends keyof paths[Found<Path>]
    ? paths[Found<Path>][Lowercase<Method>]
    : undefined;
type Json<Part> = Part extends { content: { "application/json": infer Body } } ? Body : never;
type Good<Responses> = Json<Responses[keyof Responses & (200 | 201 | 202)]>;

export type Answer<Path, Method extends string> =
  Operation<Path, Method> extends { responses: infer Responses } ? ([Good<Responses>] extends [never] ? any : Good<Responses>) : any;
export type Sent<Path, Method extends string> =
  Operation<Path, Method> extends { requestBody?: infer Body } ? ([Json<Body>] extends [never] ? unknown : Json<Body>) : unknown;
