/**
 * The rules that a built-in kind has in addition to its schema: defaults, set-up, immutable fields, validation.
 * `builtin.ts` joins rules and schema into a ResourceDefinition.
 */

import type { StoreReader } from "../resource-definition.ts";
import type { NameGrammar } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";

/** Raw JSON of one kind. Rules read and write fields by name; the schema has checked the types. */
// biome-ignore lint/suspicious/noExplicitAny: rules walk raw JSON whose shape the schema holds
export type Raw = any;

/** The functions of one kind. All of them may be absent. */
export interface KindRules {
  /** Fills missing fields. Changes `draft`, which is a private copy. */
  readonly defaults?: (draft: Raw) => void;
  /** Runs once, before the first write. Changes `draft`. */
  readonly prepareCreate?: (draft: Raw) => void;
  /** Runs before an update of the main resource. Changes `draft`, which already has the current status. */
  readonly prepareUpdate?: (draft: Raw, current: Raw) => void;
  /** Runs before a write of the status only. Changes `draft`. */
  readonly prepareStatus?: (draft: Raw, current: Raw) => void;
  /** Checks what the schema cannot express. `current` is set on update. */
  readonly validate?: (object: Raw, current: Raw | undefined) => FieldError[];
  /** Checks what depends on other objects. */
  readonly validateAmong?: (
    object: Raw,
    current: Raw | undefined,
    store: StoreReader,
  ) => FieldError[];
  readonly names?: NameGrammar;
  /** See `innerAnnotation` of ResourceDefinition. */
  readonly innerAnnotation?: string;
  /** Whether a status in the first write is kept, as for Nodes. Otherwise `prepareCreate` sets the first status. */
  readonly keepsStatusOnCreate?: boolean;
}

/** Sets `field` when it is missing. */
export function fallback(draft: Raw, field: string, value: unknown): void {
  if (draft[field] === undefined) draft[field] = value;
}

/** Writes missing times of conditions as null, as Go does. */
export function nullTimes(conditions: readonly Raw[] | undefined, fields: readonly string[]): void {
  for (const condition of conditions ?? [])
    for (const field of fields) fallback(condition, field, null);
}
