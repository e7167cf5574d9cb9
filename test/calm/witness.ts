/**
 * Watches a cluster from outside and reports what must never happen. It checks each change of a claim or pod, and each
 * write of Karpenter before it arrives. It knows the API, the cloud account and the story, and shares no code with the
 * deciding core.
 * `faults` collects sentences; each begins with the time since the story's start. This file has the rules about
 * disruption marks and deletions of claims; pool-rules.ts and pod-rules.ts have the others.
 */

import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import { CLAIM_KINDS } from "../../src/apis/hub/claim.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { POD_DISRUPTION_BUDGET, type PodDisruptionBudget } from "../../src/apis/policy/kinds.ts";
import { SILENT } from "../../src/base/log.ts";
import { Random } from "../../src/base/random.ts";
import type { Mirror } from "../../src/kube/mirror/mirror.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import type { KubeRequest } from "../../src/kube/transport/transport.ts";
import type { TestWorld } from "../world.ts";
import {
  commandOf,
  cpus,
  cpusOf,
  eventOf,
  inHubWords,
  isHeld,
  isInitialized,
  isLeaving,
  isMoved,
  isReady,
  isTrue,
  reasonOf,
} from "./facts.ts";
import { PodRules } from "./pod-rules.ts";
import { PoolRules } from "./pool-rules.ts";
import type { BudgetFacts, PoolFacts } from "./pools.ts";
import { isApp } from "./unsettled.ts";
import { allowedNodes } from "./windows.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Longest time from a decision to its writes, if requests do not fail and are not slow. */
const HASTE_MS = 5_000;
const TROUBLED_HASTE_MS = 75_000;
/** The default of `--consolidation-replacement-rest`. */
const REST_MS = HOUR;

/** The smallest expireAfter of NodePools that have one. */
const EXPIRY_MS = 45 * MINUTE;

/** Key for the whole cluster, in maps whose other keys are names of NodePools. */
const EVERYWHERE = "the whole cluster";

const COMMAND = "karpenter.sh/disruption-command";
const REPLACES = "karpenter.sh/replacement-for-command";
const DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp";

export interface WitnessOptions {
  readonly world: TestWorld;
  readonly pools: readonly PoolFacts[];
  /** Budgets of the whole cluster. */
  readonly clusterBudgets?: readonly BudgetFacts[];
  /** `--expiration-spread`: nodes may expire earlier by this percentage of their time. */
  readonly expirySpreadPercent?: number;
  /** `--expiration-respects-budgets`: expired v1 nodes are replaced before they end, as in older generations. */
  readonly expiryIsReplaced?: boolean;
  /** Workloads of one replica that ask to be moved without downtime. */
  readonly surging?: readonly string[];
  /** How long a replacement is not disrupted. Absent: the default. */
  readonly restMs?: number;
  /** Whether Karpenter's requests fail or are slow, or did a moment ago. */
  readonly troubled: () => boolean;
}

export class Witness {
  readonly faults: string[] = [];
  /** Number of changes and writes that were checked. */
  steps = 0;
  /** Number of claims created so far. */
  made = 0;
  /** Writes of Karpenter that change the cluster. Leases and events are left out. */
  writes: string[] = [];
  /** Events that Karpenter sent, with repetitions. */
  said: string[] = [];
  readonly pods: Mirror<Pod>;
  readonly nodes: Mirror<Node>;
  /** The rules about NodePools and nodes. */
  readonly rules: PoolRules;
  readonly #podRules: PodRules;
  readonly #claims: readonly Mirror<KubeObject>[];
  readonly #pdbs: Mirror<PodDisruptionBudget>;
  readonly #options: WitnessOptions;
  readonly #mirrors: LiveMirrors;
  readonly #startMs: number;
  /** NodePool → its recent node counts. */
  readonly #counts = new Map<string, { atMs: number; nodes: number }[]>();
  /** Label `team` of nodes → when a pod was last bound to one. */
  readonly #boundMs = new Map<string, number>();

  constructor(options: WitnessOptions) {
    const { world } = options;
    this.#options = options;
    this.#startMs = world.clock.now();
    this.#mirrors = new LiveMirrors({
      client: world.client,
      clock: world.clock,
      random: new Random("witness"),
      log: SILENT,
    });
    this.pods = this.#mirrors.of(POD, {
      indexes: { node: ({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName]) },
    });
    this.nodes = this.#mirrors.of(NODE);
    this.#pdbs = this.#mirrors.of(POD_DISRUPTION_BUDGET);
    this.#claims = CLAIM_KINDS.map((kind) => this.#mirrors.of(kind));
    this.rules = new PoolRules({
      pools: options.pools,
      pods: this.pods,
      pdbs: this.#pdbs,
      claims: () => this.claims(),
      expiryMs: this.#expiryMs(),
      nowMs: () => world.clock.now(),
      troubled: options.troubled,
      isWounded: (claim) => this.#isWounded(claim),
      accuse: (sentence) => this.#blame(sentence),
    });
    this.#podRules = new PodRules({
      pods: this.pods,
      nodes: this.nodes,
      pdbs: this.#pdbs,
      claims: () => this.claims(),
      surging: options.surging ?? [],
      expectedPods: (app) => this.expectedPods(app),
      nowMs: () => world.clock.now(),
      troubled: options.troubled,
      accuse: (sentence) => this.#blame(sentence),
    });
    this.pods.on((event, pod, before) => this.#podChanged(event, pod, before));
    this.nodes.on((event, node) => {
      if (event === "removed") this.rules.nodeRemoved(node);
    });
    for (const mirror of this.#claims)
      mirror.on((event, claim, before) => {
        if (event === "added") this.made++;
        if (event === "updated" && before !== undefined)
          this.#claimChanged(inHubWords(claim), inHubWords(before));
      });
  }

  /** Number of evicted pods so far. */
  get evicted(): number {
    return this.#podRules.evicted;
  }

  synced(): Promise<void> {
    return this.#mirrors.synced();
  }

  close(): void {
    this.#mirrors.close();
  }

  /** NodeClaims and Machines, in the v1 shape. */
  claims(): readonly NodeClaim[] {
    return this.#claims.flatMap((mirror) => mirror.list().map(inHubWords));
  }

  accuse(sentence: string): void {
    const seconds = ((this.#options.world.clock.now() - this.#startMs) / 1_000).toFixed(1);
    this.faults.push(`${seconds} s: ${sentence}`);
  }

  /**
   * Set when Karpenter gets false answers. Rules about NodePools and pods are not checked from then on, because a
   * misled Karpenter cannot keep them. No instance may end under its pods, and the cluster must settle at the end.
   */
  isMisled = false;

  #blame(sentence: string): void {
    if (!this.isMisled) this.accuse(sentence);
  }

  /** Called before a request to terminate these instances arrives at EC2. */
  ends(instanceIds: readonly string[]): void {
    const nowMs = this.#options.world.clock.now();
    for (const id of instanceIds) {
      const isOf = (providerId = ""): boolean => providerId.endsWith(`/${id}`);
      const claim = this.claims().find(({ status }) => isOf(status?.providerID));
      if (nowMs >= Date.parse(claim?.metadata.annotations?.[DEADLINE] ?? "")) continue;
      for (const { metadata } of this.nodes.list().filter(({ spec }) => isOf(spec?.providerID))) {
        const running = this.pods
          .byIndex("node", metadata.name)
          .filter((pod) => isApp(pod) && isReady(pod) && !isLeaving(pod));
        if (running.length > 0)
          this.accuse(`${id} is to end, though ${running.length} pods run on ${metadata.name}`);
      }
    }
  }

  /** Called before a write of Karpenter arrives. */
  sees({ method, path, body }: KubeRequest): void {
    if (method === "GET" || path.includes("/leases")) return;
    const [, resource = "", name = "", subresource = ""] =
      /\/(pods|nodes|nodeclaims|machines|nodepools|provisioners|\w+)(?:\/([^/?]+))?(?:\/(\w+))?(?:\?|$)/.exec(
        path.replace(/^\/apis?\/(?:[\w.-]+\/)?v\w+\/(?:namespaces\/[^/]+\/(?=\w))?/, "/"),
      ) ?? [];
    if (resource === "events") {
      this.said.push(eventOf(name, body));
      return;
    }
    this.steps++;
    this.writes.push(
      `${method} ${resource}/${name} ${subresource} ${JSON.stringify(body ?? {}).slice(0, 300)}`,
    );
    if (resource === "pods") this.#podRules.written(method, path, name, subresource);
    if (method === "PATCH" && resource === "deployments") this.#podRules.rolledOver(name);
    if (method === "DELETE" && (resource === "nodeclaims" || resource === "machines"))
      this.#claimDeleted(name);
  }

  /** Checks rules that must always hold and are too expensive to check on each change. */
  look(): void {
    this.steps++;
    this.rules.look();
    this.#count(EVERYWHERE, this.claims());
    for (const { name } of this.#options.pools) this.#count(name, this.#claimsOf(name));
  }

  #count(name: string, own: readonly NodeClaim[]): void {
    const nowMs = this.#options.world.clock.now();
    const counts = (this.#counts.get(name) ?? []).filter(
      ({ atMs }) => nowMs - atMs <= TROUBLED_HASTE_MS,
    );
    counts.push({ atMs: nowMs, nodes: own.filter(isInitialized).length });
    this.#counts.set(name, counts);
  }

  #claimsOf(pool: string): readonly NodeClaim[] {
    return this.claims().filter(
      ({ metadata: { labels = {} } }) => labels["karpenter.sh/nodepool"] === pool,
    );
  }

  #claimChanged(claim: NodeClaim, before: NodeClaim): void {
    this.steps++;
    this.rules.claimChanged(claim, before);
    const reason = reasonOf(claim);
    if (reason === undefined || reasonOf(before) !== undefined) return;
    this.onMarked(claim);
    // Each disruption mark counts as a decision at this moment, even if a new leader only continues an earlier
    // decision.
    this.#checkBudget(claim, reason);
    this.#checkRoom(claim, reason);
    this.#checkHolds(claim, reason);
    this.#checkRest(claim, reason);
    this.rules.marked(claim, reason);
  }

  #checkBudget(claim: NodeClaim, reason: string): void {
    const name = claim.metadata.labels?.["karpenter.sh/nodepool"] ?? "";
    const { pools, clusterBudgets = [] } = this.#options;
    const budgets = pools.find((one) => one.name === name)?.budgets;
    if (budgets !== undefined) this.#checkShare(claim, reason, name, this.#claimsOf(name), budgets);
    if (clusterBudgets.length > 0)
      this.#checkShare(claim, reason, EVERYWHERE, this.claims(), clusterBudgets);
  }

  #checkShare(
    claim: NodeClaim,
    reason: string,
    name: string,
    own: readonly NodeClaim[],
    budgets: readonly BudgetFacts[],
  ): void {
    const nowMs = this.#options.world.clock.now();
    const going = own.filter(
      (one) => one.metadata.name === claim.metadata.name || reasonOf(one) !== undefined,
    );
    const counted = going.filter((one) => !isTrue(one, "InstanceTerminating"));
    const counts = [
      own.filter(isInitialized).length,
      ...(this.#counts.get(name) ?? []).map(({ nodes }) => nodes),
    ];
    const nodes = Math.max(...counts);
    const allowed = Math.max(
      ...[0, 2_000, this.#hasteMs()].map((ago) =>
        allowedNodes(budgets, reason, nodes, nowMs - ago),
      ),
    );
    if (counted.length > allowed)
      this.#blame(
        `${counted.length} nodes of ${name} (${counted.map((one) => one.metadata.name).join(", ")}) are disrupted at once, the last as ${reason}; of ${nodes} its budgets allow ${allowed}`,
      );
  }

  #hasteMs(): number {
    return this.#options.troubled() ? TROUBLED_HASTE_MS : HASTE_MS;
  }

  #checkHolds(claim: NodeClaim, reason: string): void {
    const nowMs = this.#options.world.clock.now();
    // Drift and expiration may disrupt a node with protected pods if it has a termination grace period. Its pods
    // are evicted only after that.
    const mustGo = reason === "Drifted" || reason === "Expired";
    if (mustGo && claim.spec.terminationGracePeriod !== undefined) return;
    // The time of the decision in whole seconds, so a second is added: do-not-disrupt of a pod may have ended
    // within it.
    const { startedAt } = commandOf(claim.metadata.annotations?.[COMMAND]);
    const decidedMs = Math.min(
      nowMs,
      startedAt === undefined ? nowMs : Date.parse(startedAt) + 1_000,
    );
    for (const pod of this.pods.byIndex("node", claim.status?.nodeName ?? "")) {
      const startMs = Date.parse(pod.status?.startTime ?? "");
      if (Number.isNaN(startMs) || nowMs - startMs < this.#hasteMs()) continue;
      if (isHeld(pod, decidedMs) && pod.metadata.deletionTimestamp === undefined)
        this.#blame(
          `${claim.metadata.name} is disrupted as ${reason}, though ${pod.metadata.name} on it may not be`,
        );
    }
  }

  /** Without replacements, pods must find room on the remaining nodes: CPU for each pod, and for all together. */
  #checkRoom(claim: NodeClaim, reason: string): void {
    const { replacements = 0 } = commandOf(claim.metadata.annotations?.[COMMAND]);
    const nodeName = claim.status?.nodeName ?? "";
    const moving = this.pods.byIndex("node", nodeName).filter((pod) => isMoved(pod));
    const team = this.nodes.get(nodeName)?.metadata.labels?.["team"];
    if (replacements > 0 || moving.length === 0 || team === undefined) return;
    // Pods that were bound after the decision may have taken the room.
    const nowMs = this.#options.world.clock.now();
    if (nowMs - (this.#boundMs.get(team) ?? Number.NEGATIVE_INFINITY) < this.#hasteMs()) return;
    const marked = new Set(
      this.claims()
        .filter((one) => isLeaving(one) || reasonOf(one) !== undefined)
        .map(({ status }) => status?.nodeName),
    );
    const room = this.nodes
      .list()
      .filter(({ metadata }) => metadata.labels?.["team"] === team && !isLeaving({ metadata }))
      .filter(({ metadata }) => metadata.name !== nodeName && !marked.has(metadata.name))
      .map((node) => this.#freeCpus(node));
    const wanted = moving.map(cpusOf);
    const sum = (all: readonly number[]) => all.reduce((before, one) => before + one, 0);
    const fits = Math.max(0, ...room) >= Math.max(...wanted) - 1e-6;
    if (!fits || sum(room) < sum(wanted) - 1e-6)
      this.#blame(
        `${claim.metadata.name} is disrupted as ${reason}, and nothing comes in its place: its pods want ${wanted.join(" + ")} CPUs, other nodes have ${room.join(" + ") || "none"}`,
      );
  }

  #freeCpus(node: Node): number {
    const used = this.pods
      .byIndex("node", node.metadata.name)
      .filter(({ metadata, status }) => {
        const isOver = status?.phase === "Succeeded" || status?.phase === "Failed";
        return metadata.deletionTimestamp === undefined && !isOver;
      })
      .map(cpusOf);
    const all = cpus(node.status?.allocatable?.["cpu"]);
    return used.reduce((left, one) => left - one, all);
  }

  /** A replacement is not disrupted for a while, so that there is no chain A→B→A. */
  #checkRest({ metadata }: NodeClaim, reason: string): void {
    const made = metadata.annotations?.[REPLACES] !== undefined;
    const { replacements = 0 } = commandOf(metadata.annotations?.[COMMAND]);
    const { world, restMs = REST_MS } = this.#options;
    const ageMs = world.clock.now() - Date.parse(metadata.creationTimestamp ?? "");
    if (made && reason === "Underutilized" && replacements > 0 && ageMs < restMs)
      this.#blame(
        `${metadata.name} came in place of another ${ageMs} ms ago and is replaced again`,
      );
  }

  #claimDeleted(name: string): void {
    const claim = this.claims().find(({ metadata }) => metadata.name === name);
    if (claim === undefined || isLeaving(claim)) return;
    // An instance that is being reclaimed or has expired does not wait for its replacement.
    if (this.#mayGo(claim)) return;
    const reason = reasonOf(claim);
    if (reason === undefined) {
      this.#blame(`${name} is deleted, and nothing says why`);
      return;
    }
    this.rules.asked(claim, reason, this.nodes.get(claim.status?.nodeName ?? ""));
    const { id, replacements = 0 } = commandOf(claim.metadata.annotations?.[COMMAND]);
    const ready = this.claims().filter(
      (one) => one.metadata.annotations?.[REPLACES] === id && isInitialized(one),
    );
    if (ready.length < replacements)
      this.#blame(
        `${name} (${reason}) is deleted with ${ready.length} of ${replacements} replacements ready`,
      );
  }

  /** Whether the claim ends for another reason than a decision about a healthy node. */
  #mayGo(claim: NodeClaim): boolean {
    const nowMs = this.#options.world.clock.now();
    if (!isTrue(claim, "Registered")) return true;
    const name = claim.metadata.labels?.["karpenter.sh/nodepool"];
    const pool = this.#options.pools.find((one) => one.name === name);
    const ageMs = nowMs - Date.parse(claim.metadata.creationTimestamp ?? "");
    const isReplaced = pool?.generation !== "v1" || this.#options.expiryIsReplaced === true;
    if (pool?.expires === true && !isReplaced && ageMs >= this.#expiryMs()) return true;
    const node = this.nodes.get(claim.status?.nodeName ?? "");
    if (node === undefined || node.metadata.deletionTimestamp !== undefined) return true;
    return this.#isWounded(claim);
  }

  #expiryMs(): number {
    return EXPIRY_MS * (1 - (this.#options.expirySpreadPercent ?? 0) / 100);
  }

  #isWounded({ status }: NodeClaim): boolean {
    return this.#wounded.has(status?.providerID?.split("/").at(-1) ?? "");
  }

  readonly #wounded = new Set<string>();

  /**
   * Called when the cloud or a person ended this instance. Karpenter's reaction to that is no decision of Karpenter.
   */
  wounds(instanceId: string): void {
    this.#wounded.add(instanceId);
  }

  #podChanged(event: string, pod: Pod, before: Pod | undefined): void {
    this.steps++;
    this.rules.podChanged(event, pod, before);
    this.#podRules.changed(event, pod, before);
    if (
      event === "updated" &&
      before?.spec.nodeName === undefined &&
      pod.spec.nodeName !== undefined
    )
      this.#boundMs.set(pod.spec.nodeSelector?.["team"] ?? "", this.#options.world.clock.now());
  }

  /** Called when a node is marked for disruption. Set by the player of the story. */
  onMarked: (claim: NodeClaim) => void = () => undefined;

  /** Replicas that the story set last, by app. Set by the player of the story. */
  expectedPods: (app: string) => number = () => 0;
}
