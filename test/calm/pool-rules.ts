/**
 * What pools, nodes and machines say of themselves, held against what is done: who drifts, whose time it is, how long
 * a node is left alone after a pod came or went, who has only empty nodes taken away, what a person keeps. Part of
 * the witness (witness.ts), told of each change by it; from the words of the API, like the rest of it.
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
/** Between what a plan was made of and the write that carries it out; `TROUBLED`: requests fail, or are slow. */
const HASTE_MS = 5 * SECOND;
const TROUBLED_HASTE_MS = 75 * SECOND;
/** From the template a claim is made of until the claim is there: a plan may wait and be looked at again. */
const MAKING_MS = 90 * SECOND;
/** Replacements that do not come are waited for so long. */
const GIVEN_UP_MS = 10 * MINUTE;
/** When a pod came or went is written down once in ten seconds; a decision may wait for its second look, 15 s. */
const QUIET_SLACK_MS = 10 * SECOND + HASTE_MS;
const SECOND_LOOK_MS = 20 * SECOND;
/** From the instant at which a node's pods are out of time until it is gone. */
const OVERDUE_MS = 10 * MINUTE;
/** From a warning of the cloud's, which leaves two minutes, until the claim is asked to go. */
const WARNED_MS = 45 * SECOND;

const DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp";
const COMMAND = "karpenter.sh/disruption-command";

export interface RulesOptions {
  readonly pools: readonly PoolFacts[];
  readonly pods: Pick<Mirror<Pod>, "byIndex">;
  readonly pdbs: Pick<Mirror<PodDisruptionBudget>, "on" | "list">;
  readonly claims: () => readonly NodeClaim[];
  /** The least age at which nodes of pools that let them expire may do so. */
  readonly expiryMs: number;
  readonly nowMs: () => number;
  readonly troubled: () => boolean;
  readonly isWounded: (claim: NodeClaim) => boolean;
  readonly accuse: (sentence: string) => void;
}

export class PoolRules {
  readonly #options: RulesOptions;
  /** Pool → when its template was changed last, and what its nodes are labelled with since. */
  readonly #changed = new Map<string, { readonly atMs: number; readonly rev: string }>();
  /** Pool → since when it has nothing consolidated. */
  readonly #leftAloneMs = new Map<string, number>();
  /** Pool → since when nothing voluntary may begin there. */
  readonly #pausedMs = new Map<string, number>();
  /** Node → since when a person keeps it. */
  readonly #keptMs = new Map<string, number>();
  /** Node → when a pod came there or left, while whoever should see it was well. */
  readonly #eventMs = new Map<string, number>();
  /** Claim → since when it is marked. */
  readonly #markedMs = new Map<string, number>();
  /** Instance → when the cloud warned of its end. */
  readonly #warnedMs = new Map<string, number>();
  /** PodDisruptionBudget → what it allowed of late, the latest last. */
  readonly #allowed = new Map<string, { readonly atMs: number; readonly pods: number }[]>();

  constructor(options: RulesOptions) {
    this.#options = options;
    options.pdbs.on((_, { metadata, status }) => {
      const known = this.#allowed.get(metadata.name) ?? [];
      known.push({ atMs: options.nowMs(), pods: status?.disruptionsAllowed ?? 0 });
      this.#allowed.set(metadata.name, known);
    });
  }

  /** A person pauses a pool, or ends its pause. */
  pauses(pool: string, paused: boolean): void {
    if (!paused) this.#pausedMs.delete(pool);
    else if (!this.#pausedMs.has(pool)) this.#pausedMs.set(pool, this.#options.nowMs());
  }

  /** A person has changed the pool's template: nodes made from now on bear `rev`. */
  poolChanged(pool: string, rev: string): void {
    this.#changed.set(pool, { atMs: this.#options.nowMs(), rev });
  }

  /** A person has turned consolidation off there. */
  leftAlone(pool: string): void {
    this.#leftAloneMs.set(pool, this.#options.nowMs());
  }

  /** A person keeps the node, or no longer does. */
  keeps(node: string, kept: boolean): void {
    if (!kept) this.#keptMs.delete(node);
    else if (!this.#keptMs.has(node)) this.#keptMs.set(node, this.#options.nowMs());
  }

  get kept(): readonly string[] {
    return [...this.#keptMs.keys()];
  }

  /** The cloud has said, where it is heard, that it takes the instance back. */
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

  /** What must hold all the time. */
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

  /** Nobody but the pool changes on these days: neither images nor what the region sells. */
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

  /** Only `terminationGracePeriod` sets one, and as long as it says; a machine that is broken has none to lose. */
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

  /** A node is to be disrupted. */
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

  /** It is about to be asked to go; what is put there from now on is lost, or evicted at once. */
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
    // It may have been decided, and wait for its second look.
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

  /** Pods that have been on the claim's node for a moment and have to be somewhere else. */
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

  /** Nodes that go together: no budget counts on the same eviction for two of them. */
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

  /** The most that the budget allowed since what is done now can have been decided. */
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
    // A command that is given up opens the node first; that its claim says so may take a write or two more (seed 90195).
    if (heldMs > this.#hasteMs() && heldMs < GIVEN_UP_MS)
      accuse(`${pod.metadata.name} is put on ${node}, which is to be disrupted and stands open`);
  }

  /** Whose node goes while they run are lost, whatever guards them; unless their time is up or the machine is broken. */
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

  /** Nothing is left to be done: who is of an old template is known to be. */
  atRest(): void {
    for (const claim of this.#options.claims()) {
      const pool = this.#poolOf(claim);
      const rev = this.#changed.get(pool?.name ?? "")?.rev;
      // Provisioners know no drift, unless that is turned on.
      if (pool === undefined || pool.generation === "v1alpha5" || rev === undefined) continue;
      if (claim.metadata.labels?.["rev"] !== rev && !isTrue(claim, "Drifted"))
        this.#options.accuse(
          `rests with ${claim.metadata.name}, made before ${pool.name} changed, and nothing says that it drifted`,
        );
    }
  }
}
