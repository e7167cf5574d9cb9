/**
 * The webhook's checks of a Provisioner, except for the inline provider. Messages equal upstream's where these are
 * known.
 * upstream: v1alpha5/provisioner_validation.go at v0.31
 */
import { parseUnits } from "../../base/quantity.ts";
import { AWS_WELL_KNOWN_LABELS } from "../aws/labels.ts";
import type { Taint } from "../core/node.ts";
import { EVICTION_SIGNALS, type KubeletConfiguration, RESERVABLE } from "../karpenter/kubelet.ts";
import { labelValueProblem, qualifiedNameProblem } from "../karpenter/label-syntax.ts";
import {
  EMPTINESS_TIMESTAMP_ANNOTATION_KEY,
  HOSTNAME_LABEL_KEY,
  isDomainOrBelow,
  labelDomain,
  NODEPOOL_LABEL_KEY,
  normalizedLabel,
  PROVISIONER_NAME_LABEL_KEY,
  WELL_KNOWN_LABELS,
} from "../karpenter/labels.ts";
import type { RequirementSpec } from "../karpenter/nodepool.ts";
import type { Provisioner } from "../karpenter/provisioner.ts";
import { exactlyOne, type FieldProblem, invalidKey, invalidValue, problem } from "./validation.ts";

const CLOSED_DOMAINS = ["kubernetes.io", "k8s.io", "karpenter.sh", "karpenter.k8s.aws"];
/**
 * Domains of label keys that users may set. v1alpha5 compares a label's domain exactly; later API versions also allow
 * subdomains.
 */
const OPEN_DOMAINS = ["kops.k8s.io", "node.kubernetes.io", "node-restriction.kubernetes.io"];
const CLOSED_KEYS = [HOSTNAME_LABEL_KEY, EMPTINESS_TIMESTAMP_ANNOTATION_KEY];
const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute", ""];

/** The problems of a Provisioner, with the text of upstream's webhook (v0.32). Empty: it is valid. */
export function validateProvisioner(
  provisioner: Provisioner,
  settings: { readonly acceptMinusOne: boolean },
): readonly FieldProblem[] {
  const spec: Provisioner["spec"] = provisioner.spec ?? {};
  return [
    ...provider(spec),
    ...labels(spec.labels ?? {}),
    ...taints(spec),
    ...(spec.requirements ?? []).flatMap((one, index) =>
      requirement(one, `spec.requirements[${index}]`),
    ),
    ...lifetimes(spec, settings.acceptMinusOne),
    ...kubelet(spec.kubeletConfiguration),
  ];
}

function provider(spec: Provisioner["spec"]): readonly FieldProblem[] {
  const fields = ["spec.provider", "spec.providerRef"];
  if (spec.provider === undefined && spec.providerRef === undefined)
    return [exactlyOne("neither", ...fields)];
  const both = spec.provider !== undefined && spec.providerRef !== undefined;
  return both ? [exactlyOne("both", ...fields)] : [];
}

function labels(all: Readonly<Record<string, string>>): readonly FieldProblem[] {
  return Object.keys(all).flatMap((key) => {
    const value = all[key] as string;
    const why = key === PROVISIONER_NAME_LABEL_KEY ? "restricted" : keyProblem(key);
    const bad = labelValueProblem(value);
    return [
      ...(why === undefined ? [] : [invalidKey(key, "spec.labels", why)]),
      ...(bad === undefined ? [] : [invalidValue(value, `spec.labels[${key}]`, bad)]),
    ];
  });
}

/** Why users must not set this label key. Undefined: they may. */
function keyProblem(key: string): string | undefined {
  const why = qualifiedNameProblem(key);
  if (why !== undefined) return why;
  if (WELL_KNOWN_LABELS.includes(key) && key !== NODEPOOL_LABEL_KEY) return undefined;
  if (AWS_WELL_KNOWN_LABELS.includes(key)) return undefined;
  if (CLOSED_KEYS.includes(key)) return `label ${key} is restricted`;
  const domain = labelDomain(key);
  if (OPEN_DOMAINS.includes(domain)) return undefined;
  return CLOSED_DOMAINS.some((closed) => isDomainOrBelow(domain, closed))
    ? `label ${key} is restricted; specify a well known label or a custom label that does not use a restricted domain`
    : undefined;
}

function taints(spec: Provisioner["spec"]): readonly FieldProblem[] {
  const seen = new Set<string>();
  const check = (one: Taint, path: string): readonly FieldProblem[] => {
    const problems: FieldProblem[] = [];
    const why = qualifiedNameProblem(one.key);
    if (why !== undefined) problems.push(invalidValue(one.key, `${path}.key`, why));
    const bad = one.value ? labelValueProblem(one.value) : undefined;
    if (bad !== undefined) problems.push(invalidValue(one.value, `${path}.value`, bad));
    if (!EFFECTS.includes(one.effect)) problems.push(invalidValue(one.effect, `${path}.effect`));
    const pair = `${one.key}=${one.effect}`;
    if (seen.has(pair)) problems.push(problem(`duplicate taint Key/Effect pair ${pair}`, path));
    seen.add(pair);
    return problems;
  };
  return [
    ...(spec.taints ?? []).flatMap((one, index) => check(one, `spec.taints[${index}]`)),
    ...(spec.startupTaints ?? []).flatMap((one, index) =>
      check(one, `spec.startupTaints[${index}]`),
    ),
  ];
}

function requirement(one: RequirementSpec, path: string): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const key = normalizedLabel(one.key);
  const why = key === PROVISIONER_NAME_LABEL_KEY ? "restricted" : keyProblem(key);
  if (why !== undefined) problems.push(invalidKey(one.key, `${path}.key`, why));
  if (!OPERATORS.includes(one.operator))
    problems.push(
      invalidValue(one.operator, `${path}.operator`, `one of ${OPERATORS.join(", ")} is expected`),
    );
  const values = one.values ?? [];
  for (const value of values) {
    const bad = labelValueProblem(value);
    if (bad !== undefined) problems.push(invalidValue(value, `${path}.values`, bad));
  }
  if (one.operator === "In" && values.length === 0)
    problems.push(problem("invalid value: In needs a value", `${path}.values`));
  const bound = one.operator === "Gt" || one.operator === "Lt";
  if (bound && (values.length !== 1 || !/^\d+$/.test(values[0] as string)))
    problems.push(
      problem(
        `invalid value: ${one.operator} needs one integer that is not negative`,
        `${path}.values`,
      ),
    );
  return problems;
}

function lifetimes(spec: Provisioner["spec"], acceptMinusOne: boolean): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const { ttlSecondsAfterEmpty: empty, ttlSecondsUntilExpired: expired } = spec;
  const negative = "invalid value: cannot be negative";
  if (expired !== undefined && expired < 0)
    problems.push(problem(negative, "spec.ttlSecondsUntilExpired"));
  if (empty !== undefined && empty < 0 && !(empty === -1 && acceptMinusOne))
    problems.push(problem(negative, "spec.ttlSecondsAfterEmpty"));
  if (spec.consolidation?.enabled === true && empty !== undefined)
    problems.push(exactlyOne("both", "spec.consolidation.enabled", "spec.ttlSecondsAfterEmpty"));
  return problems;
}

function kubelet(config: KubeletConfiguration | undefined): readonly FieldProblem[] {
  if (config === undefined) return [];
  const base = "spec.kubeletConfiguration";
  const problems: FieldProblem[] = [];
  for (const field of ["evictionHard", "evictionSoft", "evictionSoftGracePeriod"] as const) {
    for (const [signal, value] of Object.entries(config[field] ?? {})) {
      if (!EVICTION_SIGNALS.includes(signal)) problems.push(invalidKey(signal, `${base}.${field}`));
      else if (field !== "evictionSoftGracePeriod" && !isThreshold(value))
        problems.push(invalidValue(value, `${base}.${field}["${signal}"]`));
    }
  }
  for (const field of ["kubeReserved", "systemReserved"] as const) {
    for (const [name, amount] of Object.entries(config[field] ?? {})) {
      if (!RESERVABLE.includes(name)) problems.push(invalidKey(name, `${base}.${field}`));
      else if ((parseUnits(amount) ?? -1) < 0)
        problems.push(invalidValue(amount, `${base}.${field}["${name}"]`));
    }
  }
  const pairs = [
    ["evictionSoft", "evictionSoftGracePeriod"],
    ["evictionSoftGracePeriod", "evictionSoft"],
  ] as const;
  for (const [one, other] of pairs) {
    for (const signal of Object.keys(config[one] ?? {})) {
      if (config[other]?.[signal] === undefined)
        problems.push(invalidKey(signal, `${base}.${one}`, `does not have a matching ${other}`));
    }
  }
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = config;
  if (high !== undefined && low !== undefined && high <= low)
    problems.push(
      invalidValue(
        high,
        `${base}.imageGCHighThresholdPercent`,
        "must be greater than imageGCLowThresholdPercent",
      ),
    );
  return problems;
}

/** Whether the text is a quantity, or a percentage from 0 to 100 %. */
function isThreshold(value: string): boolean {
  if (!value.endsWith("%")) return (parseUnits(value) ?? -1) >= 0;
  const share = Number(value.slice(0, -1));
  return value.length > 1 && share >= 0 && share <= 100;
}
