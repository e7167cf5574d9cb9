/**
 * Risks of a plan that its price does not show: what one interruption or the outage of one zone would stop together.
 * The plan is not changed. A risk names the field of the workload that would avoid it.
 */

import { deploymentNameOf, type Pod } from "../../apis/core/pod.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  OS_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { controllerOf, keyOf } from "../../apis/meta.ts";
import { firstNames } from "../../base/counted.ts";
import { compareText } from "../../base/text-order.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";

/** `code` is for programs, `text` for people. */
export interface Risk {
  readonly code: RiskCode;
  /** The workloads with the risk, such as `Deployment shop/web` or `Pod shop/once`, sorted by name. */
  readonly workloads: readonly string[];
  readonly text: string;
}

export type RiskCode =
  | "oneSpotNode"
  | "mostOnOneSpotNode"
  | "singleReplicaOnSpot"
  | "oneZone"
  | "windows";

/** Maximum number of workloads that are named in a sentence. The others are counted. */
const NAMED = 3;

/** A risk is reported if one spot node has more than one half of the replicas. */
const MOST_SHARE = 2;
const SPREAD_OVER_NODES = "spread them over kubernetes.io/hostname (topologySpreadConstraints)";

/** Where the replicas of a workload are, running and planned ones. */
interface Spread {
  replicas: number;
  readonly nodes: Set<string>;
  /** Replicas on each spot node. */
  readonly onSpot: Map<string, number>;
  readonly zones: Set<string>;
  /** Whether all replicas are on spot nodes. */
  isSpot: boolean;
  /** Whether this plan places at least one of the replicas. */
  isPlanned: boolean;
}

/** The risks. Pods of Jobs are left out: they end by themselves, and a Job starts them again. */
export function risksOf(input: SchedulingInput, result: SchedulingResult): Risk[] {
  const spreads = spreadsOf(input, result);
  const having = (holds: (spread: Spread) => boolean): [string, Spread][] =>
    [...spreads]
      .filter(([, spread]) => spread.isPlanned && holds(spread))
      .sort(([a], [b]) => compareText(a, b));
  const oneNode = having(
    ({ replicas, nodes, isSpot }) => replicas > 1 && nodes.size === 1 && isSpot,
  );
  const most = having(
    (spread) => spread.nodes.size > 1 && mostOnOne(spread) * MOST_SHARE > spread.replicas,
  );
  const single = having(({ replicas, isSpot }) => replicas === 1 && isSpot);
  const oneZone = having(
    ({ replicas, nodes, zones }) => replicas > 1 && nodes.size > 1 && zones.size === 1,
  );
  return [
    ...risk("oneSpotNode", oneNode, (names) => [
      `all replicas on one spot node: ${names}`,
      SPREAD_OVER_NODES,
    ]),
    ...risk("mostOnOneSpotNode", most, (names) => [
      `most replicas on one spot node: ${names}`,
      SPREAD_OVER_NODES,
    ]),
    ...risk("singleReplicaOnSpot", single, (names) => [
      `a single replica on a spot node: ${names}`,
      "run two replicas, or require karpenter.sh/capacity-type on-demand",
    ]),
    ...risk("oneZone", oneZone, (names) => [
      `all replicas in one zone, if the cheapest is launched: ${names}`,
      "spread them over topology.kubernetes.io/zone (topologySpreadConstraints)",
    ]),
    ...windowsRisk(result),
  ];
}

/** Whether the pod says that it is for Windows (`spec.os`). Scheduling does not read that field. */
function isOfWindows({ spec }: Pod): boolean {
  const { os } = spec as { readonly os?: { readonly name?: string } };
  return os?.name === "windows";
}

/**
 * Workloads on Windows nodes that select no operating system. kube-scheduler and Karpenter do not read
 * the image of a pod, so a pod with a Linux image is bound to such a node and does not start.
 */
function windowsRisk({ newClaims }: SchedulingResult): Risk[] {
  const found = new Set<string>();
  for (const { requirements, pods } of newClaims) {
    const os = requirements.find(({ key }) => key === OS_LABEL_KEY);
    if (os?.operator !== "In" || !(os.values ?? []).includes("windows")) continue;
    for (const pod of pods) {
      const name = workloadOf(pod) ?? `Pod ${keyOf(pod)}`;
      if (!selectsOs(pod) && !isOfWindows(pod)) found.add(name);
    }
  }
  if (found.size === 0) return [];
  const workloads = [...found].sort(compareText);
  const names = firstNames(workloads, NAMED);
  const remedy = `set ${OS_LABEL_KEY} in their nodeSelector, or taint the NodePool`;
  const text = `planned on Windows nodes, though they select no operating system: ${names}; ${remedy}`;
  return [{ code: "windows", workloads, text }];
}

function selectsOs({ spec: { nodeSelector, affinity } }: Pod): boolean {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const rules = (required?.nodeSelectorTerms ?? []).flatMap((term) => term.matchExpressions ?? []);
  return (
    nodeSelector?.[OS_LABEL_KEY] !== undefined || rules.some(({ key }) => key === OS_LABEL_KEY)
  );
}

/** Most replicas that one spot node has. */
function mostOnOne({ onSpot }: Spread): number {
  return Math.max(0, ...onSpot.values());
}

function risk(
  code: RiskCode,
  found: readonly [string, Spread][],
  words: (names: string) => readonly [string, string],
): Risk[] {
  if (found.length === 0) return [];
  const names = found.map(([name, spread]) => {
    const { replicas } = spread;
    if (code === "mostOnOneSpotNode") return `${name} (${mostOnOne(spread)} of ${replicas})`;
    return replicas === 1 ? name : `${name} (${replicas})`;
  });
  const [what, remedy] = words(firstNames(names, NAMED));
  return [{ code, workloads: found.map(([name]) => name), text: `${what}; ${remedy}` }];
}

function spreadsOf(input: SchedulingInput, result: SchedulingResult): Map<string, Spread> {
  const spreads = new Map<string, Spread>();
  const nodes = new Map(input.nodes.map((node) => [node.name, node]));
  const count = (
    pods: readonly Pod[],
    node: string,
    { zone, isSpot }: { readonly zone: string; readonly isSpot: boolean },
    isPlanned: boolean,
  ): void => {
    for (const pod of pods) {
      const name = workloadOf(pod);
      if (name === undefined) continue;
      const spread = spreads.get(name) ?? {
        replicas: 0,
        nodes: new Set<string>(),
        onSpot: new Map<string, number>(),
        zones: new Set<string>(),
        isSpot: true,
        isPlanned: false,
      };
      spread.replicas += 1;
      spread.nodes.add(node);
      if (isSpot) spread.onSpot.set(node, (spread.onSpot.get(node) ?? 0) + 1);
      spread.zones.add(zone);
      spread.isSpot &&= isSpot;
      spread.isPlanned ||= isPlanned;
      spreads.set(name, spread);
    }
  };
  const factsOf = (name: string) => {
    const labels = nodes.get(name)?.labels;
    return {
      zone: labels?.[TOPOLOGY_ZONE_LABEL_KEY] ?? "",
      isSpot: labels?.[CAPACITY_TYPE_LABEL_KEY] === "spot",
    };
  };
  for (const node of input.nodes)
    if (!node.deleting) count(node.pods, node.name, factsOf(node.name), false);
  for (const { nodeName, pods } of result.existing) count(pods, nodeName, factsOf(nodeName), true);
  result.newClaims.forEach(({ pods, cheapest }, index) => {
    const facts = { zone: cheapest.zone, isSpot: cheapest.capacityType === "spot" };
    count(pods, `new ${index}`, facts, true);
  });
  return spreads;
}

/** The workload of a pod: `Deployment shop/web`. For a ReplicaSet it is the Deployment, if the name shows it. */
function workloadOf(pod: Pod): string | undefined {
  const { namespace = "default" } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner === undefined) return `Pod ${keyOf(pod)}`;
  if (owner.kind === "Job" || owner.kind === "DaemonSet") return undefined;
  const deployment = deploymentNameOf(pod);
  if (deployment !== undefined) return `Deployment ${namespace}/${deployment}`;
  return `${owner.kind} ${namespace}/${owner.name}`;
}
