/**
 * The witness's rules about pods: which pods are evicted or deleted and when, PodDisruptionBudgets, and how often the
 * pods of a workload are moved. witness.ts calls it for each change and each write of Karpenter.
 */
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { PodDisruptionBudget } from "../../src/apis/policy/kinds.ts";
import type { Mirror } from "../../src/kube/mirror/mirror.ts";
import { isHeld, isLeaving, isReady, reasonOf, share } from "./facts.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The default of `--consolidation-max-pod-moves`. */
const MOVES_PER_POD_HOUR = 4;
/** The default of `--surge-timeout`. */
const SURGE_MS = 10 * MINUTE;
const DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp";

/** The facts that the rules read. */
interface PodFacts {
  readonly pods: Mirror<Pod>;
  readonly nodes: Mirror<Node>;
  readonly pdbs: Mirror<PodDisruptionBudget>;
  readonly claims: () => readonly NodeClaim[];
  /** Workloads of one replica that ask to be moved without downtime. */
  readonly surging: readonly string[];
  /** Replicas that the story set last, by app. */
  readonly expectedPods: (app: string) => number;
  readonly nowMs: () => number;
  /** Whether Karpenter's requests fail or are slow, or did a moment ago. */
  readonly troubled: () => boolean;
  /** Reports a broken rule. */
  readonly accuse: (sentence: string) => void;
}

/** An eviction of a pod of this owner (by UID). */
interface Moved {
  readonly atMs: number;
  readonly owner: string;
}

export class PodRules {
  /** Number of evicted pods so far. */
  evicted = 0;
  readonly #facts: PodFacts;
  readonly #moved: Moved[] = [];
  /** Owner's UID → the most pods that it had at the same time. */
  readonly #owned = new Map<string, number>();
  /** When a pod last ended or became unready without an eviction. A budget may allow less after that. */
  #disturbedMs = Number.NEGATIVE_INFINITY;

  constructor(facts: PodFacts) {
    this.#facts = facts;
  }

  /** Called before a write to a pod arrives. */
  written(method: string, path: string, name: string, subresource: string): void {
    const namespace = /namespaces\/([^/]+)\//.exec(path)?.[1] ?? "default";
    const pod = this.#facts.pods.get(`${namespace}/${name}`);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    const nowMs = this.#facts.nowMs();
    const node = this.#facts.nodes.get(pod.spec.nodeName ?? "");
    const claim = this.#facts.claims().find((one) => one.status?.nodeName === pod.spec.nodeName);
    const deadline = Date.parse(claim?.metadata.annotations?.[DEADLINE] ?? "");
    const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000;
    if (subresource === "eviction") {
      if (node !== undefined && node.metadata.deletionTimestamp === undefined)
        this.#facts.accuse(`${name} is evicted from ${node.metadata.name}, which does not leave`);
      if (isHeld(pod, nowMs))
        this.#facts.accuse(`${name} is evicted, though it may not be disrupted`);
      this.#checkSurge(pod, node, nowMs);
    } else if (method === "DELETE" && !(nowMs >= deadline - graceMs)) {
      this.#facts.accuse(`${name} is deleted past its budgets, before its node's time is up`);
    }
  }

  /** Called before a rollout of the Deployment begins, which ends its pods as an eviction does. */
  rolledOver(app: string): void {
    const nowMs = this.#facts.nowMs();
    const held = this.#facts.pods
      .list()
      .filter(({ metadata }) => metadata.labels?.["app"] === app && !isLeaving({ metadata }))
      .filter((pod) => isHeld(pod, nowMs));
    for (const { metadata } of held)
      this.#facts.accuse(`${app} is rolled over, though ${metadata.name} may not be disrupted`);
  }

  /** A pod with `surge` is evicted only after its new pod is ready, or after a timeout. */
  #checkSurge(pod: Pod, node: Node | undefined, nowMs: number): void {
    const app = pod.metadata.labels?.["app"] ?? "";
    if (!this.#facts.surging.includes(app) || !isReady(pod)) return;
    if (this.#facts.expectedPods(app) !== 1 || this.#facts.troubled()) return;
    const others = this.#facts.pods
      .list()
      .filter(
        (one) => one.metadata.labels?.["app"] === app && one.metadata.name !== pod.metadata.name,
      )
      .filter((one) => isReady(one) && one.metadata.deletionTimestamp === undefined);
    const closedMs = Date.parse(node?.metadata.deletionTimestamp ?? "");
    if (others.length === 0 && nowMs - closedMs < SURGE_MS)
      this.#facts.accuse(
        `${pod.metadata.name} is evicted, though it asks to be moved without downtime`,
      );
  }

  /** Called when a pod was added, updated or removed. */
  changed(event: string, pod: Pod, before: Pod | undefined): void {
    const nowMs = this.#facts.nowMs();
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner?.kind === "ReplicaSet") {
      const live = this.#facts.pods
        .list()
        .filter((one) => one.metadata.ownerReferences?.some(({ uid }) => uid === owner.uid));
      this.#owned.set(owner.uid, Math.max(this.#owned.get(owner.uid) ?? 0, live.length));
    }
    if (event !== "updated" || before === undefined) return;
    if (isReady(before) && !isReady(pod) && before.metadata.deletionTimestamp === undefined)
      this.#disturbedMs = nowMs;
    const leaves =
      before.metadata.deletionTimestamp === undefined &&
      pod.metadata.deletionTimestamp !== undefined;
    if (!leaves) return;
    const target = pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    if (target?.reason !== "EvictionByEvictionAPI") {
      this.#disturbedMs = nowMs;
      return;
    }
    this.evicted++;
    if (isReady(before)) this.#checkPdbs(pod, nowMs);
    if (owner !== undefined) this.#countMove(pod, owner.uid, owner.name, nowMs);
  }

  #checkPdbs(pod: Pod, nowMs: number): void {
    if (nowMs - this.#disturbedMs < 2_000) return;
    for (const { metadata, spec } of this.#facts.pdbs.list()) {
      const wanted = spec.selector?.matchLabels?.["app"];
      if (metadata.namespace !== pod.metadata.namespace) continue;
      if (wanted === undefined || wanted !== pod.metadata.labels?.["app"]) continue;
      const all = this.#facts.pods.list().filter((one) => one.metadata.labels?.["app"] === wanted);
      const healthy = all.filter(
        (one) => isReady(one) && one.metadata.deletionTimestamp === undefined,
      ).length;
      // The expected number of pods as the budget's controller counts it: from the workload's replicas.
      const expected = this.#facts.expectedPods(wanted);
      const desired =
        spec.minAvailable !== undefined
          ? share(spec.minAvailable, expected)
          : expected - share(spec.maxUnavailable ?? 0, expected);
      if (healthy < desired)
        this.#facts.accuse(
          `${pod.metadata.name} was evicted: ${healthy} healthy pods are left, ${metadata.name} wants ${desired}`,
        );
    }
  }

  #countMove(pod: Pod, owner: string, ownerName: string, nowMs: number): void {
    const claim = this.#facts.claims().find((one) => one.status?.nodeName === pod.spec.nodeName);
    if (claim === undefined || reasonOf(claim) === undefined) return;
    this.#moved.push({ atMs: nowMs, owner });
    const recent = this.#moved.filter(
      (move) => move.owner === owner && nowMs - move.atMs < HOUR,
    ).length;
    const pods = this.#owned.get(owner) ?? 1;
    // The limit holds across restarts. One command's pods may need long to leave, so one more is allowed.
    const most = (MOVES_PER_POD_HOUR + 1) * pods;
    if (recent > most)
      this.#facts.accuse(`${recent} pods of ${ownerName} (of ${pods}) were moved within an hour`);
  }
}
