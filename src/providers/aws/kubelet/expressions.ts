/**
 * Kubelet settings as CEL expressions over the instance type, behind the gate NodeClassCEL: `maxPods` as text, and
 * reserved amounts that are not quantities. They are evaluated for each type, with the same result for the planner and
 * the node.
 * upstream: pkg/cel, pkg/apis/v1
 */

import { Environment, type ParseResult } from "@marcbachmann/cel-js";
import type { KubeletConfiguration, ResolvedKubelet } from "../../../apis/karpenter/kubelet.ts";
import type { ResourceAmounts } from "../../../apis/meta.ts";
import { firstLineOf } from "../../../base/error-text.ts";
import { fieldOf } from "../../../base/json.ts";
import { parseMilli } from "../../../base/quantity.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";

const RESERVED = ["kubeReserved", "systemReserved"] as const;
const MOST_PODS = 2 ** 31 - 1;

/** How the number of a resource becomes a quantity: rounded up to whole steps of a unit. */
const UNITS: Readonly<Record<string, { readonly step: number; readonly unit: string }>> = {
  cpu: { step: 10, unit: "m" },
  memory: { step: 16, unit: "Mi" },
  "ephemeral-storage": { step: 1, unit: "Gi" },
};

interface Expression {
  /** The path of the setting, such as `maxPods` or `kubeReserved.cpu`. */
  readonly field: string;
  readonly source: string;
}

/** The expressions as written, in the order of their fields. */
export function expressionsOf(kubelet: KubeletConfiguration | undefined): readonly Expression[] {
  const found: Expression[] = [];
  const pods = kubelet?.maxPods;
  if (typeof pods === "string") found.push({ field: "maxPods", source: pods });
  for (const name of RESERVED) {
    for (const [key, value] of Object.entries(kubelet?.[name] ?? {}).sort())
      if (isExpression(value)) found.push({ field: `${name}.${key}`, source: String(value) });
  }
  return found;
}

/** Fields whose expression is invalid, each with the reason. Empty: all are valid. */
export function compileProblems(kubelet: KubeletConfiguration | undefined): readonly string[] {
  return expressionsOf(kubelet).flatMap(({ field, source }) => {
    const program = compile(source);
    return typeof program === "string" ? [`${field}: ${program}`] : [];
  });
}

/**
 * The settings for one type. `density`: the default number of pods of the type. `problem`: the first field whose
 * expression has no value for this type. That field is left out, and so are all expressions while the gate is off.
 */
export function resolveKubelet(
  kubelet: KubeletConfiguration | undefined,
  info: InstanceTypeInfo,
  { enabled, density }: { readonly enabled: boolean; readonly density: number },
): { readonly kubelet: ResolvedKubelet | undefined; readonly problem?: string } {
  if (kubelet === undefined || expressionsOf(kubelet).length === 0)
    return { kubelet: kubelet as ResolvedKubelet | undefined };
  let problem: string | undefined;
  const value = (field: string, source: string, max_pods: number): number | undefined => {
    if (!enabled) return undefined;
    const found = evaluate(source, { ...variablesOf(info), max_pods: BigInt(max_pods) });
    const wrong = typeof found === "string" ? found : outOfRange(field, found);
    if (wrong === undefined) return found as number;
    problem ??= `${field}: ${wrong} (${info.InstanceType})`;
    return undefined;
  };
  const { maxPods: written, ...rest } = kubelet;
  const pods = typeof written === "string" ? value("maxPods", written, density) : written;
  const resolved: Record<string, unknown> = { ...rest };
  if (pods !== undefined) resolved["maxPods"] = pods;
  for (const name of RESERVED) {
    const amounts = Object.entries(kubelet[name] ?? {}).flatMap(([key, amount]) => {
      if (!isExpression(amount)) return [[key, amount]];
      const number = value(`${name}.${key}`, String(amount), pods ?? density);
      return number === undefined ? [] : [[key, quantity(key, number)]];
    });
    if (kubelet[name] !== undefined) resolved[name] = Object.fromEntries(amounts);
  }
  return { kubelet: resolved as ResolvedKubelet, ...(problem === undefined ? {} : { problem }) };
}

function isExpression(amount: ResourceAmounts[string]): boolean {
  return typeof amount === "string" && parseMilli(amount) === undefined;
}

function variablesOf(info: InstanceTypeInfo): Readonly<Record<string, unknown>> {
  const { NetworkCards, DefaultNetworkCardIndex = 0, ...network } = info.NetworkInfo;
  const card = NetworkCards?.find((one) => one.NetworkCardIndex === DefaultNetworkCardIndex);
  return {
    instance_type: info.InstanceType,
    vcpus: BigInt(info.VCpuInfo.DefaultVCpus),
    memory_mib: BigInt(info.MemoryInfo.SizeInMiB),
    default_enis: BigInt(card?.MaximumNetworkInterfaces ?? network.MaximumNetworkInterfaces),
    ips_per_eni: BigInt(network.Ipv4AddressesPerInterface),
  };
}

function outOfRange(field: string, value: number): string | undefined {
  if (value < 0) return `${value} is negative`;
  return field === "maxPods" && value > MOST_PODS ? `${value} is above ${MOST_PODS}` : undefined;
}

function quantity(resource: string, value: number): string {
  const { step, unit } = fieldOf(UNITS, resource) ?? { step: 1, unit: "" };
  return `${Math.ceil(value / step) * step}${unit}`;
}

/** The integer result, or the problem. */
function evaluate(source: string, bindings: Readonly<Record<string, unknown>>): number | string {
  const program = compile(source);
  if (typeof program === "string") return program;
  try {
    const value = Number(program({ ...bindings }));
    return Number.isFinite(value) ? Math.trunc(value) : `${value} is no finite number`;
  } catch (error) {
    return firstLineOf(error);
  }
}

/** Compiled programs by source. A cluster has only a few. */
const compiled = new Map<string, ParseResult | string>();
const KEPT_PROGRAMS = 1_000;

function compile(source: string): ParseResult | string {
  let program = compiled.get(source);
  if (program === undefined) {
    program = compileAnew(source);
    if (compiled.size >= KEPT_PROGRAMS) compiled.clear();
    compiled.set(source, program);
  }
  return program;
}

function compileAnew(source: string): ParseResult | string {
  try {
    const program = shared().parse(source);
    const { valid, type, error } = program.check();
    if (!valid) return firstLineOf(error);
    const isNumber = type === "int" || type === "double";
    return isNumber ? program : `it gives a ${type}, not an int or a double`;
  } catch (error) {
    return firstLineOf(error);
  }
}

let environment: Environment | undefined;

function shared(): Environment {
  if (environment !== undefined) return environment;
  environment = new Environment({ unlistedVariablesAreDyn: false });
  for (const name of ["vcpus", "memory_mib", "default_enis", "ips_per_eni", "max_pods"])
    environment.registerVariable(name, "int");
  environment.registerVariable("instance_type", "string");
  const max = <T extends number | bigint>(a: T, b: T): T => (a > b ? a : b);
  const min = <T extends number | bigint>(a: T, b: T): T => (a < b ? a : b);
  for (const [name, pick] of [
    ["max", max],
    ["min", min],
  ] as const) {
    environment.registerFunction(`${name}(int, int): int`, pick);
    for (const types of ["double, double", "int, double", "double, int"]) {
      environment.registerFunction(`${name}(${types}): double`, (a: unknown, b: unknown) =>
        pick(Number(a), Number(b)),
      );
    }
  }
  return environment;
}
