/** What lists of selector terms have in common: a term says something, and what stands alone stands alone. */
import { type JsonSchema, rules, textMap } from "./schema.ts";

/** A CEL expression, and the message when it is false. */
export type Rule = readonly [rule: string, message: string];

/** Tags that a resource must have; a value may be `*`. */
export function tags(description: string): JsonSchema {
  return textMap(description, {
    maxProperties: 20,
    ...rules([
      "self.all(k, k != '' && self[k] != '')",
      "empty tag keys or values aren't supported",
    ]),
  });
}

/** The list names at least one term. */
export function notEmpty(field: string): Rule {
  return ["self.size() != 0", `${field} cannot be empty`];
}

/** Each term has one of the fields. */
export function atLeastOne(fields: readonly string[]): Rule {
  const any = fields.map((field) => `has(x.${field})`).join(" || ");
  const quoted = fields.map((field) => `'${field}'`).join(", ");
  return [`self.all(x, ${any})`, `expected at least one, got none, [${quoted}]`];
}

/**
 * A term with `field` has none of the others; `words` are upstream's of that list and generation. Checked for
 * each term, where upstream's rule is broken only once all terms break it.
 */
export function exclusive(field: string, words: string, others: readonly string[]): Rule {
  const any = others.map((other) => `has(x.${other})`).join(" || ");
  return [
    `self.all(x, !has(x.${field}) || !(${any}))`,
    `'${field}' is mutually exclusive, cannot be set ${words}`,
  ];
}
