/**
 * CEL selectors of devices: `device.driver`, `device.attributes["domain"].name`,
 * `device.capacity["domain"].name`, `device.allowMultipleAllocations`.
 * upstream: dynamic-resource-allocation/cel/compile.go
 */
import { Environment } from "@marcbachmann/cel-js";
import type { Device, DeviceAttribute } from "../../../apis/resource/kinds.ts";
import { firstLineOf } from "../../../base/error-text.ts";
import { Memo } from "../../../base/memo.ts";
import { type Program, run, withGoPatterns } from "./engine.ts";
import { registerKubernetesLibrary } from "./library.ts";
import { EXPRESSION_LIMIT } from "./meter.ts";
import { celQuantity } from "./quantities.ts";
import { celVersion, registerVersions } from "./versions.ts";

/** Whether an expression selects a device, or why it cannot be evaluated. */
export type DeviceVerdict = { readonly matches: boolean } | { readonly problem: string };

let environment: Environment | undefined;
const programs = new Memo(compiled);

/** Why the expression is invalid; `undefined` if it is valid. */
export function deviceSelectorProblem(expression: string): string | undefined {
  const program = programs.get(expression);
  return typeof program === "string" ? program : undefined;
}

/**
 * Evaluates the expression for a device of `driver`. Attribute names without a domain belong to the driver's
 * domain.
 */
export function deviceMatches(expression: string, driver: string, device: Device): DeviceVerdict {
  const program = programs.get(expression);
  if (typeof program === "string") return { problem: `compilation failed: ${program}` };
  const outcome = run(program, { device: celDevice(driver, device) }, { left: EXPRESSION_LIMIT });
  if (outcome.problem !== undefined) return { problem: outcome.problem };
  if (typeof outcome.value !== "boolean")
    return { problem: `CEL expression result was of type ${typeof outcome.value}, expected bool` };
  return { matches: outcome.value };
}

function compiled(source: string): Program | string {
  try {
    const program = shared().parse(withGoPatterns(inWordsOfEngine(source)));
    const check = program.check();
    if (!check.valid) return firstLineOf(check.error);
    const type = String(check.type ?? "dyn");
    return type === "bool" || type === "dyn"
      ? program
      : "must evaluate to bool or the unknown type";
  } catch (error) {
    return firstLineOf(error);
  }
}

/**
 * Rewrites two forms that the engine handles differently from Kubernetes:
 * - `has(device.attributes["d"].name)`: the engine allows no index inside `has`;
 * - `in device.attributes`: the map of {@link answeringAll} contains every key, so the plain map is used.
 */
function inWordsOfEngine(source: string): string {
  return source
    .replace(
      /\bhas\(\s*(device\.(?:attributes|capacity)\[(?:"[^"]*"|'[^']*')\])\.(\w+)\s*\)/g,
      '("$2" in $1)',
    )
    .replace(/\bin\s+device\.(attributes|capacity)\b(?!\s*[[.])/g, "in device.own_$1");
}

function shared(): Environment {
  if (environment !== undefined) return environment;
  environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxListElements: 10_000, maxAstNodes: 100_000 },
  }).registerVariable("device", "dyn");
  registerKubernetesLibrary(environment);
  registerVersions(environment);
  return environment;
}

function celDevice(driver: string, device: Device): object {
  const { attributes = {}, capacity = {}, allowMultipleAllocations = false } = device;
  const own_attributes = byDomain(driver, attributes, celAttribute);
  const own_capacity = byDomain(driver, capacity, ({ value }) => celQuantity(value));
  return {
    driver,
    allowMultipleAllocations,
    own_attributes,
    own_capacity,
    attributes: answeringAll(own_attributes),
    capacity: answeringAll(own_capacity),
  };
}

function byDomain<T>(
  driver: string,
  fields: Readonly<Record<string, T>>,
  convert: (value: T) => unknown,
): Map<string, ReadonlyMap<string, unknown>> {
  const domains = new Map<string, Map<string, unknown>>();
  for (const [full, value] of Object.entries(fields)) {
    const slash = full.indexOf("/");
    const domain = slash < 0 ? driver : full.slice(0, slash);
    const names = domains.get(domain) ?? new Map<string, unknown>();
    domains.set(domain, names.set(full.slice(slash + 1), convert(value)));
  }
  return domains;
}

/** A map of domains in which a domain that the device does not have reads as empty. */
function answeringAll<T>(domains: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  const all = new Map(domains);
  const none = new Map();
  return Object.defineProperty(all, "get", { value: (key: string) => domains.get(key) ?? none });
}

function celAttribute({ bool, int, string, version }: DeviceAttribute): unknown {
  if (bool !== undefined) return bool;
  if (int !== undefined) return BigInt(int);
  if (string !== undefined) return string;
  return version === undefined ? null : celVersion(version);
}
