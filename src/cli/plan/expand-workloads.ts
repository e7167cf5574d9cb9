/**
 * Creates the pods of workloads as a cluster's controllers would: one for each replica that has no pod yet, and one
 * run of each CronJob. Other pods stay as they are.
 */
import type { CronJob, Deployment, Job, StatefulSet } from "../../apis/apps/kinds.ts";
import type { PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import { deploymentNameOf, isActive, type Pod } from "../../apis/core/pod.ts";
import { contentHash } from "../../apis/karpenter/nodepool-hash.ts";
import { controllerOf, type KubeObject, keyOf, type OwnerReference } from "../../apis/meta.ts";
import {
  overheadProblem,
  type RuntimeClass,
  withRuntimeClass,
} from "../../apis/node/runtime-class.ts";
import type { PriorityClass } from "../../apis/policy/kinds.ts";
import { counted, firstNames, grouped } from "../../base/counted.ts";
import { meantName } from "../../base/slips.ts";
import { atOnce, eachInSteps, mapInSteps, type Steps } from "../../base/steps.ts";
import { PodAdmission } from "../../core/state/pod-admission.ts";
import { CliError } from "../program/cli-error.ts";
import type { Manifests } from "./manifests.ts";
import { quotaThatRefuses, withinQuotas } from "./quotas.ts";
import { claimsOfPod, claimsOfSet, completeClaims } from "./volume-claims.ts";
import { nextRun, sizeField, wantedPods } from "./workload-size.ts";

/** The pods of all workloads, together with those that existed before. */
export interface Expanded {
  readonly pods: readonly Pod[];
  /** Claims of the input, and those that pods and StatefulSets create. */
  readonly volumeClaims: readonly PersistentVolumeClaim[];
  /** Pods that are not created. */
  readonly notes: readonly string[];
}

/** Maximum number of pods in a plan. A typo in `replicas` could request billions. */
const MOST_PODS = 5_000_000;

/** Number of pods that are created in one step. */
const MADE_PER_STEP = 64;

/** A workload from which pods are created. */
interface Maker {
  readonly workload: KubeObject;
  /** The object in the input. For a run of a CronJob this is the CronJob. */
  readonly source: KubeObject;
  /** Path of the workload's spec in `source`. */
  readonly path: string;
  readonly wanted: number;
}

/** Creates the pods. Throws CliError for an invalid workload, or for more than MOST_PODS pods in all. */
export function expandWorkloads(manifests: Manifests): Expanded {
  return atOnce(expandInSteps(manifests));
}

/** Like {@link expandWorkloads}, in steps. */
export function* expandInSteps(manifests: Manifests): Steps<Expanded> {
  const admission = fillAdmission(new PodAdmission(), manifests);
  const pods = manifests.pods.map((pod) => (isAdmitted(pod) ? pod : admission.created(pod)));
  const claims: PersistentVolumeClaim[] = [];
  const notes: string[] = [];
  const runs: string[] = [];
  const created: Pod[] = [];
  const letIn = (one: Pod | undefined, source: KubeObject, wanted: number): number => {
    if (one === undefined || manifests.quotas.length === 0) return wanted;
    const sample = admission.created(manifests.withDefaults(one));
    const { count, note } = throughQuotas(sample, wanted, { source, manifests, made: created });
    if (note !== undefined) notes.push(note);
    return count;
  };
  const taken = new Set(pods.map(keyOf));
  const running = countByOwner(manifests);
  const makers = makersOf(manifests, running);
  refuseTooMany(makers, manifests, running);
  for (const pod of manifests.pods)
    if (!isAdmitted(pod)) refuseUnadmitted(pod, "spec", pod.spec, manifests);
  for (const one of manifests.daemonSets) {
    if (one.metadata.uid !== undefined) continue;
    refuseUnadmitted(one, "spec.template.spec", one.spec.template.spec, manifests);
  }
  for (const { workload, source, path, wanted } of makers) {
    const made = yield* missingPods({ workload, wanted }, running, taken);
    const [first] = made;
    if (first !== undefined)
      refuseUnadmitted(source, `${path}.template.spec`, first.spec, manifests);
    const count = letIn(first, source, made.length);
    if (source.kind === "CronJob" && count > 0) runs.push(keyOf(source));
    yield* eachInSteps(made.slice(0, count), (pod) => {
      taken.add(keyOf(pod));
      const one = admission.created(manifests.withDefaults(pod));
      pods.push(one);
      if (manifests.quotas.length > 0) created.push(one);
      if (workload.kind === "StatefulSet")
        claims.push(...claimsOfSet(workload as StatefulSet, pod));
    });
  }
  return {
    pods: yield* mapInSteps(pods, (pod) => withPriority(pod, manifests)),
    volumeClaims: completeClaims([...claims, ...pods.flatMap(claimsOfPod)], manifests),
    notes: [...runNotes(runs), ...notes],
  };
}

/** Most CronJobs that a note names. */
const NAMED = 3;

function runNotes(runs: readonly string[]): string[] {
  if (runs.length === 0) return [];
  return [
    `the next run counts as if it began now, also in the price of a month: CronJob ${firstNames(runs, NAMED)}`,
  ];
}

/** How many of the wanted pods the quotas of their namespace let in, and a note about the others. */
function throughQuotas(
  sample: Pod,
  wanted: number,
  {
    source: { kind, metadata },
    manifests: { quotas, pods },
    made,
  }: {
    readonly source: KubeObject;
    readonly manifests: Manifests;
    readonly made: readonly Pod[];
  },
): { readonly count: number; readonly note?: string } {
  const { namespace = "default", name } = metadata;
  const refusal = quotaThatRefuses(sample, quotas);
  if (refusal !== undefined)
    return {
      count: 0,
      note: `ResourceQuota ${namespace}/${refusal.by} refuses the new pods of ${kind} ${name}, so they are not planned: each container must set ${refusal.unset.join(", ")}`,
    };
  const { count, by } = withinQuotas(wanted, { sample, quotas, others: pods, made });
  if (by === undefined) return { count };
  const of = count === 0 ? "none" : grouped(count);
  return {
    count,
    note: `ResourceQuota ${namespace}/${by} lets in ${of} of ${counted(wanted, "new pod")} of ${kind} ${name}; the others would not be created, so they are not planned`,
  };
}

function makersOf(manifests: Manifests, running: ReadonlyMap<string, number>): Maker[] {
  const { workloads, autoscalers } = manifests;
  const owners = new Set(workloads.map(identity));
  // A ReplicaSet whose Deployment is also in the input is skipped: the Deployment sets the number.
  const own = workloads.filter((one) => {
    const owner = controllerOf(one);
    return owner === undefined || !owners.has(ownerIdentity(one, owner));
  });
  const runs = idleCronJobs(manifests, running).map((source) => ({
    workload: nextRun(source),
    source,
    path: "spec.jobTemplate.spec",
  }));
  // StatefulSets are first, because their pods have fixed names. Other pods get numbers that are still free.
  const sets = own.filter(({ kind }) => kind === "StatefulSet");
  const others = own.filter(({ kind }) => kind !== "StatefulSet");
  const made = [...sets, ...others].map((one) => ({ workload: one, source: one, path: "spec" }));
  return [...made, ...runs].map((one) => ({
    ...one,
    wanted: wantedPods(one.workload, autoscalers),
  }));
}

/** Checks the number before any pod is created. The error names the workload with the most pods. */
function refuseTooMany(
  makers: readonly Maker[],
  { pods, autoscalers, placeOf }: Manifests,
  running: ReadonlyMap<string, number>,
): void {
  let total = pods.length;
  let most: { readonly maker: Maker; readonly missing: number } | undefined;
  for (const maker of makers) {
    const missing = Math.max(0, maker.wanted - (running.get(identity(maker.workload)) ?? 0));
    total += missing;
    if (missing > (most?.missing ?? 0)) most = { maker, missing };
  }
  if (total <= MOST_PODS || most === undefined) return;
  const { source, path, workload, wanted } = most.maker;
  const field = `${path}.${sizeField(workload, autoscalers)}`;
  throw new CliError(
    `${placeOf(source)}: ${source.kind} ${source.metadata.name}: ${field}: ${wanted}, which makes ${total} pods of ` +
      `the whole input, and a plan takes at most ${MOST_PODS}; lower it, or plan for a part of the input at a time`,
  );
}

/** CronJobs without a running Job. */
function idleCronJobs(
  { workloads, cronJobs }: Manifests,
  running: ReadonlyMap<string, number>,
): readonly CronJob[] {
  const busy = new Set(running.keys());
  for (const workload of workloads) {
    const owner = controllerOf(workload);
    if (owner !== undefined && wantedPods(workload, []) > 0)
      busy.add(ownerIdentity(workload, owner));
  }
  return cronJobs.filter((one) => !busy.has(identity(one)));
}

/** The missing pods of a workload: by name for a StatefulSet, by number for all others. */
function* missingPods(
  { workload, wanted }: Pick<Maker, "workload" | "wanted">,
  running: ReadonlyMap<string, number>,
  taken: ReadonlySet<string>,
): Steps<Pod[]> {
  const made: Pod[] = [];
  const labels = templateLabels(workload as Deployment);
  if (workload.kind === "StatefulSet") {
    const first = (workload as StatefulSet).spec.ordinals?.start ?? 0;
    for (let index = first; index < first + wanted; index++)
      made.push(replica(workload, index, labels));
    return made.filter((pod) => !taken.has(keyOf(pod)));
  }
  const there = running.get(identity(workload)) ?? 0;
  for (let index = 0; made.length < wanted - there; index++) {
    if (index % MADE_PER_STEP === MADE_PER_STEP - 1) yield;
    const pod = replica(workload, index, labels);
    if (!taken.has(keyOf(pod))) made.push(pod);
  }
  return made;
}

/** Number of live pods of each workload, also through a ReplicaSet. */
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
    // A manifest may contain an object that owns itself, so visited owners are remembered.
    const above = new Set<string>();
    for (let id: string | undefined = own; id && !above.has(id); id = parents.get(id))
      above.add(id);
    for (const id of above) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/**
 * The owner of the pod's owner, if that is not in the input, derived from its name. A ReplicaSet is named after its
 * Deployment plus a hash, a Job after its CronJob plus the minute since 1970.
 */
function parentOf(pod: Pod, { kind, name }: OwnerReference): string | undefined {
  const { namespace } = pod.metadata;
  const deployment = deploymentNameOf(pod);
  if (deployment !== undefined) return `Deployment ${namespace}/${deployment}`;
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

/** Labels that all pods of a workload have. Computed once, because hashes are slow. */
function templateLabels({
  kind,
  spec: { template },
}: Deployment): Readonly<Record<string, string>> {
  const { labels } = template.metadata ?? {};
  return kind === "Deployment"
    ? { ...labels, "pod-template-hash": contentHash(template) }
    : { ...labels };
}

function replica(
  workload: KubeObject,
  index: number,
  labels: Readonly<Record<string, string>>,
): Pod {
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
      labels: { ...labels, ...ownLabels(workload, podName, index) },
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

/** Labels that a controller adds to each pod. Spread rules may use them in matchLabelKeys. */
function ownLabels(workload: KubeObject, podName: string, index: number): Record<string, string> {
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

/** Whether the pod comes from a cluster. A pod in a manifest has no UID. */
function isAdmitted(pod: Pod): boolean {
  return pod.metadata.uid !== undefined;
}

/** Adds the objects of the input that admission reads. Returns `admission`. */
export function fillAdmission(
  admission: PodAdmission,
  {
    limitRanges,
    runtimeClasses,
    verticalAutoscalers,
  }: Pick<Manifests, "limitRanges" | "runtimeClasses" | "verticalAutoscalers">,
): PodAdmission {
  for (const limitRange of limitRanges) admission.updateLimitRange(limitRange);
  for (const runtimeClass of runtimeClasses) admission.updateRuntimeClass(runtimeClass);
  admission.replaceAutoscalers(verticalAutoscalers);
  return admission;
}

function runtimeClassOf(
  { runtimeClassName }: Pod["spec"],
  { runtimeClasses }: Manifests,
): RuntimeClass | undefined {
  return runtimeClasses.find(({ metadata }) => metadata.name === runtimeClassName);
}

/** Priority classes that every cluster has, even if the input lacks them. */
const SYSTEM_PRIORITIES: ReadonlyMap<string, number> = new Map([
  ["system-cluster-critical", 2_000_000_000],
  ["system-node-critical", 2_000_001_000],
]);

/**
 * Throws CliError for a pod that admission would refuse: an unknown class, or a conflict with its RuntimeClass.
 * `source` is the object with the pod's spec, at `path`.
 */
function refuseUnadmitted(
  source: KubeObject,
  path: string,
  spec: Pod["spec"],
  manifests: Manifests,
): void {
  refuseUnknownPriority(source, path, spec, manifests);
  refuseRuntimeClass(source, path, spec, manifests);
}

function refuseRuntimeClass(
  source: KubeObject,
  path: string,
  spec: Pod["spec"],
  manifests: Manifests,
): void {
  const place = manifests.placeOf(source);
  if (place === undefined) return;
  const name = spec["runtimeClassName"];
  const runtimeClass = runtimeClassOf(spec, manifests);
  const whose = `${place}: ${source.kind} ${source.metadata.name}: ${path}`;
  if (typeof name === "string" && runtimeClass === undefined) {
    const problem = noSuchClass("RuntimeClass", name, manifests.runtimeClasses);
    throw new CliError(`${whose}.runtimeClassName: ${problem}`);
  }
  const outcome = withRuntimeClass(spec, runtimeClass);
  const problem = outcome.problem ?? overheadProblem(outcome.spec as Pod["spec"], runtimeClass);
  if (problem === undefined) return;
  throw new CliError(
    `${whose}: ${problem}; the API server refuses such a pod, so change one of them`,
  );
}

/** Throws CliError for a pod with an unknown priority class. A pod that has a priority number was already admitted. */
function refuseUnknownPriority(
  source: KubeObject,
  path: string,
  { priorityClassName = "", priority }: Pod["spec"],
  { priorityClasses, placeOf }: Manifests,
): void {
  const place = placeOf(source);
  const isKnown =
    priorityClassName === "" ||
    SYSTEM_PRIORITIES.has(priorityClassName) ||
    priorityClasses.some(({ metadata }) => metadata.name === priorityClassName);
  if (isKnown || priority !== undefined || place === undefined) return;
  const problem = noSuchClass("PriorityClass", priorityClassName, priorityClasses);
  throw new CliError(
    `${place}: ${source.kind} ${source.metadata.name}: ${path}.priorityClassName: ${problem}`,
  );
}

/** The message for a class that a pod names and the input lacks. It names a class of the input that may be meant. */
function noSuchClass(kind: string, name: string, known: readonly KubeObject[]): string {
  const meant = meantName(
    name,
    known.map(({ metadata }) => metadata.name),
  );
  const add = meant === undefined ? "add it with -f" : `did you mean ${meant}? Or add it with -f`;
  return `no ${kind} "${name}" in the input, and the API server lets no pod in without it; ${add}`;
}

/** Sets the priority number from the pod's priority class, or from the default class. */
function withPriority(pod: Pod, { priorityClasses }: Manifests): Pod {
  if (pod.spec.priority !== undefined) return pod;
  const { priorityClassName = "" } = pod.spec;
  const found = priorityClassName
    ? priorityClasses.find(({ metadata }) => metadata.name === priorityClassName)
    : defaultPriorityClass(priorityClasses);
  const priority = found?.value ?? SYSTEM_PRIORITIES.get(priorityClassName);
  return priority === undefined ? pod : { ...pod, spec: { ...pod.spec, priority } };
}

/** The default priority class. Of several, it is the one with the lowest value, as in admission. */
function defaultPriorityClass(classes: readonly PriorityClass[]): PriorityClass | undefined {
  return classes
    .filter(({ globalDefault }) => globalDefault === true)
    .sort((a, b) => a.value - b.value)[0];
}
