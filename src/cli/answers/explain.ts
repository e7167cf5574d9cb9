/**
 * Answers `karpenter explain`: finds the node, claim, pod or pool in question, and describes it.
 * docs/reference/explain.md has the JSON schema of the answers.
 */
import { isTerminal } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { keyOf } from "../../apis/meta.ts";
import { formatResources } from "../../apis/resources.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { meantName } from "../../base/slips.ts";
import { atOnce } from "../../base/steps.ts";
import { type BrakeAnswer, brakeAnswer } from "../../core/answers/brake-answer.ts";
import { notReady } from "../../core/answers/coming-up.ts";
import { remedies } from "../../core/answers/fixes/remedy.ts";
import { poolObject } from "../../core/answers/hold.ts";
import { type NodeAnswer, nodeAnswer } from "../../core/answers/node-answer.ts";
import { type BoundPodAnswer, boundPodAnswer, tiesOf } from "../../core/answers/pod-answer.ts";
import { type PoolAnswer, poolAnswer } from "../../core/answers/pool-answer.ts";
import { withoutBufferPods } from "../../core/buffers/feedback.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import type { Picture } from "../../core/disruption/make-round.ts";
import { type FoundCommands, nextCommands } from "../../core/disruption/run-round.ts";
import type { NodesRefusal, SchedulingResult } from "../../core/provisioning/result.ts";
import type { PoolInput, SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import { shownBrake } from "../../core/safety/brake-condition.ts";
import { limitNotes, type Plan, type PlannedNode, planOf, type Unplaced } from "../plan/plan.ts";
import type { PlanningInput } from "../plan/planning-input.ts";
import { playBatch, settledPlan } from "../plan/played-batch.ts";
import { shortReason } from "../plan/reason-words.ts";
import { CliError } from "../program/cli-error.ts";
import type { ReadPicture } from "./read-picture.ts";
import { policiesOf } from "./repair-rules.ts";
import { unknown } from "./unknown.ts";
import { whyUnplanned } from "./unplanned-pod.ts";

/** A pod that is not bound, or has ended. */
export interface WaitingPodAnswer {
  readonly kind: "Pod";
  readonly name: string;
  readonly at: string;
  readonly says: string;
  readonly state: "pending" | "finished";
  readonly requests: Readonly<Record<string, string>>;
  readonly ties: readonly string[];
  /** Why the pod lost its planned node. Absent: it lost none, or the event is gone. */
  readonly lostNode?: string;
  /** The result of planning this pod now. Absent if it is not planned. */
  readonly plan?:
    | { readonly to: "node"; readonly node: string }
    | { readonly to: "launch"; readonly launch: PlannedNode }
    | ({ readonly to: "nowhere"; readonly existingNodes?: readonly NodesRefusal[] } & Unplaced);
}

/** All pools of the input, by kind, then name. */
export interface PoolList {
  readonly kind: "NodePoolList";
  readonly items: readonly PoolAnswer[];
}

/** The answer of `explain` about one object. */
export type ExplainAnswer = NodeAnswer | PoolAnswer | BoundPodAnswer | WaitingPodAnswer;

/** The kinds that `explain` knows. */
export type Subject = "node" | "nodeclaim" | "pod" | "nodepool";

const SUBJECTS: readonly Subject[] = ["node", "nodeclaim", "pod", "nodepool"];

const WORDS: Readonly<Record<string, Subject>> = {
  node: "node",
  nodes: "node",
  no: "node",
  nodeclaim: "nodeclaim",
  nodeclaims: "nodeclaim",
  machine: "nodeclaim",
  machines: "nodeclaim",
  pod: "pod",
  pods: "pod",
  po: "pod",
  nodepool: "nodepool",
  nodepools: "nodepool",
  provisioner: "nodepool",
  provisioners: "nodepool",
};

/** Parses the question: `node web-1`, `node/web-1`, `nodeclaim.karpenter.sh/web-1`. Kinds are as in kubectl. */
export function subjectOf(words: readonly string[]): {
  readonly subject: Subject;
  /** Name of the object. Absent: all pools. */
  readonly name?: string;
} {
  const [kind = "", name] =
    words.length === 1 ? (words[0] as string).split("/") : (words as [string, string]);
  const subject = WORDS[kind.toLowerCase().replace(/\..*/, "")];
  if (subject === undefined) {
    const meant = meantName(kind.toLowerCase(), SUBJECTS);
    const guess = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw new CliError(`"${kind}": wanted one of ${SUBJECTS.join(", ")}${guess}`);
  }
  if (subject === "nodepool" && (name === undefined || name === "")) return { subject };
  if (name === undefined || name === "" || words.length > 2)
    throw new CliError(`which ${subject}? Say its name: karpenter explain ${subject} NAME`);
  return { subject, name };
}

/** One row for each NodePool and Provisioner. */
export function explainPools(read: ReadPicture): PoolList {
  const { picture, planning } = read;
  const { unused } = planning;
  const aside = { next: atOnce(nextCommands(picture)), brake: brakeOf(read), unused };
  return {
    kind: "NodePoolList",
    items: planning.pools.map((input) => atOnce(poolAnswer(picture, input, aside))),
  };
}

/**
 * The brake on involuntary deletions of nodes, as stored on the pools. It applies to the whole cluster. Undefined:
 * it is off.
 */
export function brakeOf({ picture, manifests }: ReadPicture): BrakeAnswer | undefined {
  const shown = shownBrake(manifests.pools, picture.nowMs);
  return shown === undefined ? undefined : brakeAnswer(shown);
}

interface Question {
  readonly subject: Subject;
  readonly name: string;
  /** Returns the commands that the disruption loop would start. Absent: this function computes them. */
  readonly next?: () => FoundCommands | undefined;
}

/** Answers the question. Throws CliError if the object does not exist. */
export function explain(
  read: ReadPicture,
  { subject, name, next = () => atOnce(nextCommands(read.picture)) }: Question,
  namespace: string,
): ExplainAnswer {
  const { picture } = read;
  if (subject === "pod")
    return explainPod(read, name.includes("/") ? name : `${namespace}/${name}`);
  if (subject === "nodepool") {
    const found = read.planning.pools.find(({ pool }) => pool.name === name || pool.id === name);
    if (found === undefined) {
      const known = read.manifests.pools.map(({ metadata }) => metadata.name);
      throw new CliError(unknown("NodePool", name, known));
    }
    const aside = { next: next(), brake: brakeOf(read), unused: read.planning.unused };
    return atOnce(poolAnswer(picture, found, aside));
  }
  const node = picture.nodes.find((one) =>
    subject === "node" ? one.name === name : one.claim?.metadata.name === name,
  );
  if (node === undefined) {
    const known = picture.nodes.flatMap((one) =>
      subject === "node" ? one.name : (one.claim?.metadata.name ?? []),
    );
    throw new CliError(unknown(subject === "node" ? "Node" : "NodeClaim", name, known));
  }
  const { nodeRepair: isOn, legacyNodeRepair: isLegacy } = read.settings.gates;
  const repairs = { policies: policiesOf(node, read.settings), isOn, isLegacy };
  const answer = nodeAnswer(picture, node, next(), repairs, brakeOf(read));
  const names = [...new Set([node.name, node.claim?.metadata.name ?? node.name])];
  const waits = [...new Set(names.flatMap((one) => read.waits.get(one) ?? []))];
  return waits.length === 0 ? answer : { ...answer, waits };
}

function explainPod(read: ReadPicture, key: string): BoundPodAnswer | WaitingPodAnswer {
  const { picture, manifests, planning } = read;
  for (const node of picture.nodes) {
    const pod = node.pods.find((one) => keyOf(one) === key);
    if (pod !== undefined) return boundPodAnswer(picture, pod, node);
  }
  const pods = [...planning.input.pods.filter((one) => !isBufferPod(one)), ...manifests.pods];
  const pod = pods.find((one) => keyOf(one) === key) ?? read.podOf?.(key);
  if (pod === undefined) {
    const bound = picture.nodes.flatMap((node) => node.pods);
    throw new CliError(unknown("Pod", key, [...bound, ...pods].map(keyOf)));
  }
  const lostNode = read.lostNodes.get(key);
  const head = {
    kind: "Pod" as const,
    name: key,
    at: toRfc3339(picture.nowMs),
    requests: formatResources(podRequests(pod)),
    ties: tiesOf(pod),
    ...(lostNode === undefined ? {} : { lostNode }),
  };
  if (isTerminal(pod)) {
    const says = `${key} has ended (${pod.status?.phase ?? ""}); it holds nothing`;
    return { ...head, state: "finished", says };
  }
  if (!planning.input.pods.some((one) => keyOf(one) === key))
    return {
      ...head,
      state: "pending",
      says: `${key} is not planned for: ${whyUnplanned(pod, picture.nodes)}`,
    };
  return { ...head, state: "pending", ...planFor(read, key) };
}

function planFor(
  { picture, planning, settings }: ReadPicture,
  key: string,
): Pick<WaitingPodAnswer, "says" | "plan"> {
  const { input } = planning;
  const { result } = playBatch({ ...input, askedPod: key }, settings.planner);
  const known = remedies(input, onlyAbout(key, withoutBufferPods(result)), settledPlan);
  const timings = { parseMs: 0, solveMs: 0 };
  const plan: Plan = planOf(result, input.pods.length, timings, { remedies: known, input });
  const limits = limitNotes(plan)
    .map((note) => `; ${note}`)
    .join("");
  const host = plan.existingNodes.find(({ pods }) => pods.includes(key));
  if (host !== undefined) {
    const says = `${key} waits for ${whatOf(picture, host.node)}`;
    return { says, plan: { to: "node", node: host.node } };
  }
  const launch = plan.newNodeClaims.find(({ pods }) => pods.includes(key));
  if (launch !== undefined) {
    const { instanceType, capacityType, zone } = launch.cheapest;
    const says = `${key} waits for a node of ${launch.nodePool} (${instanceType}, ${capacityType}, ${zone})${limits}`;
    return { says, plan: { to: "launch", launch } };
  }
  const unplaced = plan.unschedulable.find(({ pod }) => pod === key);
  if (unplaced === undefined) return { says: `${key} waits for a later pass` };
  const says = `${key} has no place${whileIdle(planning, key)}: ${shortReason(unplaced.reason)}`;
  const { nodes = [] } = result.unschedulable.find(({ pod }) => keyOf(pod) === key) ?? {};
  const refusing = nodes.length === 0 ? {} : { existingNodes: nodes };
  return { says, plan: { to: "nowhere", ...unplaced, ...refusing } };
}

/** Why kube-scheduler would probably not bind the pod to this node now, or that there is room for the pod. */
function whatOf(picture: Picture, name: string): string {
  const node = picture.nodes.find((one) => one.name === name);
  const coming = node === undefined ? undefined : notReady(picture, node);
  return coming ?? `kube-scheduler: there is room for it on ${name}`;
}

/** The most pools that are not ready which a sentence names. */
const MOST_IDLE = 2;

/**
 * The note about pools that this plan did not use, such as pools that are not ready, and that would place the pod.
 * Empty if there are none.
 */
function whileIdle({ input, pools, foreign }: PlanningInput, key: string): string {
  // If no pool can be used, the reason already names each pool.
  if (input.withoutPools !== undefined) return "";
  const asked = new Set(input.pools.map(({ pool }) => pool.id));
  const idle = pools
    .filter(
      ({ pool }) =>
        !asked.has(pool.id) &&
        !foreign.has(pool.id) &&
        pool.replicas === undefined &&
        !pool.deleting,
    )
    .filter((one) => wouldPlace(one, input, key))
    .map(({ pool }) => poolObject(pool))
    .map(({ kind, name }) => `${kind} ${name}`);
  if (idle.length === 0) return "";
  if (idle.length > MOST_IDLE) return ` while ${idle.length} NodePools are not ready`;
  return ` while ${idle.join(", ")} ${idle.length === 1 ? "is" : "are"} not ready`;
}

/**
 * Whether the pool, once ready, would place the pod. A pool that is not ready may have no instance types yet: then
 * those of the other pools stand in for them. If no instance types are known at all, the answer is yes.
 */
function wouldPlace(idle: PoolInput, input: SchedulingInput, key: string): boolean {
  const others = new Map(
    input.pools.flatMap((one) => one.instanceTypes).map((type) => [type.name, type]),
  );
  const own = idle.instanceTypes;
  const instanceTypes = own.length > 0 ? own : [...others.values()];
  if (instanceTypes.length === 0) return true;
  const pools = [{ ...idle, pool: { ...idle.pool, ready: true }, instanceTypes }];
  const pods = input.pods.filter((pod) => keyOf(pod) === key);
  return settledPlan({ ...input, pods, pools }).unschedulable.length === 0;
}

/** Keeps only this pod as unschedulable, because searching fixes for many kinds of pods takes long. */
function onlyAbout(key: string, result: SchedulingResult): SchedulingResult {
  const own = result.unschedulable.find(({ pod }) => keyOf(pod) === key);
  return {
    ...result,
    unschedulable: result.unschedulable.filter(({ pools }) => pools === own?.pools),
  };
}
