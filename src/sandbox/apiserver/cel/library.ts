/**
 * Kubernetes' additions to CEL. This file has regular expressions in Go's dialect, lists, sets and formats.
 * Quantities and networks have their own files. `authorizer`, which only admission has, is in authorizer.ts.
 * upstream: apiserver pkg/cel/library
 */

import { type Environment, Optional } from "@marcbachmann/cel-js";
import { deepEqual } from "../../../base/json.ts";
import { compileRe2 } from "../../../readers/re2.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import { type Evaluator, meter, tellEvaluator } from "./meter.ts";
import { registerNetworks, registerUrls } from "./networks.ts";
import { registerQuantities } from "./quantities.ts";

/** Longest text that one `replace` may build, in characters. It equals the largest request. */
const LONGEST_TEXT = 3 * 1_024 * 1_024;

/** Registers all these functions and types on `environment`. */
export function registerKubernetesLibrary(environment: Environment): void {
  registerStrings(environment);
  registerLists(environment);
  registerSets(environment);
  registerFormats(environment);
  registerQuantities(environment);
  registerUrls(environment);
  registerNetworks(environment);
  meter(environment, "'a'.matchesRe2('a')");
}

/** Whether the Go regular expression matches somewhere in `text`. */
function matchesRe2(text: string, pattern: string): boolean {
  return compiled(pattern).matcher(text).find();
}

function compiled(pattern: string) {
  const expression = compileRe2(pattern);
  if (typeof expression === "string") throw new Error(`error parsing regexp: ${pattern}`);
  return expression;
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = compiled(pattern).matcher(text);
  const found: string[] = [];
  while (found.length < limit && matcher.find()) found.push(matcher.group() as string);
  return found;
}

function registerStrings(environment: Environment): void {
  environment
    .registerFunction(
      "string.matchesRe2(string): bool",
      function (this: Evaluator, text: string, pattern: string) {
        tellEvaluator(this);
        return matchesRe2(text, pattern);
      },
    )
    .registerFunction("string.find(string): string", (text: string, pattern: string) => {
      return findAll(text, pattern, 1)[0] ?? "";
    })
    .registerFunction("string.findAll(string): list<string>", (text: string, pattern: string) => {
      return findAll(text, pattern, Number.POSITIVE_INFINITY);
    })
    .registerFunction(
      "string.findAll(string, int): list<string>",
      (text: string, pattern: string, limit: bigint) => findAll(text, pattern, Number(limit)),
    )
    .registerFunction("string.charAt(int): string", (text: string, at: bigint) => {
      return [...text][Number(at)] ?? "";
    })
    .registerFunction(
      "string.replace(string, string): string",
      (text: string, from: string, to: string) => {
        const times = from === "" ? text.length + 1 : text.split(from).length - 1;
        if (times * to.length > LONGEST_TEXT) throw new Error("the text would become too long");
        return text.replaceAll(from, to);
      },
    );
}

function registerLists(environment: Environment): void {
  environment
    .registerFunction("list.isSorted(): bool", (list: readonly (bigint | string)[]) => {
      return list.every((item, index) => index === 0 || (list[index - 1] as typeof item) <= item);
    })
    .registerFunction("list.sum(): dyn", (list: readonly unknown[]) => {
      if (list.length === 0) return 0n;
      return list.reduce((total, item) => (total as number) + (item as number));
    })
    .registerFunction("list.min(): dyn", (list: readonly (bigint | string)[]) => {
      if (list.length === 0) throw new Error("min called on empty list");
      return sorted(list)[0];
    })
    .registerFunction("list.max(): dyn", (list: readonly (bigint | string)[]) => {
      if (list.length === 0) throw new Error("max called on empty list");
      return sorted(list).at(-1);
    })
    .registerFunction("list.indexOf(dyn): int", (list: readonly unknown[], wanted: unknown) => {
      return BigInt(list.findIndex((item) => deepEqual(item, wanted)));
    })
    .registerFunction("list.lastIndexOf(dyn): int", (list: readonly unknown[], wanted: unknown) => {
      return BigInt(list.findLastIndex((item) => deepEqual(item, wanted)));
    });
}

/**
 * Types of the names `sets` and `format`. Expressions call functions on these names; the names have no other
 * value.
 */
class Sets {}
class Formats {}

class Format {
  readonly problems: (text: string) => readonly string[];
  constructor(problems: (text: string) => readonly string[]) {
    this.problems = problems;
  }
}

function registerSets(environment: Environment): void {
  const type = "kubernetes.Sets";
  type List = readonly unknown[];
  const has = (list: List, item: unknown): boolean => list.some((one) => deepEqual(one, item));
  const contains = (a: List, b: List): boolean => b.every((item) => has(a, item));
  environment
    .registerType(type, { ctor: Sets, fields: {} })
    .registerConstant("sets", type, new Sets())
    .registerFunction(`${type}.contains(list, list): bool`, (_sets: Sets, a: List, b: List) =>
      contains(a, b),
    )
    .registerFunction(`${type}.equivalent(list, list): bool`, (_sets: Sets, a: List, b: List) => {
      return contains(a, b) && contains(b, a);
    })
    .registerFunction(`${type}.intersects(list, list): bool`, (_sets: Sets, a: List, b: List) => {
      return a.some((item) => has(b, item));
    });
}

/** `format.dns1123Label().validate(self)` is empty for valid text, else it lists the problems. */
function registerFormats(environment: Environment): void {
  const namespace = "kubernetes.Formats";
  const type = "kubernetes.NamedFormat";
  const isGood = (expression: RegExp) => (text: string) =>
    expression.test(text) ? [] : [`must match ${expression.source}`];
  const formats: Readonly<Record<string, (text: string) => readonly string[]>> = {
    dns1123Label: (text) => nameProblems(text, "label"),
    dns1123Subdomain: (text) => nameProblems(text, "subdomain"),
    qualifiedName: qualifiedNameProblems,
    labelValue: labelValueProblems,
    uuid: isGood(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/),
    byte: isGood(/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
    date: isGood(/^\d{4}-\d{2}-\d{2}$/),
    datetime: isGood(/^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/),
    uri: (text) => (URL.canParse(text) ? [] : ["must be a URI"]),
  };
  environment
    .registerType(namespace, { ctor: Formats, fields: {} })
    .registerType(type, { ctor: Format, fields: {} })
    .registerConstant("format", namespace, new Formats())
    .registerFunction(`${type}.validate(string): optional`, (format: Format, text: string) => {
      const problems = format.problems(text);
      return problems.length === 0 ? Optional.none() : Optional.of(problems);
    });
  for (const [name, problems] of Object.entries(formats)) {
    const format = new Format(problems);
    environment.registerFunction(`${namespace}.${name}(): ${type}`, () => format);
  }
}

function sorted<T extends bigint | string>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
