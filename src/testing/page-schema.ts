/** Compares JSON answers with the schema that their page in docs/reference prints. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { decode } from "../sandbox/apiserver/schema/decode.ts";
import type { FieldError, Schema } from "../sandbox/apiserver/schema/schema.ts";
import { validateSchema } from "../sandbox/apiserver/schema/validate.ts";

/** The schema under the heading "json schema". `word` selects one if the page has several. */
export function pageSchema(page: string, word?: string): Schema {
  const text = readFileSync(new URL(`../../docs/reference/${page}.md`, import.meta.url), "utf8");
  const fence = ["```json schema", ...(word === undefined ? [] : [word])].join(" ");
  return JSON.parse(new RegExp(`${fence}\\n([^\`]*)\`\`\``).exec(text)?.[1] ?? "");
}

/**
 * Expects that the value matches the schema and has no unknown fields, and that it fails with the changes in
 * `wrong`.
 */
export function keepsToSchema(schema: Schema, value: object, wrong: object): void {
  expect(errorsOf(schema, value)).toEqual([]);
  expect(decode(schema, value).unknown).toEqual([]);
  expect(errorsOf(schema, { ...value, ...wrong })).not.toEqual([]);
}

function errorsOf(schema: Schema, value: object): readonly FieldError[] {
  const errors: FieldError[] = [];
  validateSchema(schema, value, "", errors);
  return errors;
}
