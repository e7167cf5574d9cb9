/**
 * Parses the settings. The priority is: flag, environment variable, ConfigMap, preset, default. All errors are
 * collected before the start is refused.
 */
import { durationHint, parseDuration } from "../../base/duration.ts";
import { formatBytes, parseUnits } from "../../base/quantity.ts";
import { meantName } from "../../base/slips.ts";
import { brakeLimitProblem } from "../../core/safety/brake.ts";
import { disruptionBudgetsProblem } from "./disruption-budgets.ts";
import type { OptionDefinition } from "./option-definition.ts";
import { OPTIONS } from "./options.ts";
import { presetValue } from "./presets.ts";
import { schedulerConfigProblem } from "./scheduler-config.ts";
import { surgeNamespacesProblem } from "./surge-namespaces.ts";

/** The most problems of one setting that its error lists, and the most characters of a text that the error shows. */
const MOST_TOLD = 20;
const LONGEST_TOLD = 1_000;

/** Names of the settings in the code. */
export type OptionName = keyof typeof OPTIONS;

type Parsed = {
  readonly [N in OptionName]: (typeof OPTIONS)[N]["type"] extends "boolean"
    ? boolean
    : (typeof OPTIONS)[N]["type"] extends "string"
      ? string
      : number;
};

/** The parsed settings, frozen. Durations are milliseconds. `changed`: the settings that were given. */
export type Options = Parsed & { readonly changed: readonly OptionName[] };

/**
 * The error that settings are invalid, so the process does not start. The message has each invalid setting and its
 * valid values.
 */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Functions that validate settings with a whole document as value, by flag. A problem names its place in the document.
 */
const DOCUMENTS: Readonly<Record<string, (text: string) => string | undefined>> = {
  "scheduler-config": schedulerConfigProblem,
  "disruption-budgets": disruptionBudgetsProblem,
  "involuntary-disruption-limit": brakeLimitProblem,
  "surge-namespaces": surgeNamespacesProblem,
};

/**
 * Parses all settings. `flags`: by flag name without dashes. `env`: the environment. `settings`: those of the ConfigMap
 * karpenter-global-settings, by flag name. Throws ConfigError.
 */
export function parseOptions(
  flags: Readonly<Record<string, string | undefined>>,
  env: Readonly<Record<string, string | undefined>>,
  settings: Readonly<Record<string, string | undefined>> = {},
): Options {
  const errors: string[] = [];
  const changed: OptionName[] = [];
  const parsed: Record<string, unknown> = {};
  const { flag: presetFlag, env: presetEnv } = OPTIONS.preset;
  const preset = unquote(flags[presetFlag] ?? env[presetEnv] ?? settings[presetFlag] ?? "");
  for (const [name, definition] of Object.entries<OptionDefinition>(OPTIONS)) {
    const flag = flags[definition.flag];
    const given = [flag, env[definition.env], settings[definition.flag]].find(
      (text) => text !== undefined && !(definition.isName === true && text === ""),
    );
    if (given !== undefined) changed.push(name as OptionName);
    const source = sourceOf(definition, flag, env);
    const result = parseOne(
      definition,
      unquote(given ?? presetValue(preset, name) ?? definition.default),
    );
    const wrong =
      "error" in result
        ? [result.error]
        : definition.flag.endsWith("feature-gates")
          ? gateProblems(String(result.value))
          : [];
    const shown = cut(JSON.stringify(given) ?? "");
    const told = wrong.slice(0, MOST_TOLD);
    errors.push(...told.map((why) => `invalid ${source} ${shown}: ${cut(why)}`));
    if (!("value" in result)) continue;
    parsed[name] = result.value;
    const inside = DOCUMENTS[definition.flag]?.(String(result.value));
    if (inside !== undefined) errors.push(`invalid ${source}: ${inside}`);
  }
  checkEndpoint(parsed["clusterEndpoint"], errors);
  checkWebhookUrl(parsed["webhookUrl"], errors);
  if (errors.length > 0)
    throw new ConfigError(`validating cli flags / env vars, ${errors.join(", ")}`);
  return Object.freeze({ ...parsed, changed }) as unknown as Options;
}

/** Shortens a text in an error. Otherwise a value of some megabytes would appear once for each of its problems. */
function cut(text: string): string {
  return text.length > LONGEST_TOLD ? `${text.slice(0, LONGEST_TOLD)}...` : text;
}

function sourceOf(
  definition: OptionDefinition,
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string {
  if (flag !== undefined) return `--${definition.flag}`;
  return env[definition.env] !== undefined
    ? definition.env
    : `${definition.flag} of karpenter-global-settings`;
}

/** Whether the feature gate is on: its value as set, or its default. */
export function isGateOn(options: Pick<Options, "featureGates">, name: string): boolean {
  return isOn(options.featureGates, OPTIONS.featureGates.default, name);
}

/** Like {@link isGateOn}, for a gate of the AWS provider. */
export function isAwsGateOn(options: Pick<Options, "awsFeatureGates">, name: string): boolean {
  return isOn(options.awsFeatureGates, OPTIONS.awsFeatureGates.default, name);
}

/** A sentence for each gate that is set but not known, so that it has no effect. Upstream ignores such gates, too. */
export function unknownGates(
  options: Pick<Options, "featureGates" | "awsFeatureGates">,
): readonly string[] {
  const names = (text: string) => [...readGates(text).keys()].filter((name) => name !== "");
  const gatesOf = ({ flag, default: usual }: OptionDefinition): Gates => [flag, names(usual)];
  const [known, ofAws] = [gatesOf(OPTIONS.featureGates), gatesOf(OPTIONS.awsFeatureGates)];
  return [
    ...names(options.featureGates).flatMap((name) => unknownGate(name, known, ofAws)),
    ...names(options.awsFeatureGates).flatMap((name) => unknownGate(name, ofAws, known)),
  ];
}

type Gates = readonly [flag: string, names: readonly string[]];

function unknownGate(name: string, [flag, names]: Gates, [other, others]: Gates): string[] {
  if (names.includes(name)) return [];
  const head = `--${flag} has no gate ${JSON.stringify(name)}`;
  if (others.includes(name)) return [`${head}: it is one of --${other}`];
  const meant = meantName(name, names);
  return [
    meant === undefined
      ? `${head}: known are ${names.join(", ")}`
      : `${head}: did you mean ${meant}?`,
  ];
}

function isOn(given: string, byDefault: string, name: string): boolean {
  return (readGates(given).get(name) ?? readGates(byDefault).get(name)) === "true";
}

function readGates(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(",").map((part) => part.trim().split("="));
  return new Map(pairs.map(([name = "", value = ""]) => [name.trim(), value.trim()]));
}

function gateProblems(text: string): readonly string[] {
  return [...readGates(text)]
    .filter(([, value]) => text !== "" && value !== "true" && value !== "false")
    .map(
      ([name]) =>
        `invalid feature gate ${JSON.stringify(name)}: must be ${name}=true or ${name}=false`,
    );
}

function parseOne(
  definition: OptionDefinition,
  text: string,
): { value: unknown } | { error: string } {
  const { type, values, min, belowMin, max } = definition;
  if (values !== undefined && !values.includes(text)) {
    return { error: `must be one of ${values.map((value) => JSON.stringify(value)).join(", ")}` };
  }
  if (type === "string") return { value: text };
  if (type === "boolean") {
    return text === "true" || text === "false"
      ? { value: text === "true" }
      : { error: "must be true or false" };
  }
  if (type === "bytes") return parseBytes(text, min ?? 0);
  const value = type === "duration" ? parseDuration(text) : Number(text === "" ? Number.NaN : text);
  if (value === undefined || Number.isNaN(value)) {
    return {
      error:
        type === "duration"
          ? (durationHint(text) ?? "must be a duration such as 10s or 1m30s")
          : "must be a number",
    };
  }
  if (type === "integer" && !Number.isInteger(value)) return { error: "must be a whole number" };
  if (min !== undefined && value < min) {
    const words = `must not be below ${type === "duration" ? `${min / 1_000}s` : min}`;
    return { error: belowMin ?? words };
  }
  if (max !== undefined && value > max) return { error: `must not be above ${max}` };
  return { value };
}

/**
 * Parses bytes; zero and less mean no limit. A user who writes 512 does not mean 512 bytes, so a number below `min` is
 * an error that asks for a unit.
 */
function parseBytes(text: string, min: number): { value: number } | { error: string } {
  const bytes = parseUnits(text);
  if (bytes === undefined)
    return { error: "must be a number of bytes or a quantity such as 512Mi" };
  if (bytes <= 0 || bytes >= min) return { value: bytes };
  return {
    error: `is ${bytes} bytes and must not be below ${formatBytes(min)}: give a unit, such as 512Mi`,
  };
}

/** Removes double quotes. `aws … --output json` prints the endpoint in quotes, and shells pass them on. */
function unquote(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

function checkEndpoint(endpoint: unknown, errors: string[]): void {
  if (typeof endpoint !== "string" || endpoint === "") return;
  if (!/^https?:\/\/[^/\s]+/.test(endpoint)) {
    errors.push(
      `${JSON.stringify(endpoint)} is not a valid CLUSTER_ENDPOINT URL: must be https://host`,
    );
  }
}

/** Checks the URL of webhooks. Kubernetes calls webhooks only over TLS, and the paths are fixed. */
function checkWebhookUrl(url: unknown, errors: string[]): void {
  if (typeof url !== "string" || url === "") return;
  if (!/^https:\/\/[^/\s?#]+\/?$/.test(url))
    errors.push(`invalid WEBHOOK_URL ${JSON.stringify(url)}: must be https://host:port`);
}
