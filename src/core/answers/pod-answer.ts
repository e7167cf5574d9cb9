/**
 * The answer about a running pod: where it runs, what limits where it may run, how it protects its node, and where it
 * would go if its node were removed. For a pending pod, the plan has the reasons (`karpenter plan`).
 */
import {
  isActive,
  isOwnedByDaemonSet,
  isOwnedByNode,
  isTerminating,
  type Pod,
} from "../../apis/core/pod.ts";
import { doNotDisrupt, isReschedulable } from "../../apis/core/pod-predicates.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { claimGeneration, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { keyOf } from "../../apis/meta.ts";
import { budgetsOf, pdbBlock } from "../../apis/policy/pdb.ts";
import { formatResources } from "../../apis/resources.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { objectName } from "../disruption/candidates.ts";
import type { Picture } from "../disruption/make-round.ts";
import type { NodeView } from "../state/node-view.ts";
import { type LaunchFacts, launchFacts } from "./command-answer.ts";
import type { Hold } from "./hold.ts";
import { holdsOf } from "./holds.ts";
import { type Owned, ownedNode } from "./owned-node.ts";

/** The answer of `karpenter explain pod` for a running pod. */
export interface BoundPodAnswer {
  readonly kind: "Pod";
  /** The name in the form `namespace/name`. */
  readonly name: string;
  readonly at: string;
  readonly says: string;
  readonly state: "running";
  readonly node: string;
  readonly nodePool?: string;
  readonly requests: Readonly<Record<string, string>>;
  /** Whether the pod would be created again elsewhere if its node were removed. */
  readonly movable: boolean;
  /** The fields of the pod that limit where it may run. */
  readonly ties: readonly string[];
  /** The reasons of this pod for which its node is not disrupted. */
  readonly holds: readonly Pick<Hold, "block" | "says" | "by" | "until">[];
  /** The PodDisruptionBudgets that select the pod. */
  readonly guards: readonly { readonly name: string; readonly disruptionsAllowed: number }[];
  /**
   * Why the pod cannot be moved without downtime, although its annotation requests that. Absent: it can, or there is no
   * request.
   */
  readonly noMoveWithoutDowntime?: string;
  /** All reasons why the pod's node is not disrupted. */
  readonly nodeHolds: readonly Hold[];
  /** Where the pod would go if its node were removed now. */
  readonly elsewhere?:
    | { readonly to: "node"; readonly node: string }
    | { readonly to: "launch"; readonly launch: LaunchFacts }
    | { readonly to: "nowhere"; readonly why: string };
}

/** The answer about a running pod. Simulates the removal of its node. */
export function boundPodAnswer(picture: Picture, pod: Pod, node: NodeView): BoundPodAnswer {
  const owned = ownedNode(picture, node);
  const elsewhere = elsewhereOf(picture, pod, owned?.candidate);
  const own = holdsOfPod(picture, pod);
  const surgeProblem = picture.surgeProblem(pod);
  return {
    kind: "Pod",
    name: keyOf(pod),
    at: toRfc3339(picture.nowMs),
    says: sentence(pod, node, own, elsewhere, owned),
    state: "running",
    node: node.name,
    ...(owned?.pool === undefined ? {} : { nodePool: owned.pool.name }),
    requests: formatResources(podRequests(pod)),
    movable: isReschedulable(pod),
    ties: tiesOf(pod),
    holds: own,
    guards: budgetsOf(pod, picture.pdbs).map((pdb) => ({
      name: keyOf(pdb),
      disruptionsAllowed: pdb.status?.disruptionsAllowed ?? 0,
    })),
    ...(surgeProblem === undefined ? {} : { noMoveWithoutDowntime: surgeProblem }),
    nodeHolds: owned === undefined ? [] : holdsOf(picture, owned),
    ...(elsewhere === undefined ? {} : { elsewhere }),
  };
}

function holdsOfPod({ nowMs, pdbs }: Picture, pod: Pod): BoundPodAnswer["holds"] {
  const holds: Pick<Hold, "block" | "says" | "by" | "until">[] = [];
  const verdict = isActive(pod) ? doNotDisrupt(pod, nowMs) : { kind: "none" as const };
  if (verdict.kind === "always")
    holds.push({ block: "pod", says: "its annotation forbids disruption of its node" });
  if (verdict.kind === "until") {
    const until = toRfc3339(verdict.untilMs);
    holds.push({ block: "pod", says: "its annotation forbids disruption of its node", until });
  }
  const block = isReschedulable(pod) && isActive(pod) ? pdbBlock(pod, pdbs) : undefined;
  if (block !== undefined) {
    const by = objectName("PodDisruptionBudget", block.pdbs[0] ?? "");
    const says =
      block.reason === "multiple"
        ? "more than one PodDisruptionBudget guards it: the API server evicts no such pod"
        : "its PodDisruptionBudget allows no disruption now";
    holds.push({ block: "pdb", says, by });
  }
  return holds;
}

/** The fields of the pod that limit where it may run, in words. */
export function tiesOf({ spec }: Pod): readonly string[] {
  const ties: string[] = [];
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {}))
    ties.push(`nodeSelector ${key}=${value}`);
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  if (nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined)
    ties.push("required node affinity");
  for (const [name, terms] of [
    ["pod affinity", podAffinity?.requiredDuringSchedulingIgnoredDuringExecution],
    ["pod anti-affinity", podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution],
  ] as const) {
    for (const { topologyKey } of terms ?? []) ties.push(`required ${name} by ${topologyKey}`);
  }
  for (const { topologyKey, whenUnsatisfiable } of spec.topologySpreadConstraints ?? [])
    if (whenUnsatisfiable === "DoNotSchedule") ties.push(`spread over ${topologyKey}`);
  for (const { persistentVolumeClaim } of spec.volumes ?? [])
    if (persistentVolumeClaim !== undefined)
      ties.push(`volume claim ${persistentVolumeClaim.claimName}`);
  return ties;
}

function elsewhereOf(
  { simulator }: Picture,
  pod: Pod,
  candidate: Parameters<Picture["simulator"]["without"]>[0][number] | undefined,
): BoundPodAnswer["elsewhere"] {
  if (candidate === undefined || !isReschedulable(pod)) return undefined;
  const key = keyOf(pod);
  const { placements, replacements, unplaced } = simulator.without([candidate]);
  const host = placements.find(({ pods }) => pods.some((one) => keyOf(one) === key));
  if (host !== undefined) return { to: "node", node: host.nodeName };
  const launch = replacements.find(({ pods }) => pods.some((one) => keyOf(one) === key));
  if (launch !== undefined) return { to: "launch", launch: launchFacts(launch) };
  const why = unplaced.find((text) => text.startsWith(`${key} => `)) ?? unplaced[0];
  return { to: "nowhere", why: why ?? "no place was found for it" };
}

function sentence(
  pod: Pod,
  node: NodeView,
  [hold]: BoundPodAnswer["holds"],
  elsewhere: BoundPodAnswer["elsewhere"],
  owned: Owned | undefined,
): string {
  const head = `${keyOf(pod)} runs on ${node.name}`;
  if (isOwnedByDaemonSet(pod))
    return `${head}; a DaemonSet owns it, so it does not protect the node`;
  if (isOwnedByNode(pod))
    return `${head}; it mirrors a static pod, so it does not protect the node`;
  if (hold !== undefined) {
    const by =
      hold.by === undefined ? "" : ` (${hold.by.kind} ${hold.by.namespace}/${hold.by.name})`;
    const until = hold.until === undefined ? "" : `, until ${hold.until}`;
    return `${head} and protects it: ${hold.says}${by}${until}`;
  }
  if (elsewhere === undefined) return `${head}${whyNoOther(pod, owned)}`;
  if (elsewhere.to === "node")
    return `${head}; if that node is removed, the pod goes to ${elsewhere.node}`;
  if (elsewhere.to === "nowhere") return `${head}; if that node is removed, the pod has no place`;
  const { instanceType, capacityType } = elsewhere.launch;
  return `${head}; if that node is removed, a new one is launched (${instanceType}, ${capacityType})`;
}

/** Why the answer does not say where the pod would go instead. */
function whyNoOther(pod: Pod, owned: Owned | undefined): string {
  if (isTerminating(pod)) return " and is being deleted: it wants no other place";
  if (owned === undefined) return ", a node that is not Karpenter's";
  const { claim } = owned;
  const poolId = poolIdOfClaim(claim);
  if (poolId === undefined) return ", a node without a NodePool";
  // The state of the cluster may come from files without the pool. So this does not say that the pool was deleted.
  const name = poolId.slice(poolId.indexOf("/") + 1);
  return `, a node whose ${vocabulary(claimGeneration(claim)).poolKind} ${name} is not there`;
}
