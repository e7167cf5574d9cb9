/**
 * Finds faults in the kubelet settings of a node class that its schema does not find. These are unknown settings,
 * invalid values, thresholds, grace periods and expressions, and settings that the images ignore.
 * upstream: pkg/apis/v1/kubeletconfiguration_validation.go
 */
import type { AmiFamily } from "../../../apis/hub/aws-class.ts";
import type { KubeletConfiguration } from "../../../apis/karpenter/kubelet.ts";
import { parseDuration } from "../../../base/duration.ts";
import { isObject } from "../../../base/json.ts";
import { parseNano, parseUnits } from "../../../base/quantity.ts";
import { compileProblems, expressionsOf } from "./expressions.ts";
import { EVERYWHERE, type KubeletShape, type Leaf, SETTINGS } from "./settings.ts";

/** AMI families whose nodes use all kubelet settings of the class. */
const READ_ALL: readonly AmiFamily[] = ["AL2023", "Custom"];

/** One fault in kubelet settings. */
export interface KubeletProblem {
  /** The reason of the condition ValidationSucceeded. */
  readonly reason: string;
  readonly message: string;
}

/** The first kind of fault, with all fields that have it. Undefined: the settings have no fault. */
export function kubeletProblem(
  kubelet: KubeletConfiguration | undefined,
  family: AmiFamily,
  { expressionsAllowed }: { readonly expressionsAllowed: boolean },
): KubeletProblem | undefined {
  const wrong = [...settingProblems(kubelet), ...thresholdProblems(kubelet)];
  if (wrong.length > 0) return problem("InvalidKubeletConfiguration", wrong);
  const expressions = expressionsOf(kubelet);
  if (expressions.length > 0 && !expressionsAllowed) {
    const fields = expressions.map((one) => `spec.kubelet.${one.field}`).join(", ");
    const message = `${fields}: expressions need the gate NodeClassCEL (settings.awsFeatureGates.nodeClassCEL); open it, or give a number`;
    return { reason: "KubeletExpressionsDisabled", message };
  }
  const broken = compileProblems(kubelet).map((one) => `spec.kubelet.${one}`);
  if (broken.length > 0) return problem("KubeletExpressionInvalid", broken);
  const unread = unreadProblems(kubelet ?? {}, family);
  return unread.length > 0 ? problem("UnsupportedKubeletConfiguration", unread) : undefined;
}

function problem(reason: string, messages: readonly string[]): KubeletProblem {
  return { reason, message: messages.join("; ") };
}

/** Settings with which the kubelet would not start. */
function settingProblems(kubelet: KubeletConfiguration | undefined): readonly string[] {
  return Object.entries(kubelet ?? {})
    .sort(byKey)
    .flatMap(([name, value]) => {
      const field = `spec.kubelet.${name}`;
      if (name === "registerWithTaints")
        return [`${field}: taints come from the NodePool; set spec.template.spec.taints there`];
      // Expressions are checked in expressions.ts.
      if (name === "maxPods" && isText(value)) return [];
      return fieldProblems(field, value, SETTINGS.get(name));
    });
}

/** A setting whose headers hold secrets, which must not appear in conditions and events. */
const HOLDS_SECRETS = "spec.kubelet.staticPodURLHeader";

/** Errors of one kubelet setting. `shape` undefined: the kubelet has no such field. */
function fieldProblems(
  field: string,
  value: unknown,
  shape: KubeletShape | undefined,
): readonly string[] {
  if (shape === undefined)
    return [`${field}: KubeletConfiguration v1beta1 has no such field; mind its spelling`];
  const shown = field.startsWith(HOLDS_SECRETS) ? "what it holds" : JSON.stringify(value);
  const isNot = (what: string): readonly string[] => [`${field}: ${shown} is not ${what}`];
  if (typeof shape === "string") return LOOKS[shape].holds(value) ? [] : isNot(LOOKS[shape].name);
  if ("list" in shape) {
    if (!Array.isArray(value)) return isNot("a list");
    return value.flatMap((item, at) => fieldProblems(`${field}[${at}]`, item, shape.list));
  }
  if (!isObject(value)) return isNot("map" in shape ? "a map" : "an object");
  return Object.entries(value)
    .sort(byKey)
    .flatMap(([key, item]) =>
      "map" in shape
        ? fieldProblems(`${field}[${key}]`, item, shape.map)
        : fieldProblems(`${field}.${key}`, item, shape.object.get(key)),
    );
}

interface Look {
  readonly name: string;
  holds(value: unknown): boolean;
}

const LOOKS: Readonly<Record<Leaf, Look>> = {
  boolean: { name: "true or false", holds: (value) => typeof value === "boolean" },
  duration: { name: "a duration such as 1m30s", holds: isDuration },
  "duration or nanoseconds": {
    name: "a duration such as 5s",
    holds: (value) => isDuration(value) || Number.isInteger(value),
  },
  // Only clusterDNS has it. With a wrong address the kubelet starts, but pods that use the cluster's DNS cannot resolve
  // names.
  "IP address": { name: "an IP address", holds: isAddress },
  integer: { name: "a whole number", holds: Number.isInteger },
  number: { name: "a number", holds: (value) => typeof value === "number" },
  quantity: {
    name: "an amount such as 500Mi",
    holds: (value) =>
      (isText(value) || typeof value === "number") && parseNano(value) !== undefined,
  },
  "signed duration": {
    name: "a duration such as 1m30s",
    holds: (value) => isText(value) && parseDuration(value) !== undefined,
  },
  text: { name: "a text", holds: isText },
};

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isAddress(value: unknown): boolean {
  if (!isText(value)) return false;
  if (value.includes(":")) return /^[\da-f.:]+$/i.test(value) && URL.canParse(`http://[${value}]`);
  const parts = value.split(".");
  return parts.length === 4 && parts.every((one) => /^(0|[1-9]\d{0,2})$/.test(one) && +one < 256);
}

function isDuration(value: unknown): boolean {
  return isText(value) && !value.startsWith("-") && parseDuration(value) !== undefined;
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

const SIGNALS: readonly string[] = [
  "imagefs.available",
  "imagefs.inodesFree",
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "pid.available",
];

function thresholdProblems(kubelet: KubeletConfiguration | undefined): readonly string[] {
  const wrong: string[] = [];
  for (const field of ["evictionHard", "evictionSoft", "evictionMinimumReclaim"]) {
    for (const [signal, text] of entriesOf(kubelet?.[field])) {
      if (!SIGNALS.includes(signal))
        wrong.push(
          `spec.kubelet.${field}[${signal}]: no such signal; it is one of ${SIGNALS.join(", ")}`,
        );
      if (!isThreshold(text))
        wrong.push(
          `spec.kubelet.${field}[${signal}]: ${JSON.stringify(text)} is neither a share from 0% to 100% nor an amount such as 500Mi`,
        );
    }
  }
  for (const [signal, text] of entriesOf(kubelet?.evictionSoftGracePeriod))
    if (!isDuration(text))
      wrong.push(
        `spec.kubelet.evictionSoftGracePeriod[${signal}]: ${JSON.stringify(text)} is no duration such as 1m30s`,
      );
  return wrong;
}

function entriesOf(map: unknown): readonly (readonly [string, unknown])[] {
  return isObject(map) ? Object.entries(map).sort(byKey) : [];
}

function isThreshold(text: unknown): boolean {
  // A value of another type was already reported.
  if (!isText(text)) return true;
  if (!text.endsWith("%")) return (parseUnits(text) ?? -1) >= 0;
  const share = text.slice(0, -1);
  return /^[0-9.]+$/.test(share) && Number(share) <= 100;
}

/** Settings that this AMI family does not pass to the kubelet. */
function unreadProblems(kubelet: KubeletConfiguration, family: AmiFamily): readonly string[] {
  if (READ_ALL.includes(family)) return [];
  const unread = Object.keys(kubelet)
    .filter((name) => !EVERYWHERE.has(name))
    .sort()
    .map((name) => `spec.kubelet.${name}: ${family} does not read it; leave it out, or use AL2023`);
  if (family === "Bottlerocket" && kubelet.podsPerCore !== undefined)
    unread.push(
      "spec.kubelet.podsPerCore: Bottlerocket does not read it; leave it out, or use spec.kubelet.maxPods",
    );
  if ((kubelet.clusterDNS?.length ?? 0) > 1)
    unread.push(
      `spec.kubelet.clusterDNS: ${family} reads one address only; name one, or use AL2023`,
    );
  return unread;
}
