/**
 * A scenario: what users and the cloud do to a cluster, and what must result. It is parsed from YAML.
 * Everything unknown is an error that names the place, so that a typo cannot drop an expectation.
 */

import type { KubeObject } from "../../apis/meta.ts";
import { parseDuration } from "../../base/duration.ts";
import { asText, isObject } from "../../base/json.ts";

/** A scenario that was parsed and checked. */
export interface Scenario {
  readonly name: string;
  /** What the scenario shows, in one or two sentences. */
  readonly story: string;
  readonly steps: readonly Step[];
}

/** One step of a scenario. */
export type Step =
  /** Applies files from the scenario's folder, then the objects. */
  | {
      readonly do: "apply";
      readonly files: readonly string[];
      readonly objects: readonly KubeObject[];
    }
  | { readonly do: "delete"; readonly target: StepTarget; readonly propagationPolicy?: string }
  | { readonly do: "scale"; readonly target: StepTarget; readonly replicas: number }
  | { readonly do: "patch"; readonly target: StepTarget; readonly merge: unknown }
  | { readonly do: "advance"; readonly ms: number }
  /** Lets time pass until all expectations hold. Fails if that takes longer than `withinMs`. */
  | { readonly do: "until"; readonly withinMs: number; readonly promises: readonly Promised[] }
  /** All expectations must hold now. */
  | { readonly do: "expect"; readonly promises: readonly Promised[] }
  /**
   * Sets a condition on the first `count` matching nodes, in order of name, as a node monitoring agent does.
   */
  | {
      readonly do: "report";
      readonly selector: string;
      readonly count: number;
      readonly condition: Reported;
    }
  /** Injects faults in the cloud, such as missing capacity or instances that never join. */
  | { readonly do: "cloud"; readonly fault: CloudFault };

/** A condition to set on a Node. */
export interface Reported {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
}

/** The object that a step is about. */
export interface StepTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
}

/** The faults of the simulated AWS. */
export interface CloudFault {
  /** Offerings without capacity. `*` matches anything. */
  readonly outOfCapacity?: {
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: string;
  };
  /** Interrupts running spot instances that match (`*` matches anything), oldest first. */
  readonly reclaimSpot?: {
    readonly instanceType: string;
    readonly zone: string;
    /** Maximum number of instances to interrupt; 0 means all. */
    readonly count: number;
  };
  /** Multiplies the spot prices of matching offerings. `*` matches anything. */
  readonly spotPrices?: {
    readonly instanceType: string;
    readonly zone: string;
    readonly factor: number;
  };
  /** A limit on the account's vCPUs of this capacity type. */
  readonly quota?: { readonly capacityType: "on-demand" | "spot"; readonly vcpus: number };
  /** Milliseconds by which the boot of new instances is delayed. */
  readonly slowBootMs?: number;
  /** Milliseconds until new instances and launch templates are visible in EC2. */
  readonly tellLateMs?: number;
  /** The API call to throttle; `*` means every call. */
  readonly throttle?: string;
  /**
   * The API call to refuse (`*` means every call), with an error code such as `ExpiredToken` or
   * `UnauthorizedOperation`.
   */
  readonly refuse?: { readonly call: string; readonly code: string };
  /** Whether new instances run, but never join. */
  readonly neverJoin?: boolean;
  /** Whether all faults are removed. */
  readonly heal?: boolean;
}

/** An expectation: the number of matching objects of a kind. */
export interface Promised {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly selector: string | undefined;
  /** Dotted path → text it must have. `status.conditions[Ready]` is the status of that condition. */
  readonly where: Readonly<Record<string, string>>;
  readonly count: { readonly op: "=" | ">=" | "<="; readonly n: number };
}

/** The scenario is invalid. `message` names the place and the allowed values. */
export class ScenarioError extends Error {
  override readonly name = "ScenarioError";
}

const STEP_NAMES = [
  "apply",
  "delete",
  "scale",
  "patch",
  "advance",
  "until",
  "expect",
  "report",
  "cloud",
] as const;

/** Parses a scenario. `document` is the YAML, already parsed. Throws ScenarioError. */
export function parseScenario(document: unknown, file: string): Scenario {
  const root = fields(document, file, ["name", "story", "steps"]);
  const steps = root["steps"];
  if (!Array.isArray(steps)) throw new ScenarioError(`${file}: steps must be a list of steps`);
  return {
    name: text(root["name"], `${file}: name`),
    story: text(root["story"], `${file}: story`).trim(),
    steps: steps.map((step, index) => parseStep(step, `${file}: steps[${index}]`)),
  };
}

function parseStep(step: unknown, at: string): Step {
  const entries = isObject(step) ? Object.entries(step) : [];
  const [name, value] = entries[0] ?? [];
  if (entries.length !== 1 || !STEP_NAMES.includes(name as (typeof STEP_NAMES)[number])) {
    throw new ScenarioError(
      `${at}: a step is one of ${STEP_NAMES.join(", ")}, got ${JSON.stringify(step)}`,
    );
  }
  const place = `${at}.${name}`;
  switch (name as (typeof STEP_NAMES)[number]) {
    case "apply":
      return parseApply(value, place);
    case "delete": {
      const body = fields(value, place, ["apiVersion", "kind", "name", "namespace", "cascade"]);
      const cascade = body["cascade"];
      return {
        do: "delete",
        target: parseTarget(body, place),
        ...(cascade === undefined
          ? {}
          : { propagationPolicy: capital(text(cascade, `${place}.cascade`)) }),
      };
    }
    case "scale": {
      const body = fields(value, place, ["apiVersion", "kind", "name", "namespace", "replicas"]);
      const target = parseTarget(
        { apiVersion: "apps/v1", kind: "Deployment", namespace: "default", ...body },
        place,
      );
      return { do: "scale", target, replicas: wholeNumber(body["replicas"], `${place}.replicas`) };
    }
    case "patch": {
      const body = fields(value, place, ["apiVersion", "kind", "name", "namespace", "merge"]);
      return { do: "patch", target: parseTarget(body, place), merge: body["merge"] };
    }
    case "advance":
      return { do: "advance", ms: duration(value, place) };
    case "until": {
      const body = fields(value, place, ["within", "that"]);
      return {
        do: "until",
        withinMs: duration(body["within"], `${place}.within`),
        promises: parsePromises(body["that"], `${place}.that`),
      };
    }
    case "expect":
      return { do: "expect", promises: parsePromises(value, place) };
    case "report":
      return parseReport(value, place);
    case "cloud":
      return { do: "cloud", fault: parseFault(value, place) };
  }
}

function parseReport(value: unknown, at: string): Step {
  const body = fields(value, at, ["selector", "count", "type", "status", "reason"]);
  const { status } = body;
  if (status !== "True" && status !== "False" && status !== "Unknown")
    throw new ScenarioError(
      `${at}.status: must be "True", "False" or "Unknown" in quotes, got ${JSON.stringify(status)}`,
    );
  return {
    do: "report",
    selector: text(body["selector"], `${at}.selector`),
    count: wholeNumber(body["count"] ?? 1, `${at}.count`),
    condition: {
      type: text(body["type"], `${at}.type`),
      status,
      reason: text(body["reason"], `${at}.reason`),
    },
  };
}

function parseApply(value: unknown, at: string): Step {
  const items = Array.isArray(value) ? value : [value];
  const files: string[] = [];
  const objects: KubeObject[] = [];
  for (const item of items) {
    if (typeof item === "string") files.push(item);
    else if (isObject(item) && isObject(item["metadata"]))
      objects.push(item as unknown as KubeObject);
    else throw new ScenarioError(`${at}: an item is a file name or an object with metadata`);
  }
  return { do: "apply", files, objects };
}

function parsePromises(value: unknown, at: string): Promised[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new ScenarioError(`${at}: must be a list of promises, at least one`);
  }
  return value.map((item, index) => {
    const place = `${at}[${index}]`;
    const body = fields(item, place, [
      "apiVersion",
      "kind",
      "namespace",
      "selector",
      "where",
      "count",
    ]);
    const where = body["where"] ?? {};
    if (!isObject(where)) throw new ScenarioError(`${place}.where: must map paths to texts`);
    return {
      apiVersion: text(body["apiVersion"] ?? "v1", `${place}.apiVersion`),
      kind: text(body["kind"], `${place}.kind`),
      namespace:
        body["namespace"] === undefined ? undefined : text(body["namespace"], `${place}.namespace`),
      selector:
        body["selector"] === undefined ? undefined : text(body["selector"], `${place}.selector`),
      where: Object.fromEntries(
        Object.entries(where).map(([path, wanted]) => [path, asText(wanted)]),
      ),
      count: parseCount(body["count"], `${place}.count`),
    };
  });
}

function parseCount(value: unknown, at: string): Promised["count"] {
  const match = /^(>=|<=|=)?\s*(\d+)$/.exec(asText(value ?? ""));
  if (match === null)
    throw new ScenarioError(
      `${at}: must be a number, or ">= 2", "<= 2"; got ${JSON.stringify(value)}`,
    );
  return { op: (match[1] ?? "=") as "=" | ">=" | "<=", n: Number(match[2]) };
}

function parseFault(value: unknown, at: string): CloudFault {
  const part = fields(value, at, [
    "outOfCapacity",
    "reclaimSpot",
    "spotPrices",
    "quota",
    "slowBoot",
    "tellLate",
    "throttle",
    "refuse",
    "neverJoin",
    "heal",
  ]);
  const { outOfCapacity, reclaimSpot, spotPrices, quota, throttle, refuse } = part;
  const { slowBoot, tellLate, neverJoin, heal } = part;
  return {
    ...(neverJoin === undefined ? {} : { neverJoin: neverJoin === true }),
    ...(heal === undefined ? {} : { heal: heal === true }),
    ...given("outOfCapacity", outOfCapacity, at, parseOutOfCapacity),
    ...given("reclaimSpot", reclaimSpot, at, parseReclaimSpot),
    ...given("spotPrices", spotPrices, at, parseSpotPrices),
    ...given("quota", quota, at, parseQuota),
    ...(slowBoot === undefined ? {} : { slowBootMs: duration(slowBoot, `${at}.slowBoot`) }),
    ...(tellLate === undefined ? {} : { tellLateMs: duration(tellLate, `${at}.tellLate`) }),
    ...given("throttle", throttle, at, text),
    ...given("refuse", refuse, at, parseRefusal),
  };
}

/** The parsed field, or nothing if the scenario does not have it. */
function given<K extends keyof CloudFault>(
  key: K,
  value: unknown,
  at: string,
  parse: (value: unknown, at: string) => CloudFault[K],
): Pick<CloudFault, K> | object {
  return value === undefined ? {} : { [key]: parse(value, `${at}.${key}`) };
}

function parseSpotPrices(value: unknown, at: string): CloudFault["spotPrices"] & object {
  const part = fields(value, at, ["instanceType", "zone", "factor"]);
  const of = (key: string) => text(part[key] ?? "*", `${at}.${key}`);
  const { factor } = part;
  if (typeof factor !== "number" || !(factor > 0))
    throw new ScenarioError(
      `${at}.factor: must be a number above 0, got ${JSON.stringify(factor)}`,
    );
  return { instanceType: of("instanceType"), zone: of("zone"), factor };
}

function parseQuota(value: unknown, at: string): CloudFault["quota"] & object {
  const { capacityType, vcpus } = fields(value, at, ["capacityType", "vcpus"]);
  if (capacityType !== "on-demand" && capacityType !== "spot")
    throw new ScenarioError(
      `${at}.capacityType: must be on-demand or spot, got ${JSON.stringify(capacityType)}`,
    );
  return { capacityType, vcpus: wholeNumber(vcpus, `${at}.vcpus`) };
}

function parseRefusal(value: unknown, at: string): CloudFault["refuse"] & object {
  const { call, code } = fields(value, at, ["call", "code"]);
  return { call: text(call ?? "*", `${at}.call`), code: text(code, `${at}.code`) };
}

function parseOutOfCapacity(value: unknown, at: string): CloudFault["outOfCapacity"] & object {
  const part = fields(value, at, ["instanceType", "zone", "capacityType"]);
  const of = (key: string) => text(part[key] ?? "*", `${at}.${key}`);
  return { instanceType: of("instanceType"), zone: of("zone"), capacityType: of("capacityType") };
}

function parseReclaimSpot(value: unknown, at: string): CloudFault["reclaimSpot"] & object {
  const part = fields(value, at, ["instanceType", "zone", "count"]);
  const of = (key: string) => text(part[key] ?? "*", `${at}.${key}`);
  const count = wholeNumber(part["count"] ?? 0, `${at}.count`);
  return { instanceType: of("instanceType"), zone: of("zone"), count };
}

function parseTarget(body: Readonly<Record<string, unknown>>, at: string): StepTarget {
  return {
    apiVersion: text(body["apiVersion"] ?? "v1", `${at}.apiVersion`),
    kind: text(body["kind"], `${at}.kind`),
    name: text(body["name"], `${at}.name`),
    namespace:
      body["namespace"] === undefined ? undefined : text(body["namespace"], `${at}.namespace`),
  };
}

function fields(value: unknown, at: string, legal: readonly string[]): Record<string, unknown> {
  if (!isObject(value)) throw new ScenarioError(`${at}: must be a mapping of ${legal.join(", ")}`);
  for (const key of Object.keys(value)) {
    if (!legal.includes(key))
      throw new ScenarioError(
        `${at}: unknown field ${JSON.stringify(key)}; legal are ${legal.join(", ")}`,
      );
  }
  return value;
}

function text(value: unknown, at: string): string {
  if (typeof value !== "string" || value === "")
    throw new ScenarioError(`${at}: must be a text, got ${JSON.stringify(value)}`);
  return value;
}

function wholeNumber(value: unknown, at: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) {
    throw new ScenarioError(`${at}: must be a whole number, got ${JSON.stringify(value)}`);
  }
  return value;
}

function duration(value: unknown, at: string): number {
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms === undefined)
    throw new ScenarioError(
      `${at}: must be a duration such as 30s or 2h, got ${JSON.stringify(value)}`,
    );
  return ms;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
