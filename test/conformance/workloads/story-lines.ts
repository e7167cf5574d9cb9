/**
 * Writes the objects of a control plane as lines for a story: one line for each object, without random names and times.
 */
import type { Pod } from "../../../src/apis/core/pod.ts";
import type { Condition, KubeObject } from "../../../src/apis/meta.ts";
import { canonicalJson } from "../../../src/base/json.ts";

/** A sort key: sets by the tag of their image, so that the order does not depend on hashes in names. */
export function orderOf(object: KubeObject): string {
  return `${imageOf(object)} ${object.metadata.name}`;
}

/** The image in the object's pod template. */
export function imageOf(object: KubeObject): string {
  const { spec, data } = object as unknown as Record<string, { template?: unknown } | undefined>;
  const template = (spec?.template ??
    (data as { spec?: { template?: unknown } })?.spec?.template) as
    | { spec?: { containers?: readonly { image?: string }[] } }
    | undefined;
  return template?.spec?.containers?.[0]?.image ?? "";
}

/** The name of the object's owner. */
export function ownerOf({ metadata }: KubeObject): string {
  return metadata.ownerReferences?.[0]?.name ?? "";
}

/** The node for a pod: the one that its affinity names, or the only node. */
export function nodeFor(pod: Pod): string {
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0] ?? "n";
}

/** One word for the state of a pod. */
export function stateOf({ spec, status }: Pod): string {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return status.phase;
  if (spec.nodeName === undefined) return "pending";
  const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
  return ready ? "ready" : "running";
}

/** Whether the pod is terminating. */
export function leaves({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** One line for each pod with a fixed name; pods with random names are counted. */
export function podLines(pods: readonly Pod[], withNodes: boolean): string[] {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const { name, generateName, labels } = pod.metadata;
    const index = labels?.["batch.kubernetes.io/job-completion-index"];
    const own =
      generateName === undefined || index !== undefined || ownerKind(pod) === "StatefulSet";
    const node = withNodes && ownerKind(pod) === "DaemonSet" ? ` on ${nodeFor(pod)}` : "";
    const called = own ? (index === undefined ? name : `index ${index}`) : "POD";
    const image = pod.spec.containers[0]?.image;
    const line = `pod ${called}${node} ${image} ${stateOf(pod)}${leaves(pod) ? " leaving" : ""}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => `${line} ×${count}`).sort();
}

function ownerKind({ metadata }: Pod): string {
  return metadata.ownerReferences?.[0]?.kind ?? "";
}

/** What a controller wrote: revisions, replica counts, status. */
export function lineOf(object: KubeObject): string {
  const { kind = "", metadata } = object;
  const { spec, status, revision } = object as unknown as {
    spec?: { replicas?: number; suspend?: boolean };
    status?: Record<string, unknown>;
    revision?: number;
  };
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    /^deployment\.kubernetes\.io|^deprecated/.test(key),
  );
  const said = {
    ...(revision === undefined ? { generation: metadata.generation } : { revision }),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations.sort()) }),
    ...(spec?.replicas === undefined ? {} : { replicas: spec.replicas }),
    ...(metadata.deletionTimestamp === undefined ? {} : { leaving: true }),
    ...(status === undefined ? {} : { status: statusOf(status) }),
    ...backendsOf(object),
  };
  const name = kind === "EndpointSlice" ? (metadata.generateName ?? metadata.name) : metadata.name;
  return `${kind} ${name} ${JSON.stringify(said)}`;
}

/** The content of Endpoints and EndpointSlices, without ids. */
function backendsOf(object: KubeObject): object {
  const { subsets, endpoints, ports } = object as unknown as Record<string, unknown>;
  const { labels } = object.metadata;
  if (object.kind !== "Endpoints" && object.kind !== "EndpointSlice") return {};
  const text = JSON.stringify({ labels, subsets, endpoints, ports }, (key, value: unknown) =>
    key === "uid" || key === "namespace" ? undefined : inOrder(value),
  );
  return JSON.parse(canonicalJson(JSON.parse(text))) as object;
}

/** Sorts a list by its JSON text, because addresses and ports come in the order of hashes. */
function inOrder(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const texts = value.map((one) => [JSON.stringify(one), one] as const);
  return texts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one as unknown);
}

/** Replaces the list of a CronJob's running Jobs by their number. */
function withCounts(status: Record<string, unknown>): Record<string, unknown> {
  const { active } = status;
  return Array.isArray(active) ? { ...status, active: active.length } : status;
}

/** A status without times, with sorted fields and conditions. */
function statusOf(status: Record<string, unknown>): object {
  const { conditions, ...rest } = status as { conditions?: readonly Condition[] };
  const { currentMetrics } = rest as { readonly currentMetrics?: unknown };
  // Go and this project write the fields of metrics in different orders.
  const measured = currentMetrics ? { currentMetrics: canonicalJson(currentMetrics) } : {};
  const fields = Object.entries({ ...withCounts(rest), ...measured })
    .filter(([key]) => !/Time$/.test(key) && key !== "disruptedPods")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const all = [...(conditions ?? [])].sort((a, b) => (a.type < b.type ? -1 : 1));
  return {
    ...Object.fromEntries(fields),
    ...(all.length === 0
      ? {}
      : {
          conditions: all.map(
            ({ type, status, reason, message }) =>
              `${type}=${status} ${reason ?? ""}: ${message ?? ""}`,
          ),
        }),
  };
}
