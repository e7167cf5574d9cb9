/**
 * Turns a fix of the engine into `kubectl patch` commands for objects that owners write: NodePools, and the
 * template of the pod's workload. A pod itself can only get additional tolerations.
 */
import { deploymentNameOf, type Pod } from "../../apis/core/pod.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import { controllerOf, type KubeObject } from "../../apis/meta.ts";
import { formatResource } from "../../apis/resources.ts";
import { jsonPatchOf } from "../../base/json-patch-of.ts";
import { quoted } from "../../console/command-line.ts";
import {
  type Edit,
  editedPod,
  editedPool,
  type PodEdit,
  type PoolEdit,
} from "../../core/answers/fixes/edits.ts";
import { mayNotBeOvercommitted } from "../../core/answers/fixes/lower-requests.ts";
import type { Manifests } from "../plan/manifests.ts";

/** The commands that together make the fix, or why there are none. */
export type FixPatch = { readonly lines: readonly string[] } | { readonly byHand: string };

type Json = Readonly<Record<string, unknown>>;
type Stored = KubeObject & { readonly spec: Json };
type Objects = Pick<Manifests, "pools" | "liveWorkloads">;

/** The commands of a fix. `edits` are its edits; `pod` is one of the pods that it places. */
export function fixPatch(edits: readonly Edit[], pod: Pod, objects: Objects): FixPatch {
  const ofPod = edits.filter((edit) => edit.on === "pod");
  const ofPools = edits.filter((edit) => edit.on === "pool");
  const lines: string[] = [];
  for (const poolId of [...new Set(ofPools.map((edit) => edit.poolId))].sort()) {
    const stored = objects.pools.find((native) => toPool(native).id === poolId);
    if (stored === undefined) return { byHand: `${poolId} is not there any more` };
    const own = ofPools.filter((edit) => edit.poolId === poolId);
    const native = stored as unknown as Stored;
    lines.push(patchLine(native, own.reduce(withPoolEdit, native)));
  }
  if (ofPod.length === 0) return { lines };
  const changed = podLine(ofPod, pod, objects);
  return "byHand" in changed ? changed : { lines: [...lines, ...changed.lines] };
}

function podLine(edits: readonly PodEdit[], pod: Pod, { liveWorkloads }: Objects): FixPatch {
  const owner = workloadOf(pod);
  if (owner === undefined) {
    if (edits.some(({ change }) => change !== "tolerate"))
      return { byHand: "the pod has no workload: delete it, and create it with the change" };
    const after = edits.reduce(editedPod, pod);
    return { lines: [patchLine(pod, after)] };
  }
  const { namespace } = pod.metadata;
  const stored = liveWorkloads.find(
    ({ kind, metadata }) =>
      kind === owner.kind && metadata.name === owner.name && metadata.namespace === namespace,
  ) as Stored | undefined;
  const template = stored?.spec["template"] as { readonly spec: Pod["spec"] } | undefined;
  if (stored === undefined || template === undefined)
    return { byHand: `change the template of ${owner.kind} ${namespace}/${owner.name}` };
  const { spec } = edits.reduce(withPodEdit, { ...pod, spec: template.spec });
  const after = { ...stored, spec: { ...stored.spec, template: { ...template, spec } } };
  const line = patchLine(stored, after);
  return line === ""
    ? { byHand: `${owner.kind} ${namespace}/${owner.name} does not ask for it: admission adds it` }
    : { lines: [line, ...deletionLine(pod, stored)] };
}

/**
 * The command that deletes the pod of a StatefulSet after the fix. A StatefulSet waits for its pending pod before it
 * replaces pods, unless it is Parallel. Empty for other workloads.
 */
function deletionLine({ metadata: { namespace, name } }: Pod, { kind, spec }: Stored): string[] {
  if (kind !== "StatefulSet" || spec["podManagementPolicy"] === "Parallel") return [];
  return [`kubectl delete pod -n ${quoted(namespace ?? "default")} ${quoted(name)}`];
}

/** The workload of a pod. For a ReplicaSet its Deployment, found by the names. */
function workloadOf(pod: Pod): { readonly kind: string; readonly name: string } | undefined {
  const name = deploymentNameOf(pod);
  return name === undefined ? controllerOf(pod) : { kind: "Deployment", name };
}

/** The pod after the edit. Also sets the limit to the new request, if the API server demands that both are equal. */
function withPodEdit(pod: Pod, edit: PodEdit): Pod {
  const after = editedPod(pod, edit);
  if (edit.change !== "request" || !mayNotBeOvercommitted(edit.resource)) return after;
  const amount = formatResource(edit.resource, edit.to);
  const list = edit.isInit === true ? "initContainers" : "containers";
  const containers = (after.spec[list] ?? []).map((one) =>
    one.name === edit.container
      ? {
          ...one,
          resources: {
            ...one.resources,
            limits: { ...one.resources?.limits, [edit.resource]: amount },
          },
        }
      : one,
  );
  return { ...after, spec: { ...after.spec, [list]: containers } };
}

/** The stored pool after the edit, with the field names of its API version. */
function withPoolEdit(stored: Stored, edit: PoolEdit): Stored {
  const pool = toPool(stored as never);
  const isFlat = pool.generation === "alpha";
  switch (edit.change) {
    case "limit": {
      const path = isFlat ? ["spec", "limits", "resources"] : ["spec", "limits"];
      return withField(stored, [...path, edit.resource], formatResource(edit.resource, edit.to));
    }
    case "label": {
      const path = isFlat ? ["spec", "labels"] : ["spec", "template", "metadata", "labels"];
      return withField(stored, [...path, edit.key], edit.value);
    }
    default: {
      const path = isFlat ? ["spec", "requirements"] : ["spec", "template", "spec", "requirements"];
      const written = fieldOf(stored, path) as typeof pool.requirements | undefined;
      const { requirements } = editedPool({ ...pool, requirements: written ?? [] }, edit);
      return withField(stored, path, requirements);
    }
  }
}

function fieldOf(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  return fieldOf((value as Json | undefined)?.[key], rest);
}

function withField<T>(value: T, [key, ...rest]: readonly string[], to: unknown): T {
  if (key === undefined) return to as T;
  const below = (value as Json | undefined)?.[key];
  return { ...value, [key]: withField(below, rest, to) } as T;
}

const RESOURCES: Readonly<Record<string, string>> = {
  NodePool: "nodepools.karpenter.sh",
  Provisioner: "provisioners.karpenter.sh",
  Deployment: "deployments.apps",
  StatefulSet: "statefulsets.apps",
  ReplicaSet: "replicasets.apps",
  Pod: "pods",
};

/** The command for the difference. "" if the objects are equal. */
function patchLine(before: KubeObject, after: KubeObject): string {
  const patch = jsonPatchOf(before, after);
  if (patch.length === 0) return "";
  const { name, namespace } = before.metadata;
  const where = namespace === undefined ? "" : ` -n ${quoted(namespace)}`;
  const what = `${RESOURCES[before.kind ?? ""] ?? before.kind} ${quoted(name)}`;
  return `kubectl patch${where} ${what} --type=json -p ${quoted(JSON.stringify(patch))}`;
}
