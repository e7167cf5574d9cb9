/**
 * The witness's rules about NodePools, nodes and instances: which nodes have drifted or expired, how long a node must
 * be quiet before consolidation, which NodePools allow only empty nodes to be removed, and what a person protects.
 * witness.ts calls it for each change. Like the witness, it reads only the documented API.
 */
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { PodDisruptionBudget } from "../../src/apis/policy/kinds.ts";
import type { Mirror } from "../../src/kube/mirror/mirror.ts";
import {
  commandOf,
  cpus,
  isClosed,
  isLeaving,
  isMoved,
  isReady,
  isTrue,
  reasonOf,
} from "./facts.ts";
import type { PoolFacts } from "./pools.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Longest time between the facts of a decision and its write. `TROUBLED`: while requests fail or are slow. */
const HASTE_MS = 5 * SECOND;
const TROUBLED_HASTE_MS = 75 * SECOND;
/**
 * Longest time from the last reading of the NodePool's template until a claim with the old template is created. The
 * plan may wait and be validated in between.
 */
const MAKING_MS = 90 * SECOND;
/** Milliseconds that a command waits for replacements that do not become ready. */
const GIVEN_UP_MS = 10 * MINUTE;
/**
 * Milliseconds by which Karpenter's view of the last pod event may be late: `lastPodEvent` is written at most every
 * ten seconds.
 */
const QUIET_SLACK_MS = 10 * SECOND + HASTE_MS;
const SECOND_LOOK_MS = 20 * SECOND;
/** Longest time from the end of a node's grace period until the node is gone. */
const OVERDUE_MS = 10 * MINUTE;
/** Longest time from a spot warning until the claim is deleted. The instance ends two minutes after the warning. */
const WARNED_MS = 45 * SECOND;

const DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp";
const COMMAND = "karpenter.sh/disruption-command";

export interface RulesOptions {
  readonly pools: readonly PoolFacts[];
  readonly pods: Pick<Mirror<Pod>, "byIndex">;
  readonly pdbs: Pick<Mirror<PodDisruptionBudget>, "on" | "list">;
  readonly claims: () => readonly NodeClaim[];
  /** The smallest age at which a node may expire: `expireAfter` less the expiration spread. */
  readonly expiryMs: number;
  readonly nowMs: () => number;
  readonly troubled: () => boolean;
  readonly isWounded: (claim: NodeClaim) => boolean;
  readonly accuse: (sentence: string) => void;
}

export class PoolRules {
  readonly #options: RulesOptions;
  /** NodePool → when its template last changed, and the label value of nodes created since. */
  readonly #changed = new Map<string, { readonly atMs: number; readonly rev: string }>();
  /** NodePool → since when its consolidation is turned off. */
  readonly #leftAloneMs = new Map<string, number>();
  /** NodePool → since when its budgets allow no voluntary disruption. */
  readonly #pausedMs = new Map<string, number>();
  /** Node → since when it has do-not-disrupt. */
  readonly #keptMs = new Map<string, number>();
  /** Node → the last time a pod came or left while no fault kept Karpenter from seeing it. */
  readonly #eventMs = new Map<string, number>();
  /** Claim → since when its node is marked for disruption. */
  readonly #markedMs = new Map<string, number>();
  /** Instance → when the cloud announced its end. */
  readonly #warnedMs = new Map<string, number>();
  /** PodDisruptionBudget → the evictions that it allowed recently, the newest last. */
  readonly #allowed = new Map<string, { readonly atMs: number; readonly pods: number }[]>();

  constructor(options: RulesOptions) {
    this.#options = options;
    options.pdbs.on((_, { metadata, status }) => {
      const known = this.#allowed.get(metadata.name) ?? [];
      known.push({ atMs: options.nowMs(), pods: status?.disruptionsAllowed ?? 0 });
      this.#allowed.set(metadata.name, known);
    });
  }

  /** Called when a person pauses or resumes a NodePool. */
  pauses(pool: string, paused: boolean): void {
    if (!paused) this.#pausedMs.delete(pool);
    else if (!this.#pausedMs.has(pool)) this.#pausedMs.set(pool, this.#options.nowMs());
  }

  /** Called when a person changed the NodePool's template. New nodes have the label value `rev`. */
  poolChanged(pool: string, rev: string): void {
    this.#changed.set(pool, { atMs: this.#options.nowMs(), rev });
  }

  /** Called when a person turned off consolidation for the NodePool. */
  leftAlone(pool: string): void {
    this.#leftAloneMs.set(pool, this.#options.nowMs());
  }

  /** Called when a person adds or removes do-not-disrupt on the node. */
  keeps(node: string, kept: boolean): void {
    if (!kept) this.#keptMs.delete(node);
    else if (!this.#keptMs.has(node)) this.#keptMs.set(node, this.#options.nowMs());
  }

  get kept(): readonly string[] {
    return [...this.#keptMs.keys()];
  }

  /** Called when the interruption queue delivers a warning for the instance. */
  warned(instanceId: string): void {
    const claim = this.#claimOf(instanceId);
    if (claim === undefined || !isTrue(claim, "Registered") || this.#options.troubled()) return;
    this.#warnedMs.set(instanceId, this.#options.nowMs());
  }

  #claimOf(instanceId: string): NodeClaim | undefined {
    return this.#options
      .claims()
      .find(({ status }) => status?.providerID?.split("/").at(-1) === instanceId);
  }

  #poolOf({ metadata }: NodeClaim): PoolFacts | undefined {
    const { labels = {} } = metadata;
    const name = labels["karpenter.sh/nodepool"] ?? labels["karpenter.sh/provisioner-name"];
    return this.#options.pools.find((one) => one.name === name);
  }

  #hasteMs(): number {
    return this.#options.troubled() ? TROUBLED_HASTE_MS : HASTE_MS;
  }

  /** Checks the rules that must hold at any time. */
  look(): void {
    const { nowMs, troubled, accuse, claims, pools } = this.#options;
    for (const { metadata } of claims()) {
      const lateMs = nowMs() - Date.parse(metadata.annotations?.[DEADLINE] ?? "");
      if (isLeaving({ metadata }) && lateMs > OVERDUE_MS && !troubled())
        accuse(`${metadata.name} is still there ${lateMs / MINUTE} min after its time was up`);
    }
    for (const pool of pools) {
      const lasting = claims().filter(
        (one) => this.#poolOf(one) === pool && !isLeaving(one) && reasonOf(one) === undefined,
      );
      if (pool.nodeLimit !== undefined && lasting.length > pool.nodeLimit)
        accuse(`${pool.name} has ${lasting.length} nodes, its limit is ${pool.nodeLimit}`);
      const cpu = lasting.reduce((sum, { status }) => sum + cpus(status?.capacity?.["cpu"]), 0);
      if (pool.cpuLimit !== undefined && cpu > pool.cpuLimit)
        accuse(`${pool.name} has ${cpu} CPUs, its limit is ${pool.cpuLimit}`);
    }
    this.#checkWarned();
  }

  #checkWarned(): void {
    const { nowMs, troubled, accuse } = this.#options;
    for (const [id, atMs] of this.#warnedMs) {
      if (!troubled() && nowMs() - atMs <= WARNED_MS) continue;
      this.#warnedMs.delete(id);
      const claim = troubled() ? undefined : this.#claimOf(id);
      if (claim !== undefined && !isLeaving(claim))
        accuse(`${claim.metadata.name} stays, though the cloud takes ${id} back in a moment`);
    }
  }

  claimChanged(claim: NodeClaim, before: NodeClaim): void {
    if (isTrue(claim, "Drifted") && !isTrue(before, "Drifted")) this.#checkDrift(claim);
    if (isTrue(claim, "Expired") && !isTrue(before, "Expired")) this.#checkExpired(claim);
    const deadline = claim.metadata.annotations?.[DEADLINE];
    if (deadline !== before.metadata.annotations?.[DEADLINE])
      this.#checkDeadline(claim, deadline ?? "");
    if (reasonOf(claim) === undefined) this.#markedMs.delete(claim.metadata.name);
  }

  /** On these days only a change of a NodePool's template causes drift, because images and offerings do not change. */
  #checkDrift(claim: NodeClaim): void {
    const { name, creationTimestamp } = claim.metadata;
    const pool = this.#poolOf(claim);
    if (pool === undefined) return;
    const changedMs = this.#changed.get(pool.name)?.atMs ?? Number.NEGATIVE_INFINITY;
    if (Date.parse(creationTimestamp ?? "") > changedMs + MAKING_MS)
      this.#options.accuse(`${name} is Drifted, and ${pool.name} has not changed since it came`);
  }

  #checkExpired(claim: NodeClaim): void {
    const { nowMs, expiryMs, accuse } = this.#options;
    const { name, creationTimestamp } = claim.metadata;
    const ageMs = nowMs() - Date.parse(creationTimestamp ?? "");
    if (this.#poolOf(claim)?.expires !== true || ageMs < expiryMs)
      accuse(`${name} is Expired at the age of ${ageMs} ms`);
  }

  /** A termination deadline must come from `terminationGracePeriod`. Broken nodes have a deadline of now. */
  #checkDeadline(claim: NodeClaim, deadline: string): void {
    if (this.#options.isWounded(claim)) return;
    const { name, deletionTimestamp } = claim.metadata;
    const minutes = Number.parseInt(claim.spec.terminationGracePeriod ?? "", 10);
    const earliestMs = Date.parse(deletionTimestamp ?? "") + minutes * MINUTE - SECOND;
    if (!(Date.parse(deadline) >= earliestMs))
      this.#options.accuse(
        `${name}, deleted ${deletionTimestamp}, is to be gone ${deadline}; its pods have ${Number.isNaN(minutes) ? "as long as they take" : `${minutes} min`}`,
      );
  }

  /** Called when a node is marked for disruption. */
  marked(claim: NodeClaim, reason: string): void {
    this.#markedMs.set(claim.metadata.name, this.#options.nowMs());
    this.#checkKept(claim, reason);
    this.#checkPause(claim, reason);
    if (reason === "Empty") this.#checkEmpty(claim);
    else if (reason === "Underutilized") this.#checkGuards(claim);
    else return;
    const pool = this.#poolOf(claim);
    if (pool === undefined) return;
    this.#checkPolicy(claim, reason, pool);
    this.#checkQuiet(claim, reason, pool);
  }

  /** Called before the claim is deleted. Pods that arrive from now on are lost or evicted at once. */
  asked({ metadata }: NodeClaim, reason: string, node: Node | undefined): void {
    if (node !== undefined && !isClosed(node))
      this.#options.accuse(`${metadata.name} (${reason}) is deleted, and its node stands open`);
  }

  #checkPause({ metadata }: NodeClaim, reason: string): void {
    const pool = metadata.labels?.["karpenter.sh/nodepool"] ?? "";
    const sinceMs = this.#pausedMs.get(pool);
    if (sinceMs === undefined) return;
    const pausedMs = this.#options.nowMs() - sinceMs;
    if (pausedMs > this.#hasteMs())
      this.#options.accuse(
        `${metadata.name} is disrupted as ${reason}, ${pool} is paused for ${pausedMs} ms`,
      );
  }

  #checkKept({ metadata, status }: NodeClaim, reason: string): void {
    const { nowMs, accuse } = this.#options;
    const keptMs = nowMs() - (this.#keptMs.get(status?.nodeName ?? "") ?? Number.POSITIVE_INFINITY);
    if (keptMs > this.#hasteMs())
      accuse(`${metadata.name} is disrupted as ${reason}, though its node is kept by hand`);
  }

  #checkPolicy({ metadata: { name } }: NodeClaim, reason: string, pool: PoolFacts): void {
    const { nowMs, accuse } = this.#options;
    const what = `${name} is disrupted as ${reason}, though`;
    if (pool.replicas !== undefined) accuse(`${what} ${pool.name} keeps its nodes`);
    if (reason === "Underutilized" && pool.onlyEmpty)
      accuse(`${what} ${pool.name} has only empty nodes taken away`);
    const leftAloneMs = nowMs() - (this.#leftAloneMs.get(pool.name) ?? Number.POSITIVE_INFINITY);
    // The command may have been decided before consolidation was turned off, and may have waited for its
    // validation.
    if (leftAloneMs > this.#hasteMs() + SECOND_LOOK_MS)
      accuse(`${what} ${pool.name} has consolidation turned off`);
  }

  #checkQuiet({ metadata, status }: NodeClaim, reason: string, pool: PoolFacts): void {
    const { nowMs, troubled, accuse } = this.#options;
    const eventMs = this.#eventMs.get(status?.nodeName ?? "") ?? Number.NEGATIVE_INFINITY;
    const quietMs = nowMs() - eventMs;
    if (quietMs < pool.quietMs - QUIET_SLACK_MS && !troubled())
      accuse(
        `${metadata.name} is disrupted as ${reason} ${quietMs} ms after a pod came or left, ${pool.name} waits ${pool.quietMs}`,
      );
  }

  /** Pods that have run on the claim's node for a while and must run elsewhere when it ends. */
  #movedPods(nodeName: string | undefined): readonly Pod[] {
    const nowMs = this.#options.nowMs();
    return this.#options.pods
      .byIndex("node", nodeName ?? "")
      .filter((pod) => isMoved(pod))
      .filter(({ status }) => nowMs - Date.parse(status?.startTime ?? "") > this.#hasteMs());
  }

  #checkEmpty({ metadata, status }: NodeClaim): void {
    const [pod] = this.#movedPods(status?.nodeName);
    if (pod !== undefined)
      this.#options.accuse(
        `${metadata.name} is disrupted as Empty, and ${pod.metadata.name} is on it`,
      );
  }

  /** If several nodes leave at the same time, a PodDisruptionBudget must allow all evictions on them together. */
  #checkGuards(claim: NodeClaim): void {
    const { id } = commandOf(claim.metadata.annotations?.[COMMAND]);
    const together = this.#options
      .claims()
      .filter((one) => reasonOf(one) !== undefined)
      .filter(({ metadata }) => commandOf(metadata.annotations?.[COMMAND]).id === id);
    if (together.length < 2) return;
    for (const { metadata, spec } of this.#options.pdbs.list()) {
      const wanted = spec.selector?.matchLabels?.["app"];
      const counts = together
        .map(({ status }) =>
          this.#movedPods(status?.nodeName).filter(
            (pod) => isReady(pod) && pod.metadata.labels?.["app"] === wanted,
          ),
        )
        .filter((pods) => pods.length > 0)
        .map((pods) => pods.length);
      const sum = counts.reduce((before, one) => before + one, 0);
      const allowed = this.#allowedOfLate(metadata.name);
      if (wanted !== undefined && counts.length > 1 && sum > allowed)
        this.#options.accuse(
          `${together.length} nodes are disrupted together (${together.map((one) => one.metadata.name).join(", ")}) with ${counts.join(" + ")} pods of ${metadata.name}, which allows ${allowed}`,
        );
    }
  }

  /** Maximum number of evictions that the budget allowed at any time since the decision may have been made. */
  #allowedOfLate(pdb: string): number {
    const sinceMs = this.#options.nowMs() - this.#hasteMs() - SECOND_LOOK_MS;
    const known = this.#allowed.get(pdb) ?? [];
    const first = known.findLastIndex(({ atMs }) => atMs <= sinceMs);
    return Math.max(0, ...known.slice(Math.max(0, first)).map(({ pods }) => pods));
  }

  podChanged(event: string, pod: Pod, before: Pod | undefined): void {
    const { nowMs, troubled, claims, accuse } = this.#options;
    const node = pod.spec.nodeName;
    if (event !== "updated" || node === undefined || pod.metadata.labels?.["app"] === undefined)
      return;
    const came = before?.spec.nodeName === undefined;
    const left = isLeaving(pod) && before !== undefined && !isLeaving(before);
    if ((came || left) && !troubled()) this.#eventMs.set(node, nowMs());
    if (!came) return;
    const claim = claims().find(({ status }) => status?.nodeName === node);
    const markedMs = this.#markedMs.get(claim?.metadata.name ?? "") ?? nowMs();
    const heldMs = nowMs() - markedMs;
    // A rollback first untaints the node. Its claim is updated one or two writes later (seed 90195).
    if (heldMs > this.#hasteMs() && heldMs < GIVEN_UP_MS)
      accuse(`${pod.metadata.name} is put on ${node}, which is to be disrupted and stands open`);
  }

  /**
   * Pods that still run when their Node is gone are lost. That is allowed only after the deadline or on a broken
   * instance.
   */
  nodeRemoved({ metadata: { name } }: Node): void {
    const { nowMs, pods, claims, accuse } = this.#options;
    const claim = claims().find(({ status }) => status?.nodeName === name);
    if (claim === undefined || this.#options.isWounded(claim)) return;
    if (nowMs() >= Date.parse(claim.metadata.annotations?.[DEADLINE] ?? "")) return;
    const lost = pods.byIndex("node", name).filter(({ metadata, status }) => {
      const isOver = status?.phase === "Succeeded" || status?.phase === "Failed";
      const endsMs = Date.parse(metadata.deletionTimestamp ?? "");
      return metadata.labels?.["app"] !== undefined && !isOver && !(nowMs() >= endsMs);
    });
    if (lost.length > 0)
      accuse(`${name} is gone, and ${lost.map((pod) => pod.metadata.name).join(", ")} ran there`);
  }

  /** At rest, all nodes of an old template must be marked as drifted. */
  atRest(): void {
    for (const claim of this.#options.claims()) {
      const pool = this.#poolOf(claim);
      const rev = this.#changed.get(pool?.name ?? "")?.rev;
      // Provisioners have no drift unless a setting enables it.
      if (pool === undefined || pool.generation === "v1alpha5" || rev === undefined) continue;
      if (claim.metadata.labels?.["rev"] !== rev && !isTrue(claim, "Drifted"))
        this.#options.accuse(
          `rests with ${claim.metadata.name}, made before ${pool.name} changed, and nothing says that it drifted`,
        );
    }
  }
}
