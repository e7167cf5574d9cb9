/**
 * Keeps the state of the cluster. Nodes and claims are stored separately and joined by provider id. For each node there
 * is a view, which is made again when the node, its claim or its pods have changed. A view or list that was read before
 * does not change. The maps are kept together in one file, because most updates change several of them.
 * upstream: pkg/controllers/state/cluster.go
 */
import type { DaemonSet } from "../../apis/apps/kinds.ts";
import type { Node } from "../../apis/core/node.ts";
import { isTerminal, isTerminating, type Pod } from "../../apis/core/pod.ts";
import { poolIdOfLabels } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import type { Resources } from "../../apis/resources.ts";
import type { Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { Headroom } from "../buffers/headroom.ts";
import { ByInstance } from "./by-instance.ts";
import { type ClaimPlan, ClaimPlans, claimKey, keyOfClaim } from "./claim-plans.ts";
import type { ClusterState } from "./cluster.ts";
import { type DaemonFacts, daemonPod, LivePods } from "./daemon-pod.ts";
import { NodePods } from "./node-pods.ts";
import { isLeaving, type NodeView, nodeView } from "./node-view.ts";
import { Placements } from "./placements.ts";
import { PodAdmission } from "./pod-admission.ts";
import { PoolUsage } from "./pool-usage.ts";
import { becomesConsolidatable, mayTakeOtherPods, wasResized } from "./relevant-changes.ts";
import { Successors } from "./successors.ts";
import { ViewList } from "./view-list.ts";

/** An empty state; `controllers/state` fills it. */
export function createClusterState(): ClusterState {
  return new Cluster();
}

/** The kinds of claims of all API versions. */
const KINDS = ["NodeClaim", "Machine"] as const;

class Cluster implements ClusterState {
  readonly #nodes = new Map<string, Node>();
  /** Claims by `kind/name`, because claims of two API versions may have the same name. */
  readonly #claims = new Map<string, NodeClaim>();
  /** Keys of claims that are being created now. A key is removed when the watch reports the deletion of the claim. */
  readonly #expected = new Set<string>();
  readonly plans = new ClaimPlans();
  readonly #claimByProviderId = new ByInstance();
  readonly #nodeByProviderId = new ByInstance();
  /** Pods with a node, by key. */
  readonly #bound = new Map<string, Pod>();
  readonly #podsByNode = new Map<string, NodePods>();
  readonly #unbound = new Map<string, Pod>();
  readonly admission = new PodAdmission();
  readonly #daemons = new Map<string, DaemonFacts>();
  /** Marked nodes: names of Nodes or claims, or provider ids. */
  readonly #marked = new Set<string>();
  /** The claims that replace marked nodes. */
  readonly #successors = new Successors();
  readonly #nominated = new Map<string, number>();
  /** For each unlaunched claim (by name) of which {@link promise} was called: when that was. */
  readonly #promises = new Map<string, number>();
  readonly placements = new Placements();
  readonly headroom = new Headroom();
  #isRecalled = false;
  /** Views by node name, or by `kind/name` of a claim without a Node. A view that is absent must be made again. */
  readonly #views = new Map<string, NodeView>();
  readonly #list = new ViewList();
  readonly #usage = new PoolUsage();
  #unboundCache: readonly Pod[] | undefined;
  #daemonCache: readonly Pod[] | undefined;
  /** The revision of `admission` when the cached daemon pods were made. */
  #daemonsAt = 0;
  #unlaunched = 0;
  #revision = 0;

  updateClaim(stored: NodeClaim): void {
    const key = keyOfClaim(stored);
    const known = this.#claims.get(key);
    if (isStale(stored, known)) return;
    const claim = this.plans.applyTo(stored);
    if (known === undefined || becomesConsolidatable(known, claim)) this.#revision++;
    if (known !== undefined) this.#forgetClaim(key, known);
    this.#claims.set(key, claim);
    const providerId = claim.status?.providerID;
    if (providerId) this.#claimByProviderId.add(providerId, key);
    if (isUnlaunched(claim)) this.#unlaunched++;
    else this.#promises.delete(claim.metadata.name);
    if (known?.metadata.deletionTimestamp !== claim.metadata.deletionTimestamp) this.#revision++;
    if (known?.status?.providerID !== providerId) this.#noteJoined(providerId);
    this.#touchClaim(key, claim);
  }

  expectClaim(plan: ClaimPlan): (created: NodeClaim | undefined) => void {
    const key = keyOfClaim(plan.claim);
    this.#expected.add(key);
    this.plans.begin(plan);
    return (created) => {
      if (!this.#expected.delete(key)) return;
      this.plans.created(plan, created);
      if (created !== undefined) this.updateClaim(created);
    };
  }

  deleteClaim(name: string, kind: string): void {
    const key = claimKey(kind, name);
    this.#expected.delete(key);
    this.plans.forget(key);
    const known = this.#claims.get(key);
    if (known === undefined) return;
    this.#forgetClaim(key, known);
    this.#claims.delete(key);
    this.#promises.delete(name);
    this.placements.targetGone(name);
    this.#marked.delete(name);
    this.#marked.delete(known.status?.providerID ?? "");
    this.#successors.forget(name);
    this.#nominated.delete(name);
    this.#revision++;
    this.#touchClaim(key, known);
  }

  updateNode(node: Node): void {
    const name = node.metadata.name;
    if (isStale(node, this.#nodes.get(name))) return;
    // A Node was created again under the same name. So facts about the old Node are dropped.
    if (this.#nodes.get(name)?.metadata.uid !== node.metadata.uid) this.deleteNode(name);
    const known = this.#nodes.get(name);
    if (known === undefined || mayTakeOtherPods(known, node)) this.#revision++;
    if (known !== undefined) this.#forgetNode(known);
    this.#nodes.set(name, node);
    const providerId = node.spec?.providerID;
    if (providerId) {
      for (const other of this.#nodeByProviderId.all(providerId)) this.#touch(other);
      this.#nodeByProviderId.add(providerId, name);
    }
    if (known?.spec?.providerID !== providerId) this.#noteJoined(providerId);
    const before = this.#views.get(name)?.initialized;
    this.#touchNode(name);
    if (before !== undefined && before !== this.#view(name)?.initialized) this.#revision++;
  }

  deleteNode(name: string): void {
    const known = this.#nodes.get(name);
    if (known === undefined) return;
    this.#forgetNode(known);
    this.#nodes.delete(name);
    this.placements.targetGone(name);
    this.#marked.delete(name);
    this.#successors.forget(name);
    this.#nominated.delete(name);
    this.#revision++;
    this.#touchNode(name);
  }

  updatePod(pod: Pod): void {
    const key = keyOf(pod);
    const nodeName = pod.spec.nodeName || undefined;
    this.#noteDaemonPod(key, pod);
    const before = this.#podOf(key);
    if (before !== undefined && before.metadata.uid !== pod.metadata.uid)
      this.placements.gone(before);
    if (isTerminal(pod) || isTerminating(pod)) this.placements.gone(pod);
    if (isTerminal(pod)) {
      this.#removePod(key);
      return;
    }
    const bound = this.#bound.get(key)?.spec.nodeName;
    if (bound !== undefined && bound !== nodeName) this.#removePod(key);
    if (nodeName === undefined) {
      if (isStale(pod, this.#unbound.get(key))) return;
      this.#unbound.set(key, pod);
      this.#unboundCache = undefined;
      return;
    }
    if (this.#unbound.delete(key)) this.#unboundCache = undefined;
    const pods = this.#podsByNode.get(nodeName) ?? new NodePods();
    const known = this.#bound.get(key);
    if (isStale(pod, known)) return;
    this.#podsByNode.set(nodeName, pods);
    if (bound !== nodeName || known === undefined || wasResized(known, pod)) this.#revision++;
    if (bound !== nodeName) this.placements.bound(pod, () => this.#namesOf(nodeName));
    this.#bound.set(key, pod);
    pods.set(key, pod);
    this.#touchPods(nodeName);
  }

  deletePod(key: string): void {
    for (const daemon of this.#daemons.values()) {
      if (daemon.livePods.delete(key)) this.#daemonCache = undefined;
    }
    const pod = this.#podOf(key);
    if (pod !== undefined) this.placements.gone(pod);
    this.#removePod(key);
  }

  updateDaemonSet(daemonSet: DaemonSet): void {
    const key = keyOf(daemonSet);
    const known = this.#daemons.get(key);
    if (known !== undefined && isStale(daemonSet, known.daemonSet)) return;
    this.#daemons.set(key, { daemonSet, livePods: known?.livePods ?? new LivePods() });
    this.#daemonCache = undefined;
  }

  deleteDaemonSet(key: string): void {
    if (this.#daemons.delete(key)) this.#daemonCache = undefined;
  }

  markForDeletion(...names: readonly string[]): void {
    for (const name of names) this.#mark(name, true);
  }

  unmarkForDeletion(...names: readonly string[]): void {
    for (const name of names) {
      this.#successors.forget(name);
      this.#mark(name, false);
    }
  }

  replacedBy(names: readonly string[], claimNames: readonly string[]): void {
    this.#successors.set(names, claimNames);
    for (const name of names) this.#touchUsage(name);
  }

  nominate(name: string, untilMs: number): void {
    if ((this.#nominated.get(name) ?? 0) >= untilMs) return;
    this.#nominated.set(name, untilMs);
    this.#touchNamed(name);
  }

  get synced(): boolean {
    return this.#unlaunched === 0;
  }

  unlaunched(): readonly NodeClaim[] {
    if (this.#unlaunched === 0) return [];
    return [...this.#claims]
      .filter(([, claim]) => isUnlaunched(claim))
      .sort(byKey)
      .map(([, claim]) => claim);
  }

  place(name: string, pods: readonly Pod[], nowMs: number): void {
    this.placements.plan(this.node(name)?.claim?.metadata.name ?? name, pods, nowMs);
  }

  *recall(nowMs: number): Steps<void> {
    if (this.#isRecalled) return;
    this.#isRecalled = true;
    yield* this.placements.recall(this.nodes(), nowMs);
  }

  promise(claimName: string, atMs: number): void {
    const claims = KINDS.map((kind) => this.#claims.get(claimKey(kind, claimName)));
    if (!claims.some((claim) => claim !== undefined && isUnlaunched(claim))) return;
    this.#promises.set(claimName, atMs);
  }

  promisedAtMs(claimName: string): number | undefined {
    return this.#promises.get(claimName);
  }

  isPromised(pod: Pod): boolean {
    return this.#promises.has(this.placements.targetOf(pod) ?? "");
  }

  *catchUp(): Steps<void> {
    yield* this.#list.catchUp((key) => this.#shownFor(key));
    yield* this.#usage.catchUp((key) => this.#countedFor(key));
  }

  nodes(): readonly NodeView[] {
    return this.#list.snapshot((key) => this.#shownFor(key));
  }

  ownsNodes(poolId: string): boolean {
    this.nodes();
    return this.#list.ownsNodes(poolId);
  }

  node(name: string): NodeView | undefined {
    const claimed = () => KINDS.map((kind) => this.#shownFor(claimKey(kind, name)));
    return this.#shownFor(name) ?? claimed().find((view) => view !== undefined);
  }

  nodeOfInstance(providerId: string): NodeView | undefined {
    const claimed = this.#claimByProviderId.get(providerId);
    const claim = this.#claims.get(claimed ?? "");
    const node = claim ? this.#nodeOf(claim) : this.#nodeByProviderId.get(providerId);
    const key = node ?? claimed;
    return key === undefined ? undefined : this.#shownFor(key);
  }

  /** The view for a key. Undefined for a claim that has a Node: then the Node's name is the key of the view. */
  #shownFor(key: string): NodeView | undefined {
    const claim = this.#claims.get(key);
    if (claim !== undefined)
      return this.#nodeOf(claim) === undefined ? this.#claimView(key, claim) : undefined;
    return this.#nodes.has(key) ? this.#view(key) : undefined;
  }

  /**
   * The view that counts in the usage of its pool. A marked node counts again if its replacement is gone, because the
   * node will be kept. In upstream, other nodes may use its share of the limits until then.
   */
  #countedFor(key: string): NodeView | undefined {
    const view = this.#shownFor(key);
    if (view?.deleting !== true || isLeaving(view.node, view.claim)) return view;
    const isReplaced = this.#successors.of(view.name).every((claim) => this.#exists(claim));
    return isReplaced ? view : { ...view, deleting: false };
  }

  /** Whether there is a claim of this name that is not being deleted. */
  #exists(claimName: string): boolean {
    const claims = KINDS.map((kind) => this.#claims.get(claimKey(kind, claimName)));
    return claims.some((claim) => claim !== undefined && !isLeaving(undefined, claim));
  }

  unboundPods(): readonly Pod[] {
    this.#unboundCache ??= [...this.#unbound].sort(byKey).map(([, pod]) => pod);
    return this.#unboundCache;
  }

  daemonPods(): readonly Pod[] {
    const { revision } = this.admission;
    if (this.#daemonsAt !== revision) this.#daemonCache = undefined;
    this.#daemonsAt = revision;
    this.#daemonCache ??= [...this.#daemons]
      .sort(byKey)
      .map(([, facts]) => daemonPod(facts, this.admission));
    return this.#daemonCache;
  }

  poolUsage(poolId: string): Resources {
    return this.#usage.of(poolId, (key) => this.#countedFor(key));
  }

  get revision(): number {
    return this.#revision;
  }

  noteChange(): void {
    this.#revision++;
  }

  /**
   * The view of a Node. A Node with a pool's label but without a provider id has no view yet, because its claim cannot
   * be found.
   */
  #view(name: string): NodeView | undefined {
    const node = this.#nodes.get(name) as Node;
    const cached = this.#views.get(name);
    if (cached !== undefined) return cached;
    const providerId = node.spec?.providerID;
    const claimName = providerId ? this.#claimByProviderId.get(providerId) : undefined;
    const named = claimName === undefined ? undefined : this.#claims.get(claimName);
    const claim = named && this.#nodeOf(named) === name ? named : undefined;
    if (!providerId && poolIdOfLabels(node.metadata.labels ?? {}) !== undefined) return undefined;
    const view = this.#build(name, node, claim);
    this.#views.set(name, view);
    return view;
  }

  #claimView(key: string, claim: NodeClaim): NodeView {
    return within(this.#views, key, () => this.#build(key, undefined, claim));
  }

  #build(key: string, node: Node | undefined, claim: NodeClaim | undefined): NodeView {
    const names = [node?.metadata.name, claim?.metadata.name, claim?.status?.providerID];
    const nominations = names.map((name) => this.#nominated.get(name ?? "") ?? 0);
    const pods = this.#podsByNode.get(node?.metadata.name ?? "");
    return nodeView({
      node,
      claim,
      pods: pods?.list() ?? [],
      sums: pods?.sums(),
      marked: names.some((name) => name !== undefined && this.#marked.has(name)),
      nominatedUntilMs: Math.max(...nominations),
      before: this.#list.shown(key),
    });
  }

  #mark(name: string, marked: boolean): void {
    const changed = marked ? !this.#marked.has(name) : this.#marked.delete(name);
    if (!changed) return;
    if (marked) this.#marked.add(name);
    this.#revision++;
    this.#touchNamed(name);
  }

  #podOf(key: string): Pod | undefined {
    return this.#unbound.get(key) ?? this.#bound.get(key);
  }

  #removePod(key: string): void {
    if (this.#unbound.delete(key)) this.#unboundCache = undefined;
    const nodeName = this.#bound.get(key)?.spec.nodeName;
    if (nodeName === undefined) return;
    this.#bound.delete(key);
    const pods = this.#podsByNode.get(nodeName);
    pods?.delete(key);
    if (pods?.size === 0) this.#podsByNode.delete(nodeName);
    this.#revision++;
    this.#touchPods(nodeName);
  }

  #noteDaemonPod(key: string, pod: Pod): void {
    const owner = pod.metadata.ownerReferences?.find(
      (reference) => reference.kind === "DaemonSet" && reference.controller === true,
    );
    if (owner === undefined) return;
    const daemonKey = `${pod.metadata.namespace}/${owner.name}`;
    const facts = this.#daemons.get(daemonKey);
    if (facts === undefined) return;
    facts.livePods.set(key, pod);
    this.#daemonCache = undefined;
  }

  #forgetClaim(key: string, claim: NodeClaim): void {
    const providerId = claim.status?.providerID;
    if (providerId) this.#claimByProviderId.delete(providerId, key);
    if (isUnlaunched(claim)) this.#unlaunched--;
  }

  #forgetNode(node: Node): void {
    const providerId = node.spec?.providerID;
    if (!providerId) return;
    this.#nodeByProviderId.delete(providerId, node.metadata.name);
    const claim = this.#claimByProviderId.get(providerId);
    if (claim !== undefined) this.#touch(claim);
    for (const other of this.#nodeByProviderId.all(providerId)) this.#touch(other);
  }

  /** The name of the Node and the name of its claim. */
  #namesOf(nodeName: string): readonly string[] {
    const providerId = this.#nodes.get(nodeName)?.spec?.providerID ?? "";
    const key = this.#claimByProviderId.get(providerId) ?? "";
    const claim = this.#claims.get(key);
    return claim === undefined ? [nodeName] : [nodeName, claim.metadata.name];
  }

  /** The Node of the claim. If several Nodes have its provider id, the one that it names counts. */
  #nodeOf({ status: { providerID = "", nodeName = "" } = {} }: NodeClaim): string | undefined {
    const names = this.#nodeByProviderId.all(providerID);
    return names.includes(nodeName) ? nodeName : names.at(-1);
  }

  #touchClaim(key: string, claim: NodeClaim): void {
    this.#touch(key);
    for (const one of this.#successors.awaiting(claim.metadata.name)) this.#touchUsage(one);
    const providerId = claim.status?.providerID ?? "";
    for (const node of this.#nodeByProviderId.all(providerId)) this.#touch(node);
  }

  /**
   * Called when the provider id of a Node or claim becomes known. If this joins a claim with a Node that has pods
   * already, the seats that these pods have taken on the claim end.
   */
  #noteJoined(providerId = ""): void {
    const claim = this.#claims.get(this.#claimByProviderId.get(providerId) ?? "");
    const pods = this.#podsByNode.get((claim && this.#nodeOf(claim)) ?? "");
    if (claim && pods) this.placements.joined(claim.metadata.name, pods.list());
  }

  #touchNode(name: string): void {
    this.#touch(name);
    const providerId = this.#nodes.get(name)?.spec?.providerID;
    const claim = providerId ? this.#claimByProviderId.get(providerId) : undefined;
    if (claim === undefined) return;
    this.#list.touch(claim);
    this.#usage.touch(claim);
  }

  /** Records that the node's usage must be computed again. `name`: of the Node, or of the claim if there is no Node. */
  #touchUsage(name: string): void {
    this.#usage.touch(name);
    for (const kind of KINDS) this.#usage.touch(claimKey(kind, name));
  }

  /** Records that the pods of the node have changed, but not its capacity. */
  #touchPods(nodeName: string): void {
    this.#views.delete(nodeName);
    this.#list.touch(nodeName);
  }

  #touchNamed(name: string): void {
    this.#touch(name);
    for (const node of this.#nodeByProviderId.all(name)) this.#touch(node);
    for (const kind of KINDS) {
      const key = claimKey(kind, name);
      const claim = this.#claims.get(key);
      if (claim !== undefined) this.#touchClaim(key, claim);
    }
    const claimed = this.#claimByProviderId.get(name);
    if (claimed !== undefined) this.#touch(claimed);
  }

  /** Records that the view for the key must be made again. */
  #touch(key: string): void {
    this.#views.delete(key);
    this.#list.touch(key);
    this.#usage.touch(key);
  }
}

/** Whether the claim is not launched and not being deleted. Its capacity is not known yet. */
function isUnlaunched(claim: NodeClaim): boolean {
  return !claim.status?.providerID && claim.metadata.deletionTimestamp === undefined;
}

/**
 * Whether the known object is at least as new. If a resource version is missing, the incoming object counts as newer,
 * unless it is the same object.
 */
function isStale(incoming: KubeObject, known: KubeObject | undefined): boolean {
  if (known === undefined || incoming.metadata.uid !== known.metadata.uid) return false;
  const [version, ours] = [incoming.metadata.resourceVersion, known.metadata.resourceVersion];
  if (version === undefined || ours === undefined) return incoming === known;
  return Number(version) <= Number(ours);
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}
