/**
 * Edits of pods and NodePools that may give a pod a place. An edit changes one field of one object. It is plain data,
 * so it can be shown to a person or tried in a plan.
 */
import type {
  Container,
  Pod,
  PodSpec,
  Toleration,
  TopologySpreadConstraint,
} from "../../../apis/core/pod.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import type { Pool } from "../../../apis/hub/pool.ts";
import type { RequirementSpec } from "../../../apis/karpenter/nodepool.ts";
import { keyOf } from "../../../apis/meta.ts";
import { formatResources } from "../../../apis/resources.ts";
import { assert } from "../../../base/assert.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import { asksForSomething } from "../../scheduling/pod-requirements.ts";
import { allows, toRequirement } from "../../scheduling/requirement.ts";
import {
  type LoweredRequest,
  lowerRequests,
  mayNotBeOvercommitted,
  withLowered,
} from "./lower-requests.ts";

export type PodEdit =
  | { readonly on: "pod"; readonly change: "tolerate"; readonly toleration: Toleration }
  | { readonly on: "pod"; readonly change: "dropKey"; readonly key: string }
  | {
      /** Corrects a misspelled label key: `key` becomes `meant`. */
      readonly on: "pod";
      readonly change: "renameKey";
      readonly key: string;
      readonly meant: string;
    }
  | ({ readonly on: "pod"; readonly change: "request" } & LoweredRequest)
  | {
      readonly on: "pod";
      readonly change: "dropRule";
      readonly rule: "spread" | "affinity" | "antiAffinity";
      readonly topologyKey: string;
    }
  | {
      /** Changes `maxSkew` or `minDomains` of the required spread with this topology key. */
      readonly on: "pod";
      readonly change: "loosen";
      readonly topologyKey: string;
      readonly field: "maxSkew" | "minDomains";
      readonly from: number;
      readonly to: number;
    }
  | {
      readonly on: "pod";
      readonly change: "dropHostPort";
      readonly port: number;
      /** Which containers use the host port. */
      readonly of: readonly ("containers" | "initContainers")[];
    };

export type PoolEdit = { readonly on: "pool"; readonly poolId: string } & (
  | {
      readonly change: "limit";
      readonly resource: string;
      readonly from: number;
      readonly to: number;
    }
  | { readonly change: "allow"; readonly key: string; readonly value: string }
  | { readonly change: "label"; readonly key: string; readonly value: string }
  | {
      readonly change: "minValues";
      readonly key: string;
      readonly from: number;
      readonly to: number;
    }
);

export type Edit = PodEdit | PoolEdit;

/** How much the owner of the object will probably mind each kind of edit. Edits of low rank are tried first. */
const RANKS: Readonly<Record<Edit["change"], number>> = {
  renameKey: 0,
  limit: 1,
  allow: 2,
  minValues: 3,
  tolerate: 4,
  label: 5,
  dropKey: 6,
  dropHostPort: 7,
  loosen: 8,
  dropRule: 9,
  request: 10,
};
/**
 * Added to the rank of an edit after which the pod requests nothing of a resource. Such an edit costs more than two
 * others: a pod that asks for 9 GPUs and 10 TiB can do with 8 GPUs and 2 TiB, and hardly without a GPU.
 */
const NOTHING_LEFT = 150;

/** The rank of an edit. Within one kind of edit, a larger change has a higher rank. */
export function rankOf(edit: Edit): number {
  if (!("from" in edit)) return RANKS[edit.change];
  const { from, to } = edit;
  if (edit.change === "request" && to === 0) return RANKS.request + NOTHING_LEFT;
  return RANKS[edit.change] + Math.abs(to - from) / (Math.max(from, to) + 1);
}

/** Edits after which the pod requests at most `most` of the resource. Undefined: the pod cannot request so little. */
export function requestEdits(pod: Pod, resource: string, most: number): PodEdit[] | undefined {
  return lowerRequests(pod, resource, most)?.map((one) => ({
    on: "pod",
    change: "request",
    ...one,
  }));
}

/** The scheduling input after these edits. Edits of pods change each pod in `keys`. */
export function applyEdits(
  input: SchedulingInput,
  keys: ReadonlySet<string>,
  edits: readonly Edit[],
): SchedulingInput {
  const ofPod = edits.filter((edit) => edit.on === "pod");
  const ofPool = edits.filter((edit) => edit.on === "pool");
  return {
    ...input,
    pods: input.pods.map((pod) => (keys.has(keyOf(pod)) ? ofPod.reduce(editedPod, pod) : pod)),
    pools: input.pools.map((one) => ({
      ...one,
      pool: ofPool.filter(({ poolId }) => poolId === one.pool.id).reduce(editedPool, one.pool),
    })),
  };
}

/** The pod after the edit. */
export function editedPod(pod: Pod, edit: PodEdit): Pod {
  return { ...pod, spec: editedSpec(pod.spec, edit) };
}

function editedSpec(spec: PodSpec, edit: PodEdit): PodSpec {
  switch (edit.change) {
    case "tolerate":
      return { ...spec, tolerations: [...(spec.tolerations ?? []), edit.toleration] };
    case "dropKey":
      return withoutKey(spec, edit.key);
    case "renameKey":
      return withRenamedKey(spec, edit.key, edit.meant);
    case "request":
      return withLowered(spec, edit);
    case "dropRule":
      return withoutRule(spec, edit.rule, edit.topologyKey);
    case "loosen":
      return {
        ...spec,
        topologySpreadConstraints: (spec.topologySpreadConstraints ?? []).map((one) =>
          isRequiredOver(one, edit.topologyKey) ? { ...one, [edit.field]: edit.to } : one,
        ),
      };
    case "dropHostPort":
      return {
        ...spec,
        containers: withoutPort(spec.containers, edit.port),
        ...(spec.initContainers === undefined
          ? {}
          : { initContainers: withoutPort(spec.initContainers, edit.port) }),
      };
  }
}

/** Whether this is the required spread over the key. The API server allows at most one for each key. */
export function isRequiredOver(
  { topologyKey, whenUnsatisfiable }: TopologySpreadConstraint,
  key: string,
): boolean {
  return topologyKey === key && whenUnsatisfiable === "DoNotSchedule";
}

function withoutPort(containers: readonly Container[], port: number): readonly Container[] {
  return containers.map((one) => ({
    ...one,
    ports: (one.ports ?? []).filter(({ hostPort }) => hostPort !== port),
  }));
}

/**
 * Removes a key from the selector and the required node affinity. If a term had only this key, every node now satisfies
 * the node affinity, so it is removed. A term that was empty before matches no node, with or without the key.
 */
function withoutKey(spec: PodSpec, key: string): PodSpec {
  const { [key]: _, ...nodeSelector } = spec.nodeSelector ?? {};
  const { nodeAffinity } = spec.affinity ?? {};
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return { ...spec, nodeSelector };
  const terms = required.nodeSelectorTerms.filter(asksForSomething).map((term) => ({
    ...term,
    matchExpressions: (term.matchExpressions ?? []).filter((one) => one.key !== key),
  }));
  const { requiredDuringSchedulingIgnoredDuringExecution: _old, ...rest } = nodeAffinity ?? {};
  const left = terms.some(({ matchExpressions }) => matchExpressions.length === 0)
    ? rest
    : { ...rest, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
  return { ...spec, nodeSelector, affinity: { ...spec.affinity, nodeAffinity: left } };
}

/**
 * Renames a key in the selector and the required node affinity. If the selector has the right key as well, its value is
 * kept.
 */
function withRenamedKey(spec: PodSpec, key: string, meant: string): PodSpec {
  const { [key]: value, ...others } = spec.nodeSelector ?? {};
  const nodeSelector = value === undefined ? others : { [meant]: value, ...others };
  const { nodeAffinity } = spec.affinity ?? {};
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return { ...spec, nodeSelector };
  const nodeSelectorTerms = required.nodeSelectorTerms.map((term) => ({
    ...term,
    matchExpressions: (term.matchExpressions ?? []).map((one) =>
      one.key === key ? { ...one, key: meant } : one,
    ),
  }));
  const renamed = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  const affinity = { ...spec.affinity, nodeAffinity: { ...nodeAffinity, ...renamed } };
  return { ...spec, nodeSelector, affinity };
}

function withoutRule(
  spec: PodSpec,
  rule: "spread" | "affinity" | "antiAffinity",
  topologyKey: string,
): PodSpec {
  if (rule === "spread") {
    const spreads = spec.topologySpreadConstraints ?? [];
    return {
      ...spec,
      topologySpreadConstraints: spreads.filter((one) => !isRequiredOver(one, topologyKey)),
    };
  }
  const name = rule === "affinity" ? "podAffinity" : "podAntiAffinity";
  const own = spec.affinity?.[name];
  const terms = own?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const left = {
    ...own,
    requiredDuringSchedulingIgnoredDuringExecution: terms.filter(
      (one) => one.topologyKey !== topologyKey,
    ),
  };
  return { ...spec, affinity: { ...spec.affinity, [name]: left } };
}

/** The pool after the edit. */
export function editedPool(pool: Pool, edit: PoolEdit): Pool {
  switch (edit.change) {
    case "limit":
      return { ...pool, limits: { ...pool.limits, [edit.resource]: edit.to } };
    case "label":
      return { ...pool, labels: { ...pool.labels, [edit.key]: edit.value } };
    case "allow": {
      const requirements = pool.requirements.flatMap((one) =>
        one.key === edit.key ? allowing(one, edit.value) : [one],
      );
      return { ...pool, requirements };
    }
    case "minValues": {
      const requirements = pool.requirements.map((one) =>
        one.key === edit.key && one.minValues !== undefined ? { ...one, minValues: edit.to } : one,
      );
      return { ...pool, requirements };
    }
  }
}

/**
 * Changes the requirement so that it allows the value: adds the value to In, removes it from NotIn, or drops the
 * requirement if it is a bound or DoesNotExist.
 */
function allowing(spec: RequirementSpec, value: string): RequirementSpec[] {
  const values = spec.values ?? [];
  switch (spec.operator) {
    case "In":
      return [{ ...spec, values: values.includes(value) ? values : [...values, value].sort() }];
    case "NotIn": {
      const left = values.filter((one) => one !== value);
      return left.length === 0 ? [] : [{ ...spec, values: left }];
    }
    case "Exists":
      return [spec];
    default:
      return allows(toRequirement(spec), value) ? [spec] : [];
  }
}

/** The edit as one line of text for the owner of the object. */
export function editText(edit: Edit, pools: SchedulingInput["pools"]): string {
  if (edit.on === "pod") return podText(edit);
  const own = pools.find(({ pool }) => pool.id === edit.poolId);
  assert(own !== undefined, "pools that are edited are of the batch");
  return poolText(edit, own.pool);
}

function podText(edit: PodEdit): string {
  switch (edit.change) {
    case "tolerate": {
      const { key, operator, value, effect } = edit.toleration;
      const what = operator === "Exists" ? key : `${key}=${value}`;
      return `add a toleration of taint ${what}:${effect} to the pod`;
    }
    case "dropKey":
      return `drop ${edit.key} from the pod's node selector and required node affinity`;
    case "renameKey":
      return `write ${edit.meant} for ${edit.key} in the pod's node selector and required node affinity`;
    case "request":
      return requestText(edit);
    case "dropRule":
      return `drop the pod's ${RULES[edit.rule]} over ${edit.topologyKey}`;
    case "loosen":
      return `${edit.to > edit.from ? "raise" : "lower"} ${edit.field} of the pod's ${RULES.spread} over ${edit.topologyKey} from ${edit.from} to ${edit.to}`;
    case "dropHostPort":
      return `drop host port ${edit.port} of the pod`;
  }
}

/** The field of a limit, and its pool. */
export function limitText(resource: string, { generation, name }: Pool): string {
  const field = generation === "alpha" ? "spec.limits.resources" : "spec.limits";
  return `${field}.${resource} of ${vocabulary(generation).poolKind} ${name}`;
}

function poolText(edit: PoolEdit, own: Pool): string {
  const pool = `${vocabulary(own.generation).poolKind} ${own.name}`;
  switch (edit.change) {
    case "limit":
      return `raise ${limitText(edit.resource, own)} from ${shown(edit.resource, edit.from)} to ${shown(edit.resource, edit.to)}`;
    case "allow":
      return `let ${pool} use ${edit.key} ${edit.value}`;
    case "label":
      return `give nodes of ${pool} the label ${edit.key}=${edit.value}`;
    case "minValues":
      return `lower minValues of ${edit.key} in ${pool} from ${edit.from} to ${edit.to}`;
  }
}

function requestText({ container, isInit, resource, from, to }: LoweredRequest): string {
  const whose =
    container === undefined ? "the pod" : `${isInit ? "init container" : "container"} ${container}`;
  if (to === 0) return `let ${whose} do without ${resource}`;
  // The API server refuses a pod whose request and limit of such a resource differ, so both must be lowered.
  const what = mayNotBeOvercommitted(resource) ? "request and limit" : "request";
  return `lower the ${resource} ${what} of ${whose} from ${shown(resource, from)} to ${shown(resource, to)}`;
}

const RULES = {
  spread: "topology spread",
  affinity: "required affinity",
  antiAffinity: "required anti-affinity",
} as const;

function shown(resource: string, amount: number): string {
  return formatResources({ [resource]: amount })[resource] ?? String(amount);
}
