/**
 * The DaemonSet controller. It keeps one pod on each node where its template may run. The pod has a node
 * affinity to the node's name, and the scheduler binds it. Pods without an owner that match are adopted.
 * Updates replace pods within maxUnavailable.
 */
import { DAEMON_SET, type DaemonSet } from "../../../apis/apps/kinds.ts";
import { NODE, type Node } from "../../../apis/core/node.ts";
import { isTerminal, isTerminating, POD, type Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { type KubeObject, keyOf } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../../parts.ts";
import { adopt, requestsToOwnerOrAdopter } from "../adoption.ts";
import {
  createPod,
  generatedName,
  isAvailable,
  pacerOf,
  podsOwnedBy,
  removePod,
  slowStart,
  untilAvailable,
} from "../controls.ts";
import { byAge, daemonPod, fitOfDaemon, podsByNode } from "./daemon-pod.ts";
import { daemonSteps, HASH_LABEL, surges } from "./daemon-rollout.ts";
import { revisionsOf } from "./revisions.ts";

/** Milliseconds of pause for each node: with 1,000 nodes, a set is reconciled every 250 ms at most. */
const PACE_MS_PER_NODE = 0.25;

/** Keeps one pod on each eligible node. upstream: pkg/controller/daemon of Kubernetes. */
export function daemonSetController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const sets = mirrors.of(DAEMON_SET);
  const nodes = mirrors.of(NODE);
  const random = deps.random.fork("daemonset");
  const recorder = createPartRecorder(deps, "daemonset-controller");
  const pacer = pacerOf(sets, PACE_MS_PER_NODE);
  const revisions = revisionsOf(deps, DAEMON_SET, HASH_LABEL);
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const set = sets.get(`${namespace}/${name}`);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    const waitMs = pacer.waitMs(set, nodes.size, clock.now());
    if (waitMs > 0) return requeueAfter(waitMs);
    const newest = await revisions.newest(set);
    const hash = hashOf(newest) ?? "";
    await adopt(deps, DAEMON_SET, set);
    await manage(set, hash, podsByNode(podsOwnedBy(deps, set)));
    await report(set, hash);
    const pods = podsOwnedBy(deps, set);
    const inUse = new Set(pods.map(hashOf));
    await revisions.prune(
      set,
      (one) => one.metadata.name === newest.metadata.name || inUse.has(hashOf(one)),
    );
    return untilAvailable(pods, set.spec.minReadySeconds, clock.now());
  }

  async function manage(
    set: DaemonSet,
    hash: string,
    byNode: ReadonlyMap<string, readonly Pod[]>,
  ): Promise<void> {
    const changes = changesOf(set, hash, nodes.list(), byNode);
    const object = subject(DAEMON_SET, set);
    recorder.publish(...changes.ended.map(([node, pod]) => ({ object, ...endedNews(pod, node) })));
    const rollout = daemonSteps(set, hash, changes.wanted, byNode, clock.now());
    await Promise.all(
      [...new Set([...changes.remove, ...rollout.remove])].map((pod) =>
        removePod(deps, recorder, DAEMON_SET, set, pod),
      ),
    );
    await slowStart(
      [...changes.create, ...rollout.create]
        .map((node) => daemonPod(set, hash, node, generatedName(set, random)))
        .map((pod) => () => createPod(deps, recorder, DAEMON_SET, set, pod)),
    );
  }

  async function report(before: DaemonSet, hash: string): Promise<void> {
    const set = sets.get(`${before.metadata.namespace}/${before.metadata.name}`) ?? before;
    const pods = podsByNode(podsOwnedBy(deps, set));
    const status = statusOf(set, hash, nodes.list(), pods, clock.now());
    await patchObject(kube, DAEMON_SET, set, { ...set, status });
  }

  return {
    name: "daemonset",
    watches: [
      source(DAEMON_SET),
      source(POD, requestsToOwnerOrAdopter("DaemonSet", sets)),
      source(NODE, (node, event, before) =>
        mayMove(node, event, before) ? sets.list().map((set) => requestFor("DaemonSet", set)) : [],
      ),
    ],
    concurrency: 4,
    reconcile,
  };
}

/** Whether a node change can change which daemons belong on the node. */
function mayMove(node: Node, event: string, before: Node | undefined): boolean {
  return event !== "updated" || before === undefined || placementChanged(node, before);
}

/** The revision hash in the labels of a pod or of a revision. */
function hashOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[HASH_LABEL];
}

interface Changes {
  /** Names of nodes that should have a pod. */
  readonly wanted: readonly string[];
  /** Names of nodes without their pod. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Ended pods in `remove`, with their nodes. They are deleted so that new ones can be created. */
  readonly ended: readonly (readonly [node: string, pod: Pod])[];
}

/** The pods to create and delete, whatever their template is. */
function changesOf(
  set: DaemonSet,
  hash: string,
  nodes: readonly Node[],
  byNode: ReadonlyMap<string, readonly Pod[]>,
): Changes {
  const [wanted, create]: [string[], string[]] = [[], []];
  const [remove, ended]: [Pod[], [string, Pod][]] = [[], []];
  for (const node of nodes) {
    const { name } = node.metadata;
    const pods = byNode.get(name) ?? [];
    const { run, keep } = fitOfDaemon(set, node);
    if (run) wanted.push(name);
    const alive = pods.filter((pod) => !isTerminal(pod));
    for (const pod of pods.filter((one) => isTerminal(one) && !isTerminating(one))) {
      ended.push([name, pod]);
      remove.push(pod);
    }
    if (!keep) remove.push(...alive.filter((pod) => !isTerminating(pod)));
    else if (run && alive.length === 0) create.push(name);
    else remove.push(...surplus(set, hash, alive));
  }
  const names = new Set(nodes.map(({ metadata }) => metadata.name));
  // The node is gone, so no node can take these pods. upstream: getUnscheduledPodsWithoutNode; the
  // pod garbage collector deletes bound pods.
  for (const [name, pods] of byNode)
    if (!names.has(name))
      remove.push(...pods.filter((pod) => pod.spec.nodeName === undefined && !isTerminating(pod)));
  return { wanted, create, remove, ended };
}

/**
 * Pods to delete from a node that has too many. The oldest pod stays. With maxSurge, the oldest new and the
 * oldest old pod stay.
 */
function surplus(set: DaemonSet, hash: string, alive: readonly Pod[]): readonly Pod[] {
  const byHash = (isNew: boolean): readonly Pod[] =>
    alive.filter((pod) => (hashOf(pod) === hash) === isNew);
  const groups = surges(set) ? [byHash(true), byHash(false)] : [alive];
  return groups
    .flatMap((pods) => [...pods].sort(byAge).slice(1))
    .filter((pod) => !isTerminating(pod));
}

function endedNews(pod: Pod, node: string) {
  const failed = pod.status?.phase === "Failed";
  const found = `Found ${failed ? "failed" : "succeeded"} daemon pod ${keyOf(pod)} on node ${node}`;
  return {
    type: failed ? "Warning" : "Normal",
    reason: failed ? "FailedDaemonPod" : "SucceededDaemonPod",
    message: `${found}, will try to ${failed ? "kill" : "delete"} it`,
  } as const;
}

function statusOf(
  set: DaemonSet,
  hash: string,
  nodes: readonly Node[],
  byNode: ReadonlyMap<string, readonly Pod[]>,
  nowMs: number,
): NonNullable<DaemonSet["status"]> {
  const count = { desired: 0, current: 0, misscheduled: 0, ready: 0, updated: 0, available: 0 };
  for (const node of nodes) {
    // The oldest pod counts, even if it is terminating.
    const [pod] = [...(byNode.get(node.metadata.name) ?? [])].sort(byAge);
    if (!fitOfDaemon(set, node).run) {
      if (pod !== undefined) count.misscheduled++;
      continue;
    }
    count.desired++;
    if (pod === undefined) continue;
    count.current++;
    if (isReady(pod)) count.ready++;
    if (isAvailable(pod, set.spec.minReadySeconds, nowMs)) count.available++;
    if (hashOf(pod) === hash) count.updated++;
  }
  return {
    ...set.status,
    currentNumberScheduled: count.current,
    desiredNumberScheduled: count.desired,
    numberMisscheduled: count.misscheduled,
    numberReady: count.ready,
    updatedNumberScheduled: count.updated || undefined,
    numberAvailable: count.available || undefined,
    numberUnavailable: count.desired - count.available || undefined,
    observedGeneration: set.metadata.generation,
  } as NonNullable<DaemonSet["status"]>;
}

function placementChanged(node: Node, before: Node): boolean {
  return (
    !deepEqual(node.metadata.labels, before.metadata.labels) ||
    !deepEqual(node.spec?.taints, before.spec?.taints) ||
    node.spec?.unschedulable !== before.spec?.unschedulable
  );
}
