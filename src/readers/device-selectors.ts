/**
 * CEL selectors of devices (`resource.k8s.io`), as kube-scheduler reads them. Limits on length and loops bound the time
 * of an expression. Patterns are matched in linear time.
 * upstream: k8s.io/dynamic-resource-allocation/cel
 */
import { Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { firstLineOf } from "../base/error-text.ts";
import { parseNano } from "../base/quantity.ts";

/** Maximum number of characters of an expression, as in kube-apiserver. */
const LONGEST = 10 * 1_024;
/**
 * Maximum number of loops in one expression. A device has at most 32 attributes, so four nested loops would run a
 * million times.
 */
const MOST_LOOPS = 3;
const LOOPS: ReadonlySet<string> = new Set(
  "all exists exists_one existsOne map filter sortBy transformList transformMap".split(" "),
);

/** The variable `device` of an expression. */
export interface CelDevice {
  readonly driver: string;
  readonly attributes?: Readonly<
    Record<
      string,
      {
        readonly bool?: boolean;
        readonly int?: number;
        readonly string?: string;
        readonly version?: string;
      }
    >
  >;
  readonly capacity?: Readonly<Record<string, { readonly value: string }>>;
  readonly allowMultipleAllocations?: boolean;
}

/**
 * The compiled expression. The result is a text if the expression cannot be compiled, or has no value for a device: the
 * text is the reason.
 */
export function compileDeviceSelector(
  expression: string,
): ((device: CelDevice) => boolean | string) | string {
  if (expression.length > LONGEST) return `it is longer than ${LONGEST} characters`;
  try {
    const program = shared().parse(rewritten(expression));
    const called = callsIn(program.ast);
    const loops = called.filter((name) => LOOPS.has(name)).length;
    if (loops > MOST_LOOPS) return `it has ${loops} loops, and at most ${MOST_LOOPS} are allowed`;
    // A call of `matches` that is left would use JavaScript's regular expressions, which may take exponential time.
    if (called.includes("matches")) return "it calls matches in a form that is not supported";
    const { valid, type, error } = program.check();
    if (!valid) return firstLineOf(error);
    if (type !== "bool" && type !== "dyn") return `it gives a ${type}, not a bool`;
    const domains = indexedBy(expression);
    return (device) => {
      try {
        const value = program({ device: toCel(device, domains) }) as unknown;
        return typeof value === "boolean" ? value : `it gives no bool`;
      } catch (thrown) {
        return firstLineOf(thrown).replace(/^No such key/, "no such key");
      }
    };
  } catch (thrown) {
    return firstLineOf(thrown);
  }
}

/**
 * Names of all functions and macros that the expression calls. They come from the syntax tree, so names inside strings
 * do not count.
 */
function callsIn(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(callsIn);
  if (typeof node !== "object" || node === null || !("op" in node) || !("args" in node)) return [];
  const { op, args } = node;
  if (op !== "rcall" && op !== "call") return callsIn(args);
  const [name, ...rest] = args as readonly unknown[];
  return [String(name), ...callsIn(rest)];
}

class CelQuantity {
  readonly nano: bigint;
  constructor(nano: bigint) {
    this.nano = nano;
  }
}

class CelSemver {
  readonly parts: readonly [bigint, bigint, bigint];
  readonly pre: string;
  constructor(parts: readonly [bigint, bigint, bigint], pre: string) {
    this.parts = parts;
    this.pre = pre;
  }
}

class SelectedDevice {
  readonly driver: string;
  readonly attributes: Map<string, Map<string, unknown>>;
  readonly capacity: Map<string, Map<string, CelQuantity>>;
  readonly allowMultipleAllocations: boolean;
  constructor(fields: SelectedDevice) {
    this.driver = fields.driver;
    this.attributes = fields.attributes;
    this.capacity = fields.capacity;
    this.allowMultipleAllocations = fields.allowMultipleAllocations;
  }
}

/**
 * The device as the engine's value. `domains`: the domains by which the expression indexes. A domain that the device
 * does not have is empty instead of an error.
 */
function toCel(
  { driver, attributes = {}, capacity = {}, allowMultipleAllocations = false }: CelDevice,
  domains: readonly string[],
): SelectedDevice {
  const values = Object.entries(attributes).map(([name, { bool, int, string, version }]) => {
    if (bool !== undefined) return [name, bool] as const;
    if (int !== undefined) return [name, BigInt(int)] as const;
    if (string !== undefined) return [name, string] as const;
    return [name, semver(version ?? "")] as const;
  });
  const amounts = Object.entries(capacity).map(
    ([name, { value }]) => [name, new CelQuantity(parseNano(value) ?? 0n)] as const,
  );
  return new SelectedDevice({
    driver,
    attributes: byDomain<unknown>(values, driver, domains),
    capacity: byDomain(amounts, driver, domains),
    allowMultipleAllocations,
  });
}

function byDomain<T>(
  named: readonly (readonly [name: string, value: T])[],
  driver: string,
  domains: readonly string[],
): Map<string, Map<string, T>> {
  const found = new Map<string, Map<string, T>>(domains.map((domain) => [domain, new Map()]));
  for (const [name, value] of named) {
    const slash = name.indexOf("/");
    const [domain, own] =
      slash < 0 ? [driver, name] : [name.slice(0, slash), name.slice(slash + 1)];
    const inside = found.get(domain) ?? new Map<string, T>();
    inside.set(own, value);
    found.set(domain, inside);
  }
  return found;
}

const TEXT = String.raw`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'`;

/** Matches white space and comments. */
const GAP = String.raw`(?:\s|//[^\n]*\n)*`;

/** The strings in index brackets of the expression, except those that the expression also tests with `in`. */
function indexedBy(expression: string): readonly string[] {
  const inner = (text: string) => text.slice(1, -1);
  const asked = new Set(
    [
      ...expression.matchAll(
        new RegExp(`(${TEXT})\\s+in\\s+device\\.(?:attributes|capacity)\\b(?!\\s*\\[)`, "g"),
      ),
    ].map(([, text]) => inner(text as string)),
  );
  const indexed = [...expression.matchAll(new RegExp(`\\[\\s*(${TEXT})\\s*\\]`, "g"))];
  return [...new Set(indexed.map(([, text]) => inner(text as string)))].filter(
    (domain) => !asked.has(domain),
  );
}

/**
 * Rewrites two forms that the engine does not support as Kubernetes does: patterns, which it matches with JavaScript's
 * regular expressions, and an index inside `has`.
 */
function rewritten(expression: string): string {
  const withPatterns = expression.replace(
    new RegExp(`${TEXT}|\\.(${GAP})matches(${GAP}\\()`, "g"),
    (whole, gap: string | undefined, open: string) =>
      gap === undefined ? whole : `.${gap}matchesRe2${open}`,
  );
  return withPatterns.replace(
    new RegExp(`\\bhas\\(\\s*(\\w[\\w.]*\\[\\s*(?:${TEXT})\\s*\\])\\.(\\w+)\\s*\\)`, "g"),
    (_, map: string, field: string) => `("${field}" in ${map})`,
  );
}

let environment: Environment | undefined;

function shared(): Environment {
  if (environment !== undefined) return environment;
  const quantity = "kubernetes.Quantity";
  const version = "kubernetes.Semver";
  environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxAstNodes: 10_000, maxDepth: 100 },
  })
    .registerType(quantity, { ctor: CelQuantity, fields: {} })
    .registerType(version, { ctor: CelSemver, fields: {} })
    .registerType("kubernetes.DRADevice", {
      ctor: SelectedDevice,
      fields: {
        driver: "string",
        attributes: "map<string, map<string, dyn>>",
        capacity: `map<string, map<string, ${quantity}>>`,
        allowMultipleAllocations: "bool",
      },
    })
    .registerVariable("device", "kubernetes.DRADevice");
  registerQuantities(environment, quantity);
  registerVersions(environment, version);
  environment.registerFunction("string.matchesRe2(string): bool", (text: string, pattern: string) =>
    RE2JS.compile(pattern).matcher(text).find(),
  );
  return environment;
}

const NANO = 1_000_000_000n;

function registerQuantities(known: Environment, type: string): void {
  const read = (text: string) => {
    const nano = parseNano(text);
    if (nano === undefined) throw new Error(`${JSON.stringify(text)} is no quantity`);
    return new CelQuantity(nano);
  };
  known
    .registerFunction("isQuantity(string): bool", (text: string) => parseNano(text) !== undefined)
    .registerFunction(`quantity(string): ${type}`, read)
    .registerFunction(`${type}.isInteger(): bool`, ({ nano }: CelQuantity) => nano % NANO === 0n)
    .registerFunction(`${type}.asInteger(): int`, ({ nano }: CelQuantity) => {
      if (nano % NANO !== 0n) throw new Error("cannot convert value to integer");
      return nano / NANO;
    })
    .registerFunction(`${type}.asApproximateFloat(): double`, (one: CelQuantity) => {
      return Number(one.nano) / 1e9;
    })
    .registerFunction(`${type}.sign(): int`, ({ nano }: CelQuantity) => sign(nano))
    .registerFunction(`${type}.add(${type}): ${type}`, (a: CelQuantity, b: CelQuantity) => {
      return new CelQuantity(a.nano + b.nano);
    })
    .registerFunction(`${type}.add(int): ${type}`, (a: CelQuantity, b: bigint) => {
      return new CelQuantity(a.nano + b * NANO);
    })
    .registerFunction(`${type}.sub(${type}): ${type}`, (a: CelQuantity, b: CelQuantity) => {
      return new CelQuantity(a.nano - b.nano);
    })
    .registerFunction(`${type}.sub(int): ${type}`, (a: CelQuantity, b: bigint) => {
      return new CelQuantity(a.nano - b * NANO);
    });
  registerOrder(known, type, (a: CelQuantity, b: CelQuantity) => sign(a.nano - b.nano));
}

function registerVersions(known: Environment, type: string): void {
  known
    .registerFunction("isSemver(string): bool", (text: string) => SEMVER.test(text))
    .registerFunction("isSemver(string, bool): bool", (text: string, loose: boolean) => {
      return (loose ? LOOSE : SEMVER).test(text);
    })
    .registerFunction(`semver(string): ${type}`, (text: string) => semver(text))
    .registerFunction(`semver(string, bool): ${type}`, (text: string, loose: boolean) => {
      return semver(text, loose);
    });
  for (const [at, part] of ["major", "minor", "patch"].entries())
    known.registerFunction(`${type}.${part}(): int`, ({ parts }: CelSemver) => {
      return parts[at] as bigint;
    });
  registerOrder(known, type, compareVersions);
}

function registerOrder<T>(known: Environment, type: string, compare: (a: T, b: T) => bigint): void {
  known
    .registerFunction(`${type}.isLessThan(${type}): bool`, (a: T, b: T) => compare(a, b) < 0n)
    .registerFunction(`${type}.isGreaterThan(${type}): bool`, (a: T, b: T) => compare(a, b) > 0n)
    .registerFunction(`${type}.compareTo(${type}): int`, compare);
}

const PARTS = String.raw`(0|[1-9]\d*)`;
const REST = String.raw`(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`;
const SEMVER = new RegExp(`^${PARTS}\\.${PARTS}\\.${PARTS}${REST}`);
/** Matches a version in a loose form: `v1.2` means 1.2.0. */
const LOOSE = new RegExp(`^v?(\\d+)(?:\\.(\\d+))?(?:\\.(\\d+))?${REST}`);

function semver(text: string, loose = false): CelSemver {
  const match = (loose ? LOOSE : SEMVER).exec(text);
  if (match === null) throw new Error(`${JSON.stringify(text)} is no semantic version`);
  const [, major, minor = "0", patch = "0", pre = ""] = match;
  return new CelSemver([BigInt(major as string), BigInt(minor), BigInt(patch)], pre);
}

function compareVersions(a: CelSemver, b: CelSemver): bigint {
  for (const [at, part] of a.parts.entries()) {
    const other = b.parts[at] as bigint;
    if (part !== other) return sign(part - other);
  }
  if (a.pre === b.pre) return 0n;
  if (a.pre === "" || b.pre === "") return a.pre === "" ? 1n : -1n;
  return comparePreReleases(a.pre.split("."), b.pre.split("."));
}

/** Orders prerelease parts: numbers before words. If one list begins with the other, the longer list is later. */
function comparePreReleases(a: readonly string[], b: readonly string[]): bigint {
  for (const [at, own] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1n;
    if (own === other) continue;
    const [isNumber, isOther] = [/^\d+$/.test(own), /^\d+$/.test(other)];
    if (isNumber && isOther) return sign(BigInt(own) - BigInt(other));
    if (isNumber !== isOther) return isNumber ? -1n : 1n;
    return own < other ? -1n : 1n;
  }
  return a.length < b.length ? -1n : 0n;
}

function sign(value: bigint): bigint {
  return value < 0n ? -1n : value > 0n ? 1n : 0n;
}
