/**
 * What has not settled after faults ended: pods that do not run, nodes and claims that are leaving or never became
 * ready, instances without a claim. Returns sentences about what can be seen from outside; the list should be empty.
 */
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import type { AppFacts } from "./apps.ts";
import { isInitialized, isLeaving, isReady } from "./facts.ts";
import type { PoolFacts } from "./pools.ts";

/** Milliseconds after a refused eviction before Karpenter may request it again. */
const ASKED_AGAIN_MS = 10_000;

export interface Seen {
  readonly apps: readonly Pick<AppFacts, "name" | "pool" | "manifests">[];
  readonly pools: readonly Pick<PoolFacts, "name" | "cpuLimit" | "nodeLimit" | "replicas">[];
  /** The wanted number of replicas of each app. */
  readonly wanted: ReadonlyMap<string, number>;
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  readonly claims: readonly NodeClaim[];
}

export function unsettled(seen: Seen): readonly string[] {
  const { claims, pools } = seen;
  const { atLimit, short, mayLeave } = waitsOf(seen);
  const nodes = seen.nodes.filter(isOurs);
  const claimed = new Set(claims.map(({ status }) => status?.nodeName));
  return [
    // Pods may be pending forever if their NodePool's limit leaves no room.
    ...short
      .filter(({ app }) => !atLimit.has(app))
      .map(({ app, count, run }) => `${run} of ${count} pods of ${app} run`),
    ...pools.flatMap(({ name, replicas }) => {
      const own = claims.filter(
        ({ metadata }) => metadata.labels?.["karpenter.sh/nodepool"] === name,
      );
      return replicas === undefined || own.length === replicas
        ? []
        : [`${own.length} nodes of ${name}, which keeps ${replicas}`];
    }),
    ...nodes
      .filter(({ metadata }) => !claimed.has(metadata.name))
      .map(({ metadata }) => `node ${metadata.name} without a claim`),
    ...nodes
      .filter((node) => isLeaving(node) && mayLeave(node.metadata.name))
      .map(({ metadata }) => `node ${metadata.name} still leaves`),
    ...nodes
      .filter((node) => isMarked(node) && !(isLeaving(node) && !mayLeave(node.metadata.name)))
      .map(({ metadata }) => `node ${metadata.name} is closed`),
    ...claims
      .filter((claim) => isLeaving(claim) && mayLeave(claim.status?.nodeName))
      .map(({ metadata }) => `claim ${metadata.name} still leaves`),
    ...claims
      .filter((claim) => !isInitialized(claim))
      .map(({ metadata }) => `claim ${metadata.name} is not initialized`),
    ...claims
      .filter(({ status }) => status?.conditions?.some(({ type }) => type === "DisruptionReason"))
      // A claim that is being deleted and cannot leave may keep its disruption mark, because its command is
      // finished.
      .filter((claim) => !(isLeaving(claim) && !mayLeave(claim.status?.nodeName)))
      .map(({ metadata }) => `claim ${metadata.name} is to be disrupted`),
  ];
}

/**
 * Writes in this time, except repeated evictions. Pods that a PodDisruptionBudget keeps on a leaving node forever are
 * evicted again every ten seconds, as by upstream's queue. Each answer is 429.
 */
export function beyondAsking(
  writes: readonly string[],
  seen: Seen,
  duringMs: number,
): readonly string[] {
  const { isGuardedApp, mayLeave } = waitsOf(seen);
  const leaving = new Set(seen.nodes.filter(isLeaving).map(({ metadata }) => metadata.name));
  const isKept = ({ spec: { nodeName = "" } }: Pod) => leaving.has(nodeName) && !mayLeave(nodeName);
  const left = new Map(
    seen.pods
      .filter((pod) => isApp(pod) && !isLeaving(pod) && isKept(pod) && isGuardedApp(pod))
      .map(({ metadata }) => [metadata.name, duringMs / ASKED_AGAIN_MS + 1]),
  );
  return writes.filter((write) => {
    const name = /^POST pods\/(\S+) eviction /.exec(write)?.[1] ?? "";
    const times = left.get(name) ?? 0;
    left.set(name, times - 1);
    return times < 1;
  });
}

/** Pods that find no room because of a limit, and nodes that therefore cannot be drained. */
function waitsOf({ apps, claims, pools, wanted, ...seen }: Seen) {
  const pods = seen.pods.filter(isApp);
  const atLimit = new Set(
    apps.filter(({ pool }) => isLimited(pools, pool)).map(({ name }) => name),
  );
  const short = [...wanted]
    .map(([app, count]) => ({ app, count, run: pods.filter((pod) => runs(pod, app)).length }))
    .filter(({ count, run }) => run !== count);
  const waiting = new Set(short.map(({ app }) => app).filter((app) => atLimit.has(app)));
  const guarded = new Set(apps.filter(isGuarded).map(({ name }) => name));
  const isGuardedApp = (pod: Pod) => guarded.has(appOf(pod) ?? "");
  const stays = (node: string | undefined) =>
    isKeptForGood(
      pods.filter(({ spec }) => spec.nodeName === node),
      (pod) => waiting.has(appOf(pod) ?? "") && (isGuardedApp(pod) || asksToStay(pod)),
    );
  // With a termination deadline, no PodDisruptionBudget keeps pods forever.
  const hasDeadline = new Set(
    claims
      .filter(({ spec }) => spec.terminationGracePeriod !== undefined)
      .map(({ status }) => status?.nodeName),
  );
  const mayLeave = (node: string | undefined) => hasDeadline.has(node) || !stays(node);
  return { atLimit, short, isGuardedApp, mayLeave };
}

/**
 * Whether the node may remain forever: a PodDisruptionBudget or do-not-disrupt keeps its pods until other pods run.
 * Those pods wait for room, and the limit counts this node until it is gone. Upstream also waits until a user raises
 * the limit or removes the protection.
 */
function isKeptForGood(pods: readonly Pod[], isKept: (pod: Pod) => boolean): boolean {
  const left = pods.filter((pod) => !isLeaving(pod));
  return left.length > 0 && left.every(isKept);
}

function asksToStay({ metadata }: Pod): boolean {
  return metadata.annotations?.["karpenter.sh/do-not-disrupt"] === "true";
}

function isLimited(pools: Seen["pools"], pool: string): boolean {
  return pools.some(
    ({ name, cpuLimit, nodeLimit }) => name === pool && (cpuLimit ?? nodeLimit) !== undefined,
  );
}

function isGuarded({ manifests }: Pick<AppFacts, "manifests">): boolean {
  return manifests.some(({ kind }) => kind === "PodDisruptionBudget");
}

function runs(pod: Pod, app: string): boolean {
  return appOf(pod) === app && !isLeaving(pod) && pod.status?.phase === "Running" && isReady(pod);
}

/** Whether the node is unschedulable, or has a disruption taint of Karpenter with any effect. */
function isMarked({ spec }: Node): boolean {
  return spec?.unschedulable === true || spec?.taints?.some(isOurTaint) === true;
}

function isOurTaint({ key }: { readonly key: string }): boolean {
  return key === "karpenter.sh/disrupted" || key === "karpenter.sh/disruption";
}

/** Whether the node is Karpenter's, in any generation. */
export function isOurs({ metadata: { labels = {} } }: KubeObject): boolean {
  return (
    labels["karpenter.sh/nodepool"] !== undefined ||
    labels["karpenter.sh/provisioner-name"] !== undefined
  );
}

function appOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.["app"];
}

export function isApp(object: KubeObject): boolean {
  return appOf(object)?.startsWith("app-") === true;
}
