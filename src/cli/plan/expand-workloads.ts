/**
 * Pods of workloads, as the controllers of a cluster would make them: one for each replica that is
 * not among the pods already, and one run of a CronJob. Pods that stand alone come through as they are.
 */
import type { Deployment, Job, StatefulSet } from "../../apis/apps/kinds.ts";
import type { PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import { withLimitRanges } from "../../apis/core/limit-range.ts";
import { isActive, type Pod } from "../../apis/core/pod.ts";
import { contentHash } from "../../apis/karpenter/nodepool-hash.ts";
import { controllerOf, type KubeObject, keyOf, type OwnerReference } from "../../apis/meta.ts";
import type { Manifests } from "./manifests.ts";
import { claimsOfPod, claimsOfSet, completeClaims } from "./volume-claims.ts";
import { nextRun, wantedPods } from "./workload-size.ts";

/** What the replicas of all workloads come to, with the pods that were there before. */
export interface Expanded {
  readonly pods: readonly Pod[];
  /** Those of the input and those that pods and StatefulSets make. */
  readonly volumeClaims: readonly PersistentVolumeClaim[];
}

export function expandWorkloads(manifests: Manifests): Expanded {
  const pods = manifests.pods.map((pod) => (isAdmitted(pod) ? pod : admitted(pod, manifests)));
  const claims: PersistentVolumeClaim[] = [];
  const taken = new Set(pods.map(keyOf));
  const running = countByOwner(manifests);
  const owners = new Set(manifests.workloads.map(identity));
  for (const workload of [...manifests.workloads, ...runs(manifests, running)]) {
    const owner = controllerOf(workload);
    // A ReplicaSet of a Deployment that is here too: the Deployment says how many.
    if (owner !== undefined && owners.has(ownerIdentity(workload, owner))) continue;
    const wanted = wantedPods(workload, manifests.autoscalers);
    for (const pod of missingPods(workload, wanted, running, taken)) {
      taken.add(keyOf(pod));
      pods.push(admitted(manifests.withDefaults(pod), manifests));
      if (workload.kind === "StatefulSet")
        claims.push(...claimsOfSet(workload as StatefulSet, pod));
    }
  }
  return {
    pods: pods.map((pod) => withPriority(pod, manifests)),
    volumeClaims: completeClaims([...claims, ...pods.flatMap(claimsOfPod)], manifests),
  };
}

/** A run of each CronJob that has none under way. */
function runs({ workloads, cronJobs }: Manifests, running: ReadonlyMap<string, number>): Job[] {
  const busy = new Set(running.keys());
  for (const workload of workloads) {
    const owner = controllerOf(workload);
    if (owner !== undefined && wantedPods(workload, []) > 0)
      busy.add(ownerIdentity(workload, owner));
  }
  return cronJobs.filter((one) => !busy.has(identity(one))).map(nextRun);
}

/** Pods of a StatefulSet are missing by name, those of other workloads by number. */
function missingPods(
  workload: KubeObject,
  wanted: number,
  running: ReadonlyMap<string, number>,
  taken: ReadonlySet<string>,
): Pod[] {
  const made: Pod[] = [];
  if (workload.kind === "StatefulSet") {
    const first = (workload as StatefulSet).spec.ordinals?.start ?? 0;
    for (let index = first; index < first + wanted; index++) made.push(replica(workload, index));
    return made.filter((pod) => !taken.has(keyOf(pod)));
  }
  const there = running.get(identity(workload)) ?? 0;
  for (let index = 0; made.length < wanted - there; index++) {
    const pod = replica(workload, index);
    if (!taken.has(keyOf(pod))) made.push(pod);
  }
  return made;
}

/** Live pods of each workload, through a ReplicaSet where there is one. */
function countByOwner(manifests: Manifests): Map<string, number> {
  const parents = new Map<string, string>();
  for (const workload of manifests.workloads) {
    const owner = controllerOf(workload);
    if (owner !== undefined) parents.set(identity(workload), ownerIdentity(workload, owner));
  }
  const counts = new Map<string, number>();
  for (const pod of manifests.pods.filter(isActive)) {
    const owner = controllerOf(pod);
    if (owner === undefined) continue;
    const own = ownerIdentity(pod, owner);
    const parent = parentOf(pod, owner);
    if (parent !== undefined && !parents.has(own)) parents.set(own, parent);
    // What is written by hand may own itself.
    const above = new Set<string>();
    for (let id: string | undefined = own; id && !above.has(id); id = parents.get(id))
      above.add(id);
    for (const id of above) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/**
 * What made the pod's owner, when that is not in the input: a Deployment calls its ReplicaSets by its own
 * name and the hash, a CronJob its Jobs by its own name and the minute since 1970.
 */
function parentOf({ metadata }: Pod, { kind, name }: OwnerReference): string | undefined {
  const { namespace, labels } = metadata;
  const hash = `-${labels?.["pod-template-hash"]}`;
  if (kind === "ReplicaSet" && name.endsWith(hash))
    return `Deployment ${namespace}/${name.slice(0, -hash.length)}`;
  const minute = /-\d{8,}$/.exec(name);
  return kind === "Job" && minute !== null
    ? `CronJob ${namespace}/${name.slice(0, minute.index)}`
    : undefined;
}

function identity(object: KubeObject): string {
  return `${object.kind} ${keyOf(object)}`;
}

function ownerIdentity(object: KubeObject, owner: OwnerReference): string {
  return `${owner.kind} ${object.metadata.namespace}/${owner.name}`;
}

function replica(workload: KubeObject, index: number): Pod {
  const { template } = (workload as Deployment).spec;
  const { name, namespace = "default", uid = "", creationTimestamp } = workload.metadata;
  const podName = `${name}-${index}`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...template.metadata,
      name: podName,
      namespace,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      labels: { ...template.metadata?.labels, ...ownLabels(workload, podName, index) },
      ownerReferences: [
        {
          apiVersion: workload.apiVersion ?? "apps/v1",
          kind: workload.kind as string,
          name,
          uid,
          controller: true,
        },
      ],
    },
    spec:
      workload.kind === "StatefulSet"
        ? withClaims(template.spec, workload as StatefulSet, podName)
        : template.spec,
  };
}

/** Labels that a controller adds; spread rules may name them in matchLabelKeys. */
function ownLabels(workload: KubeObject, podName: string, index: number): Record<string, string> {
  if (workload.kind === "Deployment") {
    return { "pod-template-hash": contentHash((workload as Deployment).spec.template) };
  }
  if (workload.kind === "Job") return jobLabels(workload as Job, index);
  if (workload.kind !== "StatefulSet") return {};
  return {
    "statefulset.kubernetes.io/pod-name": podName,
    "apps.kubernetes.io/pod-index": String(index),
  };
}

function jobLabels({ metadata: { name }, spec }: Job, index: number): Record<string, string> {
  const indexed = spec.completionMode === "Indexed";
  return {
    "batch.kubernetes.io/job-name": name,
    "job-name": name,
    ...(indexed ? { "batch.kubernetes.io/job-completion-index": String(index) } : {}),
  };
}

function withClaims(spec: Pod["spec"], set: StatefulSet, podName: string): Pod["spec"] {
  const templates = set.spec.volumeClaimTemplates ?? [];
  if (templates.length === 0) return spec;
  const own = templates.map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-${podName}` },
  }));
  const names = new Set(own.map(({ name }) => name));
  const others = (spec.volumes ?? []).filter(({ name }) => !names.has(name));
  return { ...spec, volumes: [...others, ...own] };
}

/** As a cluster has it; a manifest that nobody has applied yet has no UID. */
function isAdmitted(pod: Pod): boolean {
  return pod.metadata.uid !== undefined;
}

/** With what admission takes from the LimitRanges of the namespace. */
function admitted(pod: Pod, { limitRanges }: Manifests): Pod {
  const { namespace } = pod.metadata;
  const own = limitRanges.filter(({ metadata }) => metadata.namespace === namespace);
  return own.length === 0 ? pod : { ...pod, spec: withLimitRanges(pod.spec, own) };
}

/** Classes that each cluster has, whether or not the input names them. */
const SYSTEM_PRIORITIES: ReadonlyMap<string, number> = new Map([
  ["system-cluster-critical", 2_000_000_000],
  ["system-node-critical", 2_000_001_000],
]);

/** The number that admission takes from the pod's priority class, or from the default one. */
function withPriority(pod: Pod, { priorityClasses }: Manifests): Pod {
  if (pod.spec.priority !== undefined) return pod;
  const { priorityClassName = "" } = pod.spec;
  const found = priorityClasses.find((one) =>
    priorityClassName ? one.metadata.name === priorityClassName : one.globalDefault === true,
  );
  const priority = found?.value ?? SYSTEM_PRIORITIES.get(priorityClassName);
  return priority === undefined ? pod : { ...pod, spec: { ...pod.spec, priority } };
}
