/** The types of lists and writes, computed from a project's generated schema. They cost no byte at run time. */
import type { Id, KindOf, Time } from "./base.js";
import type { FileOptions } from "./bodies.js";
import type { ImportOptions } from "./streams.js";
import type { CallOptions } from "./transport.js";

export interface AnySchema {
  users: { data: object; create: object; where: object; counted?: string };
  collections: Record<string, { data: object; create: object; where: object; unique: string; counted?: string }>;
}
type Loose = Record<string, unknown>;
/** The schema of a client without one: any name of a collection, of a field and of a relation. */
export interface Untyped {
  users: { data: Loose; create: Loose; where: Loose };
  collections: Record<string, { data: Loose; create: Loose; where: Loose; unique: string }>;
}

type Present<T> = NonNullable<T>;
/** A value, or the elements of an array of references. */
type Item<T> = Present<Present<T> extends readonly (infer E)[] ? E : T>;
export type Relations<D> = {
  [K in keyof D & string as KindOf<Item<D[K]>> extends { id: string }
    ? K extends `${infer R}_id` ? R : K extends `${infer R}_ids` ? `${R}s` : never
    : never]: KindOf<Item<D[K]>> extends { id: infer T } ? T & string : never;
};
/** The field of a relation: `author_id` of `author`, and the array `tag_ids` of `tags`. */
type IdField<D, R extends string> = R extends `${infer X}s` ? `${X}_ids` extends keyof D ? `${X}_ids` : `${R}_id` : `${R}_id`;
type Filling<D, R extends string, T> = IdField<D, R> extends `${string}_ids` ? Related<T>[] : Related<T> | null;
export type DataOf<S extends AnySchema, C extends string> =
  C extends "users" ? S["users"]["data"] : C extends keyof S["collections"] ? S["collections"][C]["data"] : never;
export type CreateOf<S extends AnySchema, C extends string> = S["collections"][C]["create"];
type Where<S extends AnySchema, C extends string> = C extends "users" ? S["users"]["where"] : S["collections"][C]["where"];
type Rel<S extends AnySchema, C extends string> = keyof Relations<DataOf<S, C>> & string;
type To<S extends AnySchema, C extends string, R extends string> =
  R extends keyof Relations<DataOf<S, C>> ? Relations<DataOf<S, C>>[R] & string : never;
/** `Any` is chosen for a client without a schema, `Typed` for one with. */
type ByName<S extends AnySchema, Any, Typed> = S extends Untyped ? (Untyped extends S ? Any : Typed) : Typed;

export type PopulatePath<S extends AnySchema, C extends string> = ByName<S, string, "*" | Rel<S, C> | {
  [R in Rel<S, C>]: `${R}.${Rel<S, To<S, C, R>>}` | `${R}.${Rel<S, To<S, C, R>>}.${string}`;
}[Rel<S, C>]>;
type Head<P> = P extends `${infer H}.${string}` ? H : P;
type Tail<P, H extends string> = P extends `${H}.${infer T}` ? T : never;
type Simplify<T> = { [K in keyof T]: T[K] } & {};
/** A populated record. `email` is there for users, where the caller may read it. */
export interface Related<D> {
  id: Id;
  data: D;
  email?: string;
}
type RequiredKeys<T> = { [K in keyof T]-?: {} extends Pick<T, K> ? never : K }[keyof T];
type Filled<S extends AnySchema, C extends string, P extends string> = [P] extends [never] ? DataOf<S, C> : Simplify<DataOf<S, C> & ("*" extends P
  ? { [R in Rel<S, C>]?: Filling<DataOf<S, C>, R, DataOf<S, To<S, C, R>>> }
  : {
    [R in Head<P> & Rel<S, C> as IdField<DataOf<S, C>, R> extends RequiredKeys<DataOf<S, C>> ? R : never]: Filling<DataOf<S, C>, R, Filled<S, To<S, C, R>, Tail<P, R>>>;
  } & {
    [R in Head<P> & Rel<S, C> as IdField<DataOf<S, C>, R> extends RequiredKeys<DataOf<S, C>> ? never : R]?: Filling<DataOf<S, C>, R, Filled<S, To<S, C, R>, Tail<P, R>>>;
  })>;

export interface Document<D, C extends string = any> {
  id: Id<C>;
  data: D;
  created_at: Time;
  updated_at: Time;
  version: number;
}
export interface Totals {
  total: number | null;
  /** Says if `total` is exact, where `count` is `capped` or `estimated`. */
  total_is?: "exact" | "at_least" | "estimated";
  limit: number;
  offset?: number;
  /** The cursor of the next page, or null at the end. */
  next?: string | null;
}
export interface Page<T> extends Totals {
  documents: T[];
}

type Field<S extends AnySchema, C extends string> = keyof DataOf<S, C> & string;
export type FieldPath<S extends AnySchema, C extends string> = "id" | Field<S, C> | `data.${Field<S, C>}.${string}` | {
  [R in Rel<S, C>]: `${R}.${Field<S, To<S, C, R>>}`;
}[Rel<S, C>];
type SortName<S extends AnySchema, C extends string> = Field<S, C> | "id" | "created_at" | "updated_at" | `data.${string}`;
export type Sort<S extends AnySchema, C extends string> = SortName<S, C> | `-${SortName<S, C>}`;
type Narrow<R, F extends string> = R extends Related<infer D>[] ? Related<Pick<D, F & keyof D>>[] : R extends Related<infer D> ? Related<Pick<D, F & keyof D>> : R;
export type Chosen<S extends AnySchema, C extends string, P extends string, F extends string> = ByName<S, Loose, [F] extends [never] ? Filled<S, C, P> : Picked<S, C, P, F>>;
type Picked<S extends AnySchema, C extends string, P extends string, F extends string> = Simplify<
  Pick<Filled<S, C, P>, (F | Extract<F, `data.${string}`> extends never ? never : F & keyof Filled<S, C, P>)> & {
    [R in Head<P> & keyof Filled<S, C, P>]: Tail<F, R & string> extends never ? Filled<S, C, P>[R] : Narrow<Filled<S, C, P>[R], Tail<F, R & string>>;
  }>;

/** The names with which records that refer to these are counted. */
export type Counted<S extends AnySchema, C extends string> = ByName<S, string,
  (C extends "users" ? S["users"] : S["collections"][C]) extends { counted: infer K extends string } ? K : never>;
/** What `with_counts` adds to a record: 1,001 stands for more than 1,000. */
export type Counts<K extends string> = [K] extends [never] ? unknown : { counts: Record<K, number> };
export interface Shown<P extends string, F extends string, K extends string> {
  /** Names of relations, whose records come beside their ids. */
  populate?: readonly P[];
  /** Names of the fields to show. */
  fields?: readonly F[];
  /** Names of collections whose records refer to these, or `<collection>.<relation>`. */
  with_counts?: readonly K[];
}
/** A query for all of its records: `limit` is the most that come in all. */
export interface AllQuery<S extends AnySchema, C extends string, P extends string, F extends string, K extends string> extends Shown<P, F, K> {
  where?: Where<S, C>;
  sort_by?: Sort<S, C> | readonly Sort<S, C>[];
  limit?: number;
}
export interface Query<S extends AnySchema, C extends string, P extends string, F extends string, K extends string = never> extends AllQuery<S, C, P, F, K> {
  offset?: number;
  /** `*`, or the `next` of a page. */
  cursor?: string;
  count?: "exact" | "none" | "capped" | "estimated";
}
export interface CountQuery<S extends AnySchema, C extends string> {
  where?: Where<S, C>;
  count?: "exact" | "capped" | "estimated";
}
type Numeric<D> = { [K in keyof D]-?: NonNullable<D[K]> extends number ? K : never }[keyof D] & string;
type Numbers<D> = { [K in Numeric<D>]?: number } & { [path: `data.${string}` | `${string}.${string}`]: number };
type Values<T> = { [K in keyof T]?: T[K] extends readonly (infer E)[] | null | undefined ? E | { each: readonly E[] } : never };
export interface Change<S extends AnySchema, C extends string> {
  data?: Partial<CreateOf<S, C>>;
  increment?: Numbers<DataOf<S, C>>;
  multiply?: Numbers<DataOf<S, C>>;
  min?: Numbers<DataOf<S, C>>;
  max?: Numbers<DataOf<S, C>>;
  push?: Values<CreateOf<S, C>>;
  add?: Values<CreateOf<S, C>>;
  pull?: Values<CreateOf<S, C>>;
  /** Names of fields to remove. */
  unset?: readonly (Field<S, C> | `${string}.${string}`)[];
  where?: Where<S, C>;
}
export interface Aggregate<S extends AnySchema, C extends string> {
  where?: Where<S, C>;
  group?: Record<string, unknown>;
  values?: Record<string, unknown>;
  having?: Record<string, unknown>;
  sort_by?: string | readonly string[];
  limit?: number;
}
export interface Condition {
  /** The stored `version`, or an ETag: another one is a ConflictError. */
  if_match?: number | string;
}
type Upsert<S extends AnySchema, C extends string> = { by: S["collections"][C]["unique"]; on_conflict?: "replace" | "merge" | "ignore" };
type Many<S extends AnySchema, C extends string> = Where<S, C> extends infer W ? { where: W; expect?: number } : never;
type Doc<S extends AnySchema, C extends string> = Document<DataOf<S, C>, C>;

export interface Collection<S extends AnySchema, C extends keyof S["collections"] & string> {
  list<const P extends PopulatePath<S, C> = never, const F extends FieldPath<S, C> = never, const K extends Counted<S, C> = never>(query?: Query<S, C, P, F, K>, options?: CallOptions): Promise<Page<Document<Chosen<S, C, P, F>, C> & Counts<K>>>;
  /** All documents, by cursors and pages of 200. */
  each<const P extends PopulatePath<S, C> = never, const F extends FieldPath<S, C> = never, const K extends Counted<S, C> = never>(query?: AllQuery<S, C, P, F, K>, options?: CallOptions): AsyncGenerator<Document<Chosen<S, C, P, F>, C> & Counts<K>>;
  first<const P extends PopulatePath<S, C> = never, const F extends FieldPath<S, C> = never, const K extends Counted<S, C> = never>(query?: AllQuery<S, C, P, F, K>, options?: CallOptions): Promise<Document<Chosen<S, C, P, F>, C> & Counts<K> | null>;
  count(query?: CountQuery<S, C>, options?: CallOptions): Promise<number>;
  get<const P extends PopulatePath<S, C> = never, const F extends FieldPath<S, C> = never, const K extends Counted<S, C> = never>(id: Id<C>, options?: Shown<P, F, K> & CallOptions): Promise<Document<Chosen<S, C, P, F>, C> & Counts<K>>;
  create(data: CreateOf<S, C>, options?: FileOptions): Promise<Doc<S, C>>;
  replace(id: Id<C>, data: CreateOf<S, C>, options?: Condition & FileOptions): Promise<Doc<S, C>>;
  update(id: Id<C>, change: Change<S, C>, options?: Condition & FileOptions): Promise<Doc<S, C>>;
  upsert(data: CreateOf<S, C>, options: Upsert<S, C> & FileOptions): Promise<Doc<S, C>>;
  delete(id: Id<C>, options?: Condition & CallOptions): Promise<void>;
  distinct(field: Field<S, C> | `data.${string}`, options?: { where?: Where<S, C> } & CallOptions): Promise<{ values: unknown[]; truncated: boolean }>;
  aggregate(body: Aggregate<S, C>, options?: CallOptions): Promise<{ rows: Record<string, unknown>[]; limit: number }>;
  /** Changes all documents that `where` finds. `dry_run` counts them for `expect`. */
  updateMany(body: Change<S, C> & Many<S, C>, options?: { dry_run?: boolean } & CallOptions): Promise<Changed>;
  deleteMany(body: Many<S, C>, options?: { dry_run?: boolean } & CallOptions): Promise<Changed>;
  importRows(rows: Iterable<CreateOf<S, C>> | AsyncIterable<CreateOf<S, C>> | BodyInit, options?: ImportOptions): Promise<Imported>;
  exportRows(options?: { where?: Where<S, C>; format?: "ndjson" | "csv" } & CallOptions): Promise<ReadableStream<Uint8Array>>;
}
export interface Changed {
  matched: number;
  changed?: number;
  /** The first ids, of a dry run. */
  sample?: string[];
  next?: null;
}
export interface Imported {
  created: number;
  updated: number;
  refused: number;
  errors: unknown[];
  groups: unknown[];
}

/** The calls of one collection within a batch. `create` gives a stand-in for the id, good in this batch only. */
export interface Recorder<S extends AnySchema, C extends keyof S["collections"] & string> {
  create(data: CreateOf<S, C>): Id<C>;
  replace(id: Id<C>, data: CreateOf<S, C>, options?: Condition): void;
  update(id: Id<C>, change: Change<S, C>, options?: Condition): void;
  upsert(data: CreateOf<S, C>, options: Upsert<S, C>): void;
  delete(id: Id<C>, options?: Condition): void;
  get(id: Id<C>): void;
}
export type Batching<S extends AnySchema> = <C extends (keyof S["collections"] & string) | "users">(name: C) => C extends keyof S["collections"] & string
  ? Recorder<S, C>
  : { get(id: Id): void; update(id: Id, change: { data?: object } & Record<string, unknown>, options?: Condition): void };
export interface Result {
  status: number;
  document?: { id: string; [part: string]: unknown };
  error?: { detail: unknown; code: string };
}
