/** Rules that all lists of selector terms have: no term is empty, and some fields exclude all others. */
import { type JsonSchema, rules, textMap } from "./schema.ts";

/** A CEL expression, and the message if it is false. */
export type Rule = readonly [rule: string, message: string];

/** The schema of tags that a resource must have. A value may be `*`. */
export function tags(description: string): JsonSchema {
  return textMap(description, {
    maxProperties: 20,
    ...rules([
      "self.all(k, k != '' && self[k] != '')",
      "empty tag keys or values aren't supported",
    ]),
  });
}

/** The rule that the list has at least one term. */
export function notEmpty(field: string): Rule {
  return ["self.size() != 0", `${field} cannot be empty`];
}

/** The rule that each term has at least one of these fields. */
export function atLeastOne(fields: readonly string[]): Rule {
  const any = fields.map((field) => `has(x.${field})`).join(" || ");
  const quoted = fields.map((field) => `'${field}'`).join(", ");
  return [`self.all(x, ${any})`, `expected at least one, got none, [${quoted}]`];
}

/**
 * The rule that a term with `field` has none of the others. `words`: upstream's message for that list and API version.
 * Here each term is checked; upstream's rule fails only if all terms violate it.
 */
export function exclusive(field: string, words: string, others: readonly string[]): Rule {
  const any = others.map((other) => `has(x.${other})`).join(" || ");
  return [
    `self.all(x, !has(x.${field}) || !(${any}))`,
    `'${field}' is mutually exclusive, cannot be set ${words}`,
  ];
}
