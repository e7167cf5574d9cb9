/**
 * What a built-in kind adds to its schema: defaults, set-up, immutability, checks. The engine
 * knows no kind; `builtin.ts` joins these rules with the schema into a ResourceDefinition.
 */

import type { NameGrammar } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";

/** Raw JSON of one kind. Rules read and write fields by name; the schema has checked the types. */
// biome-ignore lint/suspicious/noExplicitAny: rules walk raw JSON whose shape the schema holds
export type Raw = any;

/** What a kind adds to its schema: defaults, validation, and what create and update change. */
export interface KindRules {
  /** Fills in what is missing, in place: `draft` is a private copy. */
  readonly defaults?: (draft: Raw) => void;
  /** In place, once, before the first write. */
  readonly prepareCreate?: (draft: Raw) => void;
  /** In place, before an update of the main resource; the status is already the current one. */
  readonly prepareUpdate?: (draft: Raw, current: Raw) => void;
  /** In place, before a write of the status alone. */
  readonly prepareStatus?: (draft: Raw, current: Raw) => void;
  /** What the schema cannot say. `current` is set on update. */
  readonly validate?: (object: Raw, current: Raw | undefined) => FieldError[];
  readonly names?: NameGrammar;
  /** See ResourceDefinition. */
  readonly innerAnnotation?: string;
  /** A status sent with the first write is kept (Node); otherwise it starts as `initialStatus`. */
  readonly keepsStatusOnCreate?: boolean;
}

/** Sets `field` when it is missing. */
export function fallback(draft: Raw, field: string, value: unknown): void {
  if (draft[field] === undefined) draft[field] = value;
}

/** Go writes unset times of a condition as null. */
export function nullTimes(conditions: readonly Raw[] | undefined, fields: readonly string[]): void {
  for (const condition of conditions ?? [])
    for (const field of fields) fallback(condition, field, null);
}
