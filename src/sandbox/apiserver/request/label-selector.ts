/**
 * Parses a label selector as kube-apiserver does: into tokens, then into requirements. Errors have the same words,
 * because clients and people search for them.
 * upstream: apimachinery pkg/labels/selector.go
 */

import type { NodeSelectorRequirement } from "../../../apis/core/pod.ts";
import { fieldOf } from "../../../base/json.ts";
import { invalid, printFieldError } from "../schema/field-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "../schema/metadata.ts";

interface Token {
  readonly kind: "word" | "end" | (typeof SYMBOLS)[number];
  readonly text: string;
}

/** A longer symbol stands before a shorter one that is its beginning, because the first match is used. */
const SYMBOLS = ["==", "!=", "(", ")", ",", "!", "=", ">", "<"] as const;
const OPERATORS: Readonly<Record<string, NodeSelectorRequirement["operator"]>> = {
  in: "In",
  notin: "NotIn",
  "=": "In",
  "==": "In",
  "!=": "NotIn",
  ">": "Gt",
  "<": "Lt",
};
const OPERATORS_TEXT = "in, notin, =, ==, !=, gt, lt";

/** A selector that cannot be parsed. The message is kube-apiserver's. */
export class SelectorError extends Error {}

/** The requirements of the selector. They may compare numbers, as requirements on nodes do. Throws SelectorError. */
export function parseLabelSelector(text: string): readonly NodeSelectorRequirement[] {
  const tokens = tokensOf(text);
  const requirements: NodeSelectorRequirement[] = [];
  for (;;) {
    const first = tokens.peek();
    if (first.kind === "end") return requirements;
    if (!startsRequirement(first)) throw unexpected(first, "!, identifier, or 'end of string'");
    requirements.push(requirementOf(tokens));
    const after = tokens.next();
    if (after.kind === "end") return requirements;
    if (after.kind !== ",") throw unexpected(after, "',' or 'end of string'");
    const following = tokens.peek();
    if (!startsRequirement(following)) throw unexpected(following, "identifier after ','");
  }
}

function startsRequirement({ kind }: Token): boolean {
  return kind === "word" || kind === "!";
}

function requirementOf(tokens: Tokens): NodeSelectorRequirement {
  try {
    return readRequirement(tokens);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new SelectorError(`unable to parse requirement: ${error.message}`);
  }
}

function readRequirement(tokens: Tokens): NodeSelectorRequirement {
  const isAbsence = tokens.peek().kind === "!";
  if (isAbsence) tokens.next();
  const name = tokens.next();
  if (name.kind !== "word") throw unexpected(name, "identifier");
  const key = name.text;
  refuse("<nil>", key, qualifiedNameProblems(key));
  if (isAbsence) return { key, operator: "DoesNotExist" };
  if (tokens.peek().kind === "end" || tokens.peek().kind === ",")
    return { key, operator: "Exists" };
  const sign = tokens.next();
  const operator = fieldOf(OPERATORS, sign.text);
  if (operator === undefined) throw unexpected(sign, OPERATORS_TEXT);
  const values =
    sign.text === "in" || sign.text === "notin" ? listOf(tokens) : [exactValue(tokens)];
  if (operator === "Gt" || operator === "Lt") {
    const [bound = ""] = values;
    if (!/^[-+]?\d+$/.test(bound)) {
      const problem = `for 'Gt', 'Lt' operators, the value must be an integer`;
      throw new SelectorError(printFieldError(invalid("values[0]", bound, problem)));
    }
  }
  values.forEach((value, at) => {
    refuse(`values[${at}][${key}]`, value, labelValueProblems(value));
  });
  return { key, operator, values };
}

function exactValue(tokens: Tokens): string {
  const { kind } = tokens.peek();
  if (kind === "end" || kind === ",") return "";
  const value = tokens.next();
  if (value.kind !== "word") throw unexpected(value, "identifier");
  return value.text;
}

/** Parses `(a, b)` to sorted values without duplicates. A value may be empty. */
function listOf(tokens: Tokens): readonly string[] {
  const open = tokens.next();
  if (open.kind !== "(") throw new SelectorError(`found '${open.text}' expected: '('`);
  const values = new Set<string>();
  if (!["word", ",", ")"].includes(tokens.peek().kind))
    throw unexpected(tokens.peek(), "',', ')' or identifier");
  let isItemDue = true;
  for (;;) {
    const token = tokens.next();
    if (token.kind === ")") {
      if (isItemDue) values.add("");
      return [...values].sort();
    }
    if (token.kind === ",") {
      if (isItemDue) values.add("");
      isItemDue = true;
    } else if (!isItemDue) throw unexpected(token, "',' or ')'");
    else if (token.kind !== "word") throw unexpected(token, "',', or identifier");
    else {
      values.add(token.text);
      isItemDue = false;
    }
  }
}

function refuse(field: string, value: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new SelectorError(printFieldError(invalid(field, value, problems.join("; "))));
}

function unexpected({ text }: Token, wanted: string): SelectorError {
  return new SelectorError(`found '${text}', expected: ${wanted}`);
}

interface Tokens {
  peek(): Token;
  next(): Token;
}

function tokensOf(text: string): Tokens {
  let at = 0;
  const read = (): Token => {
    while (/\s/.test(text[at] ?? "")) at++;
    const from = at;
    if (from >= text.length) return { kind: "end", text: "" };
    const symbol = SYMBOLS.find((one) => text.startsWith(one, from));
    if (symbol !== undefined) {
      at += symbol.length;
      return { kind: symbol, text: symbol };
    }
    while (at < text.length && !/[\s()!,=<>]/.test(text[at] as string)) at++;
    return { kind: "word", text: text.slice(from, at) };
  };
  let ahead: Token | undefined;
  const peek = (): Token => {
    ahead ??= read();
    return ahead;
  };
  return {
    peek,
    next: () => {
      const token = peek();
      ahead = undefined;
      return token;
    },
  };
}
