/**
 * Makes an edit that `karpenter plan` proposes in the manifests, as a user would by hand. It knows only the table of
 * docs/reference/plan.md. Also lists all single edits that a user might try.
 */
import type { PlannedEdit } from "../../src/cli/plan/planned-edit.ts";
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

/** The scenario with the edit made. An edit of a pod is made in each of `pods` (`namespace/name`). */
export function madeIn(scenario: Scenario, edit: PlannedEdit, pods: ReadonlySet<string>): Scenario {
  const [kind, name] = edit.object.split(" ");
  const isMeant = (one: Json) =>
    kind === "Pod"
      ? one.kind === "Pod" && pods.has(`${one.metadata.namespace}/${one.metadata.name}`)
      : one.kind === kind && one.metadata.name === name;
  const manifests = scenario.manifests.map((one) => {
    if (!isMeant(one)) return one;
    const copy = structuredClone(one);
    if (kind === "Pod") editPod(copy.spec, edit);
    else editPool(copy.spec, edit);
    return copy;
  });
  return { ...scenario, manifests };
}

function editPool(spec: Json, { field, value }: PlannedEdit): void {
  const { template } = spec;
  const limit = /^spec\.limits\.(.+)$/.exec(field)?.[1];
  if (limit !== undefined) {
    spec.limits[limit] = value;
    return;
  }
  const least = /^spec\.template\.spec\.requirements\[(.+)\]\.minValues$/.exec(field)?.[1];
  if (least !== undefined) {
    for (const one of template.spec.requirements)
      if (one.key === least && one.minValues !== undefined) one.minValues = Number(value);
    return;
  }
  const [key, wanted] = value.split("=") as [string, string];
  if (field === "spec.template.metadata.labels") {
    template.metadata ??= {};
    template.metadata.labels = { ...template.metadata.labels, [key]: wanted };
    return;
  }
  if (field !== "spec.template.spec.requirements") throw new Error(`no such edit: ${field}`);
  template.spec.requirements = template.spec.requirements.flatMap((one: Json) =>
    one.key === key ? letting(one, wanted) : [one],
  );
}

/** The requirement, which now also allows the value. */
function letting(one: Json, value: string): Json[] {
  const number = Number(value);
  switch (one.operator) {
    case "In":
      return [{ ...one, values: [...new Set([...one.values, value])] }];
    case "NotIn": {
      const values = one.values.filter((other: string) => other !== value);
      return values.length === 0 ? [] : [{ ...one, values }];
    }
    case "Gt":
      return number > Number(one.values[0]) ? [one] : [];
    case "Lt":
      return number < Number(one.values[0]) ? [one] : [];
    case "Exists":
      return [one];
    default:
      throw new Error(`no edit adds a value to ${one.operator}`);
  }
}

function editPod(spec: Json, { field, value, from }: PlannedEdit): void {
  const request =
    /^spec\.(?:(initContainers|containers)\[(.+)\]\.)?resources\.requests\.(.+)$/.exec(field);
  if (request !== null) {
    const [, list, name, resource] = request;
    const holder = list === undefined ? spec : spec[list].find((one: Json) => one.name === name);
    holder.resources.requests[resource as string] = value;
    return;
  }
  const spread = /^spec\.topologySpreadConstraints\[(.+)\]\.(maxSkew|minDomains)$/.exec(field);
  if (spread !== null) {
    const [, key, amount] = spread;
    for (const one of requiredSpreads(spec, key as string)) one[amount as string] = Number(value);
    return;
  }
  switch (field) {
    case "spec.tolerations": {
      const [taint, effect] = value.split(":") as [string, string];
      const [key, is] = taint.split("=") as [string, string?];
      const what = is === undefined ? { operator: "Exists" } : { operator: "Equal", value: is };
      spec.tolerations = [...(spec.tolerations ?? []), { key, effect, ...what }];
      return;
    }
    case "spec.nodeSelector, spec.affinity.nodeAffinity":
      if (from === undefined) dropKey(spec, value);
      else renameKey(spec, from, value);
      return;
    case "spec.topologySpreadConstraints":
      // Spreads with ScheduleAnyway are preferences, so no edit is needed for them.
      spec.topologySpreadConstraints = spec.topologySpreadConstraints.filter(
        (one: Json) => one.topologyKey !== value || one.whenUnsatisfiable !== "DoNotSchedule",
      );
      return;
    case "spec.affinity.podAffinity":
    case "spec.affinity.podAntiAffinity": {
      const rules = spec.affinity[field.split(".")[2] as string];
      const list = "requiredDuringSchedulingIgnoredDuringExecution";
      rules[list] = rules[list].filter((one: Json) => one.topologyKey !== value);
      return;
    }
    case "spec.containers[].ports":
    case "spec.initContainers[].ports":
    case "spec.containers[].ports, spec.initContainers[].ports":
      for (const part of field.split(", "))
        for (const one of spec[part.slice("spec.".length, -"[].ports".length)])
          one.ports = (one.ports ?? []).filter(({ hostPort }: Json) => String(hostPort) !== value);
      return;
    default:
      throw new Error(`no such edit: ${field}`);
  }
}

function requiredSpreads(spec: Json, key: string): Json[] {
  return (spec.topologySpreadConstraints ?? []).filter(
    (one: Json) => one.topologyKey === key && one.whenUnsatisfiable === "DoNotSchedule",
  );
}

/** Edits that loosen a spread instead of removing it, as far as is useful. */
export function looserSpreads(
  { object, field, value }: PlannedEdit,
  { spec }: Json,
): PlannedEdit[] {
  if (field !== "spec.topologySpreadConstraints") return [];
  const on = (amount: string, to: number): PlannedEdit => ({
    object,
    field: `${field}[${value}].${amount}`,
    action: "set",
    value: String(to),
  });
  return requiredSpreads(spec, value).flatMap(({ maxSkew, minDomains }) => [
    on("maxSkew", maxSkew + MORE_SKEW),
    ...(minDomains > 1 ? [on("minDomains", 1)] : []),
  ]);
}

function dropKey(spec: Json, key: string): void {
  delete spec.nodeSelector?.[key];
  const affinity = spec.affinity?.nodeAffinity;
  const list = "requiredDuringSchedulingIgnoredDuringExecution";
  const terms = affinity?.[list]?.nodeSelectorTerms;
  if (terms === undefined) return;
  for (const term of terms)
    term.matchExpressions = term.matchExpressions.filter((one: Json) => one.key !== key);
  // A term without conditions would match no node. The edit removes the condition, so it removes the whole affinity.
  if (terms.some((term: Json) => term.matchExpressions.length === 0)) delete affinity[list];
}

function renameKey(spec: Json, key: string, meant: string): void {
  const value = spec.nodeSelector?.[key];
  if (value !== undefined) {
    delete spec.nodeSelector[key];
    spec.nodeSelector[meant] ??= value;
  }
  const list = "requiredDuringSchedulingIgnoredDuringExecution";
  for (const term of spec.affinity?.nodeAffinity?.[list]?.nodeSelectorTerms ?? [])
    for (const one of term.matchExpressions ?? []) if (one.key === key) one.key = meant;
}

/** Every change of one field that could help this pod. Amounts are as large as possible. */
export function singleEdits({ manifests, instanceTypes }: Scenario, pod: Json): PlannedEdit[] {
  const pools = manifests.filter(({ kind }) => kind === "NodePool");
  return [...pools.flatMap((pool) => poolEdits(pool, pod, instanceTypes)), ...podEdits(pod, pools)];
}

const FAR = 1_000_000;
/** The largest maxSkew that is proposed, as in docs/reference/plan.md. */
const MORE_SKEW = 20;

/** The highest possible limit. Memory needs a unit; a plain number would be bytes. */
function farLimit(name: string): string {
  return name === "memory" || name === "ephemeral-storage" ? `${FAR}Gi` : `${FAR}`;
}

function poolEdits({ metadata, spec }: Json, pod: Json, types: readonly Json[]): PlannedEdit[] {
  const { limits = {}, template } = spec;
  const on = (field: string, action: "add" | "set", value: string): PlannedEdit => ({
    object: `NodePool ${metadata.name}`,
    field,
    action,
    value,
  });
  const requirements: readonly Json[] = template.spec.requirements;
  const asked = askedLabels(pod);
  return [
    ...Object.keys(limits).map((name) => on(`spec.limits.${name}`, "set", farLimit(name))),
    ...requirements.flatMap(({ key, minValues }) => [
      ...[...knownValues(key, types), ...(asked.get(key) ?? [])].map((value) =>
        on("spec.template.spec.requirements", "add", `${key}=${value}`),
      ),
      ...(minValues > 1
        ? [on(`spec.template.spec.requirements[${key}].minValues`, "set", "1")]
        : []),
    ]),
    ...[...asked].flatMap(([key, values]) =>
      // A label with a key that types have would exclude some types from the NodePool.
      requirements.some((one) => one.key === key) ||
      knownValues(key, types).length > 0 ||
      template.metadata?.labels?.[key] !== undefined
        ? []
        : values.map((value) => on("spec.template.metadata.labels", "add", `${key}=${value}`)),
    ),
  ];
}

/** For each pair of limits of a NodePool: the two edits that set them as high as possible. */
export function limitPairs({ manifests }: Scenario): PlannedEdit[][] {
  const pools = manifests.filter(({ kind }) => kind === "NodePool");
  return pools.flatMap(({ metadata, spec }) => {
    const raised = Object.keys(spec.limits ?? {}).map((name) => ({
      object: `NodePool ${metadata.name}`,
      field: `spec.limits.${name}`,
      action: "set" as const,
      value: farLimit(name),
    }));
    return raised.flatMap((one, at) => raised.slice(at + 1).map((other) => [one, other]));
  });
}

/** Label key → values that the pod names. */
function askedLabels({ spec }: Json): Map<string, string[]> {
  const asked = new Map<string, string[]>();
  const add = (key: string, values: readonly string[]) =>
    asked.set(key, [...(asked.get(key) ?? []), ...values]);
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) add(key, [value as string]);
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  for (const one of (terms ?? []).flatMap((term: Json) => term.matchExpressions))
    if (one.operator === "In") add(one.key, one.values);
  return asked;
}

/** Values that instance types and offerings have for a key. */
function knownValues(key: string, types: readonly Json[]): string[] {
  const values = types.flatMap(({ name, labels, offerings }) => [
    ...(key === "node.kubernetes.io/instance-type" ? [name] : []),
    ...[labels[key] ?? []].flat(),
    ...offerings.flatMap((one: Json) => [
      ...(key === "topology.kubernetes.io/zone" ? [one.zone] : []),
      ...(key === "karpenter.sh/capacity-type" ? [one.capacityType] : []),
    ]),
  ]);
  return [...new Set(values)];
}

function podEdits({ metadata, spec }: Json, pools: readonly Json[]): PlannedEdit[] {
  const on = (field: string, action: PlannedEdit["action"], value: string): PlannedEdit => ({
    object: `Pod ${metadata.namespace}/${metadata.name}`,
    field,
    action,
    value,
  });
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const list = "requiredDuringSchedulingIgnoredDuringExecution";
  const keys = new Set([
    ...Object.keys(spec.nodeSelector ?? {}),
    ...(nodeAffinity?.[list]?.nodeSelectorTerms ?? []).flatMap((term: Json) =>
      term.matchExpressions.map(({ key }: Json) => key),
    ),
  ]);
  const over = (rules: readonly Json[] = []) => rules.map(({ topologyKey }) => topologyKey);
  const taints = pools.flatMap((pool) => pool.spec.template.spec.taints ?? []);
  const containers = [
    ...spec.containers.map((one: Json) => ["containers", one]),
    ...(spec.initContainers ?? []).map((one: Json) => ["initContainers", one]),
  ];
  return [
    ...taints.map(({ key, value, effect }) =>
      on("spec.tolerations", "add", `${value === undefined ? key : `${key}=${value}`}:${effect}`),
    ),
    ...[...keys].map((key) => on("spec.nodeSelector, spec.affinity.nodeAffinity", "remove", key)),
    ...over(spec.topologySpreadConstraints).map((key) =>
      on("spec.topologySpreadConstraints", "remove", key),
    ),
    ...over(podAffinity?.[list]).map((key) => on("spec.affinity.podAffinity", "remove", key)),
    ...over(podAntiAffinity?.[list]).map((key) =>
      on("spec.affinity.podAntiAffinity", "remove", key),
    ),
    ...containers.flatMap(([name, one]) =>
      (one.ports ?? [])
        .flatMap(({ hostPort }: Json) =>
          hostPort === undefined ? [] : [on(`spec.${name}[].ports`, "remove", String(hostPort))],
        )
        .concat(
          Object.keys(one.resources.requests).map((resource) =>
            on(
              `spec.${name}[${one.name}].resources.requests.${resource}`,
              "set",
              resource === "cpu" ? "1m" : "1",
            ),
          ),
        ),
    ),
  ];
}
