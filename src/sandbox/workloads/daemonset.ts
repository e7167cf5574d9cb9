/**
 * The DaemonSet controller: one pod on each node that its template may run on, placed by the
 * scheduler through node affinity to the node's name. Taints that a daemon tolerates by nature are
 * tolerated here; updates replace pods within maxUnavailable.
 */
import { DAEMON_SET, type DaemonSet } from "../../apis/apps/kinds.ts";
import { NODE, type Node } from "../../apis/core/node.ts";
import {
  isTerminal,
  isTerminating,
  type NodeSelectorTerm,
  POD,
  type Pod,
  type Toleration,
} from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import { matchesNodeSelectorTerm } from "../../apis/core/selectors.ts";
import { firstUntolerated } from "../../apis/core/tolerations.ts";
import { keyOf } from "../../apis/meta.ts";
import { deepEqual } from "../../base/json.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../parts.ts";
import {
  availableAtMs,
  createPod,
  generatedName,
  isAvailable,
  Pacer,
  podOf,
  podsOwnedBy,
  removePod,
  requestsToOwner,
  slowStart,
} from "./controls.ts";
import { daemonSteps, HASH_LABEL, surges } from "./daemon-rollout.ts";
import { revisionsOf } from "./revisions.ts";

/** With 1,000 nodes a set is looked at every quarter of a second at most. */
const PACE_MS_PER_NODE = 0.25;

const GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";
const GENERATION_LABEL = "pod-template-generation";

/** What every daemon pod tolerates. upstream of behaviour: AddOrUpdateDaemonPodTolerations */
const DAEMON_TOLERATIONS: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];
const HOST_NETWORK_TOLERATION: Toleration = {
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
};

export function daemonSetController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const sets = mirrors.of(DAEMON_SET);
  const nodes = mirrors.of(NODE);
  const random = deps.random.fork("daemonset");
  const recorder = createPartRecorder(deps, "daemonset-controller");
  const pacer = new Pacer(PACE_MS_PER_NODE);
  const revisions = revisionsOf(deps, DAEMON_SET, HASH_LABEL);
  podMirror(mirrors);
  sets.on((event, set) => {
    if (event === "removed") pacer.forget(set);
  });

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const set = sets.get(`${namespace}/${name}`);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    const waitMs = pacer.waitMs(set, nodes.size, clock.now());
    if (waitMs > 0) return requeueAfter(waitMs);
    const newest = await revisions.newest(set);
    const hash = newest.metadata.labels?.[HASH_LABEL] ?? "";
    await manage(set, hash, podsByNode(podsOwnedBy(deps, set)));
    await report(set, hash);
    const pods = podsOwnedBy(deps, set);
    const inUse = new Set(pods.map(({ metadata }) => metadata.labels?.[HASH_LABEL]));
    await revisions.prune(
      set,
      ({ metadata: { name, labels } }) =>
        name === newest.metadata.name || inUse.has(labels?.[HASH_LABEL]),
    );
    const waits = pods
      .map((pod) => (availableAtMs(pod, set.spec.minReadySeconds) ?? 0) - clock.now())
      .filter((ms) => ms > 0);
    return waits.length === 0 ? AWAIT_CHANGE : requeueAfter(Math.min(...waits));
  }

  async function manage(
    set: DaemonSet,
    hash: string,
    byNode: ReadonlyMap<string, readonly Pod[]>,
  ): Promise<void> {
    const create: string[] = [];
    const remove: Pod[] = [];
    for (const node of nodes.list()) {
      const pods = byNode.get(node.metadata.name) ?? [];
      const { run, keep } = fitOfDaemon(set, node);
      const alive = pods.filter((pod) => !isTerminal(pod));
      // An ended daemon pod is taken away so that a new one can come.
      for (const pod of pods.filter((one) => isTerminal(one) && !isTerminating(one))) {
        tellEnded(set, pod, node.metadata.name);
        remove.push(pod);
      }
      if (!keep) remove.push(...alive.filter((pod) => !isTerminating(pod)));
      else if (run && alive.length === 0) create.push(node.metadata.name);
      else remove.push(...surplus(set, hash, alive));
    }
    const wanted = nodes.list().filter((node) => fitOfDaemon(set, node).run);
    const names = wanted.map(({ metadata }) => metadata.name);
    const rollout = daemonSteps(set, hash, names, byNode, clock.now());
    await Promise.all(
      [...new Set([...remove, ...rollout.remove])].map((pod) =>
        removePod(deps, recorder, DAEMON_SET, set, pod),
      ),
    );
    create.push(...rollout.create);
    const pods = create.map((node) => daemonPod(set, hash, node));
    await slowStart(pods.map((pod) => () => createPod(deps, recorder, DAEMON_SET, set, pod)));
  }

  function tellEnded(set: DaemonSet, pod: Pod, node: string): void {
    const failed = pod.status?.phase === "Failed";
    const found = `Found ${failed ? "failed" : "succeeded"} daemon pod ${keyOf(pod)} on node ${node}`;
    recorder.publish({
      object: subject(DAEMON_SET, set),
      type: failed ? "Warning" : "Normal",
      reason: failed ? "FailedDaemonPod" : "SucceededDaemonPod",
      message: `${found}, will try to ${failed ? "kill" : "delete"} it`,
    });
  }

  function daemonPod(set: DaemonSet, hash: string, nodeName: string): Pod {
    const { template } = set.spec;
    const pod = podOf(DAEMON_SET, set, template, generatedName(set, random));
    const generation = set.metadata.annotations?.[GENERATION_ANNOTATION];
    const labels = {
      ...pod.metadata.labels,
      [HASH_LABEL]: hash,
      ...(generation === undefined ? {} : { [GENERATION_LABEL]: generation }),
    };
    return {
      ...pod,
      metadata: { ...pod.metadata, labels },
      spec: {
        ...pod.spec,
        tolerations: daemonTolerations(set),
        affinity: pinnedTo(nodeName, pod),
      },
    };
  }

  async function report(before: DaemonSet, hash: string): Promise<void> {
    const set = sets.get(`${before.metadata.namespace}/${before.metadata.name}`) ?? before;
    const byNode = podsByNode(podsOwnedBy(deps, set));
    const now = clock.now();
    const count = { desired: 0, current: 0, misscheduled: 0, ready: 0, updated: 0, available: 0 };
    for (const node of nodes.list()) {
      // The oldest, also while it leaves.
      const [pod] = [...(byNode.get(node.metadata.name) ?? [])].sort(byAge);
      if (!fitOfDaemon(set, node).run) {
        if (pod !== undefined) count.misscheduled++;
        continue;
      }
      count.desired++;
      if (pod === undefined) continue;
      count.current++;
      if (isReady(pod)) count.ready++;
      if (isAvailable(pod, set.spec.minReadySeconds, now)) count.available++;
      if (pod.metadata.labels?.[HASH_LABEL] === hash) count.updated++;
    }
    const status = {
      ...set.status,
      currentNumberScheduled: count.current,
      desiredNumberScheduled: count.desired,
      numberMisscheduled: count.misscheduled,
      numberReady: count.ready,
      updatedNumberScheduled: count.updated || undefined,
      numberAvailable: count.available || undefined,
      numberUnavailable: count.desired - count.available || undefined,
      observedGeneration: set.metadata.generation,
    };
    await patchObject(kube, DAEMON_SET, set, { ...set, status } as DaemonSet);
  }

  function all(): Request[] {
    return sets
      .list()
      .map(({ metadata: { namespace, name } }) => ({ kind: "DaemonSet", namespace, name }));
  }

  return {
    name: "daemonset",
    watches: [
      source(DAEMON_SET),
      source(POD, requestsToOwner("DaemonSet")),
      source(NODE, (node, event, before) =>
        event !== "updated" || before === undefined || placementChanged(node, before) ? all() : [],
      ),
    ],
    concurrency: 4,
    reconcile,
  };
}

/** One pod a node, the oldest; while a new one may come beside an old one, one of each. */
function surplus(set: DaemonSet, hash: string, alive: readonly Pod[]): readonly Pod[] {
  const byHash = (isNew: boolean): readonly Pod[] =>
    alive.filter((pod) => (pod.metadata.labels?.[HASH_LABEL] === hash) === isNew);
  const groups = surges(set) ? [byHash(true), byHash(false)] : [alive];
  return groups
    .flatMap((pods) => [...pods].sort(byAge).slice(1))
    .filter((pod) => !isTerminating(pod));
}

function placementChanged(node: Node, before: Node): boolean {
  return (
    !deepEqual(node.metadata.labels, before.metadata.labels) ||
    !deepEqual(node.spec?.taints, before.spec?.taints) ||
    node.spec?.unschedulable !== before.spec?.unschedulable
  );
}

/** Whether a daemon pod should be started on the node, and whether one that is there may stay. */
function fitOfDaemon(set: DaemonSet, node: Node): { run: boolean; keep: boolean } {
  const { spec } = set.spec.template;
  const none = { run: false, keep: false };
  if (spec.nodeName !== undefined && spec.nodeName !== node.metadata.name) return none;
  const labels = node.metadata.labels ?? {};
  const selector = spec.nodeSelector ?? {};
  for (const key in selector) if (labels[key] !== selector[key]) return none;
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const fields = { "metadata.name": node.metadata.name };
  if (terms?.some((term) => matchesNodeSelectorTerm(term, labels, fields)) === false) return none;
  const taints = node.spec?.taints ?? [];
  const tolerations = daemonTolerations(set);
  const noExecute = firstUntolerated(tolerations, taints, { effects: ["NoExecute"] });
  const noSchedule = firstUntolerated(tolerations, taints, { effects: ["NoSchedule"] });
  return {
    run: noExecute === undefined && noSchedule === undefined,
    keep: noExecute === undefined,
  };
}

function daemonTolerations(set: DaemonSet): readonly Toleration[] {
  const { spec } = set.spec.template;
  const added =
    spec.hostNetwork === true
      ? [...DAEMON_TOLERATIONS, HOST_NETWORK_TOLERATION]
      : DAEMON_TOLERATIONS;
  return [...(spec.tolerations ?? []), ...added];
}

/** The pod's affinity with every required term narrowed to one node. */
function pinnedTo(nodeName: string, pod: Pod): NonNullable<Pod["spec"]["affinity"]> {
  const { affinity } = pod.spec;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const pin = [{ key: "metadata.name", operator: "In" as const, values: [nodeName] }];
  // The real controller replaces the terms: that the node matches them was checked before.
  const nodeSelectorTerms: NodeSelectorTerm[] =
    required === undefined
      ? [{ matchFields: pin }]
      : required.nodeSelectorTerms.map((term) => ({
          ...term,
          matchFields: [...(term.matchFields ?? []), ...pin],
        }));
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  };
}

/** Pods by the node they are on, or are meant for while they wait. */
function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const result = new Map<string, Pod[]>();
  for (const pod of pods) {
    const name = pod.spec.nodeName ?? targetOf(pod);
    if (name === undefined) continue;
    const list = result.get(name) ?? [];
    list.push(pod);
    result.set(name, list);
  }
  return result;
}

function targetOf(pod: Pod): string | undefined {
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const term of required?.nodeSelectorTerms ?? []) {
    const field = term.matchFields?.find(({ key }) => key === "metadata.name");
    if (field !== undefined) return field.values?.[0];
  }
  return undefined;
}

function byAge(a: Pod, b: Pod): number {
  const [aAt, bAt] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (aAt !== bAt) return aAt < bAt ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
