/**
 * Builds the engine's input: the cluster, the pods that need a place, and the pools with their instance types. A
 * note tells what is left out.
 */
import {
  isOwnedByDaemonSet,
  isPreempting,
  isTerminating,
  type Pod,
  type TopologySpreadConstraint,
} from "../../apis/core/pod.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { returnsProblem } from "../../apis/hub/returns.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import { nodePoolProblems } from "../../apis/karpenter/nodepool-validation.ts";
import type { Provisioner } from "../../apis/karpenter/provisioner.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { isCurrentlyReschedulable } from "../../apis/policy/pdb.ts";
import { counted, firstNames } from "../../base/counted.ts";
import { meantName } from "../../base/slips.ts";
import { atOnce } from "../../base/steps.ts";
import { judgeOverlays, layOverlays } from "../../core/cloudprovider/overlays.ts";
import type { CompileSelector } from "../../core/devices/selectors.ts";
import { brokenBudgets } from "../../core/disruption/budgets.ts";
import { recordOf } from "../../core/disruption/record.ts";
import { foreignPools, kindText, noPools } from "../../core/nodepool/no-pools.ts";
import { poolLabels } from "../../core/provisioning/manifest.ts";
import type {
  PoolInput,
  SchedulingInput,
  SchedulingOptions,
} from "../../core/provisioning/scheduling-input.ts";
import type { ClusterState } from "../../core/state/cluster.ts";
import { createClusterState } from "../../core/state/create-cluster-state.ts";
import { Placements } from "../../core/state/placements.ts";
import { whyNotReady } from "../checks/why-not-ready.ts";
import { CliError } from "../program/cli-error.ts";
import type { Cloud } from "./aws-catalogue.ts";
import { expandWorkloads, fillAdmission } from "./expand-workloads.ts";
import { KNOWN_LABELS, meantLabel } from "./field-words.ts";
import { headroomPods } from "./headroom.ts";
import { withSupposedBinding } from "./immediate-classes.ts";
import type { Manifests } from "./manifests.ts";
import { valueNotes } from "./value-slips.ts";

export interface PlanSettings {
  readonly preferencePolicy: SchedulingOptions["preferencePolicy"];
  readonly minValuesPolicy: SchedulingOptions["minValuesPolicy"];
  /** The pools to use. Empty: all. */
  readonly poolNames: readonly string[];
  /** Default topology spread for pods without one. */
  readonly defaultSpread?: readonly TopologySpreadConstraint[];
  /** Whether pods that do not exist yet get the requests that VerticalPodAutoscalers recommend. */
  readonly readsRecommendations?: boolean | undefined;
  /** Reads CEL selectors of devices. Absent: pods with resource claims are not planned. */
  readonly compileSelector?: CompileSelector | undefined;
}

/** Maximum number of instance types of a pool. upstream: MaxInstanceTypes */
const MAX_INSTANCE_TYPES = 600;

export interface PlanningInput {
  readonly input: SchedulingInput;
  readonly notes: readonly string[];
  /** What the controller would refuse, though the plan goes on without it. */
  readonly warnings: readonly string[];
  /** All pools. A pool that is not used and has no nodes gets no instance types. */
  readonly pools: readonly PoolInput[];
  /** Ids of pools of other providers. */
  readonly foreign: ReadonlySet<string>;
  /** Ids of pools that have nodes. */
  readonly owners: ReadonlySet<string>;
  /** By id: why pools are not used for launches, such as a pool that is not ready. Static pools are left out. */
  readonly unused: ReadonlyMap<string, string>;
  /** The seats of earlier plans, as far as claims record them. */
  readonly seats: Placements;
}

/** The parts of the cluster state that a plan needs. */
export type PlannedState = Pick<
  ClusterState,
  "nodes" | "unboundPods" | "daemonPods" | "poolUsage" | "ownsNodes"
>;

/**
 * Builds the input. `at` is epoch milliseconds. `kept` is the state of the live cluster; without it, the state is
 * built from the manifests.
 */
export async function planningInput(
  found: Manifests,
  cloud: Cloud,
  settings: PlanSettings,
  at: number | { readonly nowMs: number; readonly kept: PlannedState | undefined },
): Promise<PlanningInput> {
  const { nowMs, kept } = typeof at === "number" ? { nowMs: at, kept: undefined } : at;
  const manifests = asRecommended(found, settings.readsRecommendations === true);
  const { verticalAutoscalers: autoscalers, services } = manifests;
  // All pods of a live cluster exist already, and a large cluster has too many to go through them again.
  const { pods, volumeClaims, ...made } =
    kept === undefined
      ? expandWorkloads(manifests)
      : { pods: kept.unboundPods(), volumeClaims: manifests.volumeClaims, notes: [] };
  const supposed = withSupposedBinding(manifests.storageClasses, volumeClaims);
  const { compileSelector: compile } = settings;
  const workloads = [...manifests.workloads, ...manifests.liveWorkloads];
  const cluster = kept ?? clusterOf(manifests, pods);
  const notes: string[] = [];
  const bare = await poolInputs(manifests, cluster, cloud, settings.poolNames, notes);
  const pools = withOverlays(bare.pools, manifests, notes);
  const room = headroomPods(manifests, pods);
  const batch = [
    ...pendingPods(cluster, notes),
    ...leavingPods(manifests, cluster, nowMs),
    ...room.pods,
  ];
  const seats = seatsIn(cluster, nowMs);
  const sticky = seats.assign(batch, nowMs);
  notes.push(
    ...made.notes,
    ...room.notes,
    ...supposed.notes,
    ...cloud.notes,
    ...unusedNotes(manifests, found),
    ...strayNotes(manifests, pods),
    ...manifests.pools.flatMap(poolNotes),
    ...valueNotes(pools, batch, cluster.nodes()),
  );
  return {
    notes,
    warnings: bare.warnings,
    pools,
    foreign: bare.foreign,
    owners: bare.owners,
    unused: bare.unused,
    seats,
    input: {
      nowMs,
      pods: batch,
      ...(sticky.size > 0 ? { sticky } : {}),
      pools: pools.filter(({ pool }) => bare.usable.has(pool.id)),
      ...(bare.usable.size > 0 ? {} : { withoutPools: bare.withoutPools }),
      ...(cloud.quotaRoom === undefined ? {} : { quotaRoom: cloud.quotaRoom() }),
      nodes: cluster.nodes(),
      daemonPods: cluster.daemonPods(),
      namespaces: namespacesOf(manifests, pods),
      volumes: volumesOf(manifests, volumeClaims, supposed.classes),
      ...(autoscalers.length === 0 ? {} : { autoscalers }),
      ...(compile === undefined ? {} : { devices: { ...manifests.devices, compile } }),
      defaultSpread: { constraints: settings.defaultSpread ?? [], services, workloads },
      options: {
        preferencePolicy: settings.preferencePolicy,
        minValuesPolicy: settings.minValuesPolicy,
        maxInstanceTypes: MAX_INSTANCE_TYPES,
        wellKnownLabels: cloud.wellKnownLabels,
      },
    },
  };
}

function volumesOf(
  { volumes, csiNodes }: Manifests,
  claims: Manifests["volumeClaims"],
  classes: Manifests["storageClasses"],
): PlanningInput["input"]["volumes"] {
  return { claims, volumes, classes, csiNodes };
}

/** How many objects a note names. */
const NAMED = 5;
const RECOMMENDATIONS_OFF =
  "VerticalPodAutoscalers have no effect: the controller does not read them (its setting read-vpa-recommendations is off)";

/** The manifests without VerticalPodAutoscalers, unless the controller reads those. */
export function asRecommended(manifests: Manifests, reads: boolean): Manifests {
  return reads ? manifests : { ...manifests, verticalAutoscalers: [] };
}

function clusterOf(manifests: Manifests, pods: readonly Pod[]): ClusterState {
  const cluster = createClusterState();
  for (const node of manifests.nodes) cluster.updateNode(node);
  for (const claim of manifests.claims) cluster.updateClaim(claim);
  fillAdmission(cluster.admission, manifests);
  for (const daemonSet of manifests.daemonSets) cluster.updateDaemonSet(daemonSet);
  for (const pod of pods) cluster.updatePod(pod);
  // Marks the nodes of running disruption commands.
  for (const claim of manifests.claims) {
    const { providerID } = claim.status ?? {};
    if (providerID && recordOf(claim) !== undefined) cluster.markForDeletion(providerID);
  }
  return cluster;
}

/**
 * Pods that need a place. A pod in a manifest has no condition from kube-scheduler, so every unbound pod counts.
 * Ended pods are not in the state.
 */
function pendingPods(cluster: PlannedState, notes: string[]): Pod[] {
  const pods = cluster
    .unboundPods()
    .filter((pod) => !isTerminating(pod) && !isOwnedByDaemonSet(pod));
  const gated = pods.filter((pod) => (pod.spec.schedulingGates ?? []).length > 0);
  if (gated.length > 0) {
    notes.push(`left out, as scheduling gates hold them: ${firstNames(gated.map(keyOf), NAMED)}`);
  }
  const nominated = pods.filter((pod) => isPreempting(pod) && !gated.includes(pod));
  if (nominated.length > 0) {
    notes.push(
      `left out, as the scheduler has nominated a node: ${firstNames(nominated.map(keyOf), NAMED)}`,
    );
  }
  return pods.filter((pod) => !gated.includes(pod) && !nominated.includes(pod));
}

/** Pods on nodes that are being deleted. They need another place, unless they must not be moved. */
function leavingPods(manifests: Manifests, cluster: PlannedState, nowMs: number): Pod[] {
  return cluster
    .nodes()
    .filter(({ deleting }) => deleting)
    .flatMap(({ pods }) => pods)
    .filter((pod) => isCurrentlyReschedulable(pod, manifests.budgets, nowMs));
}

interface UsablePools {
  readonly pools: readonly PoolInput[];
  /** Ids of pools that the plan uses. */
  readonly usable: ReadonlySet<string>;
  /** Ids of pools of other providers. */
  readonly foreign: ReadonlySet<string>;
  /** Ids of pools that have nodes. */
  readonly owners: ReadonlySet<string>;
  /** By id: why pools are not used. Static pools are left out. */
  readonly unused: ReadonlyMap<string, string>;
  /** Why no pool is used, if none is. */
  readonly withoutPools: string;
  /** The pools whose node class is missing, though the plan uses them. */
  readonly warnings: readonly string[];
}

/** Seats that the controller would remember, as far as claims record them. */
function seatsIn(cluster: PlannedState, nowMs: number): Placements {
  const seats = new Placements();
  atOnce(seats.recall(cluster.nodes(), nowMs));
  return seats;
}

async function poolInputs(
  manifests: Manifests,
  cluster: PlannedState,
  cloud: Cloud,
  names: readonly string[],
  notes: string[],
): Promise<UsablePools> {
  const all = manifests.pools.map((native) => ({ native, pool: toPool(native) }));
  for (const name of names) {
    if (!all.some(({ pool }) => isNamed(pool, name))) {
      const known = all.map(({ pool }) => pool.name).join(", ") || "none";
      throw new CliError(`--nodepool-only: no NodePool ${name} in the input; there: ${known}`);
    }
  }
  const owners = new Set(all.map(({ pool }) => pool.id).filter((id) => cluster.ownsNodes(id)));
  const pools: PoolInput[] = [];
  const usable = new Set<string>();
  const whys: string[] = [];
  const unused = new Map<string, string>();
  const warnings: string[] = [];
  for (const { native, pool } of all) {
    const isChosen = names.length === 0 || names.some((name) => isNamed(pool, name));
    const why =
      unserved(pool, cloud) ??
      unusable(pool, native) ??
      (isChosen ? invalid(pool, native, manifests, cloud) : undefined);
    const isServed = unserved(pool, cloud) === undefined;
    const missing = missingClass(pool, native, cloud);
    const stop = (pool.replicas === undefined ? why : undefined) ?? missing;
    if (stop !== undefined) unused.set(pool.id, stop);
    if (isChosen && why !== undefined) notes.push(`${pool.id}: passed over, ${why}`);
    if (isChosen && isServed) notes.push(...missingStaticNotes(pool, cluster));
    if (isChosen && why === undefined && missing !== undefined)
      warnings.push(`${pool.id} launches nothing in a cluster: ${missing}`);
    if (isChosen && why === undefined) usable.add(pool.id);
    else if (isServed) whys.push(`${pool.id}: ${isChosen ? why : "--nodepool-only leaves it out"}`);
    const isAsked = isServed && (usable.has(pool.id) || owners.has(pool.id));
    const instanceTypes = isAsked ? await cloud.typesOf(pool) : [];
    const judged = { ...pool, ready: pool.ready || (isServed && isReadyUntold(pool, native)) };
    pools.push({ pool: judged, instanceTypes, usage: cluster.poolUsage(pool.id) });
  }
  if (all.length === 0)
    notes.push("no NodePool or Provisioner in the input: nothing can be launched");
  const every = all.map(({ pool }) => pool);
  const { nodeClassKinds } = cloud;
  const foreign = new Set(foreignPools(every, nodeClassKinds).map(({ id }) => id));
  return {
    pools,
    usable,
    foreign,
    owners,
    unused,
    withoutPools: noPools(every, nodeClassKinds, whys).text,
    warnings,
  };
}

/** The nodes that a static pool does not have yet. Pods do not decide about them, so they are in no plan. */
function missingStaticNotes({ id, replicas = 0, deleting }: Pool, cluster: PlannedState): string[] {
  const there = cluster.nodes().filter((node) => node.poolId === id && !node.deleting).length;
  const missing = deleting ? 0 : replicas - there;
  if (missing <= 0) return [];
  return [
    `${id}: with the feature gate StaticCapacity it gets ${counted(missing, "more node")}, which would take pods, too; the plan neither prices nor fills them`,
  ];
}

/** Changes prices and resources as NodeOverlays say. */
function withOverlays(
  inputs: readonly PoolInput[],
  { overlays }: Manifests,
  notes: string[],
): readonly PoolInput[] {
  if (overlays.length === 0) return inputs;
  const pools = inputs.map(({ pool, instanceTypes }) => ({
    pool,
    labels: poolLabels(pool),
    instanceTypes,
  }));
  const { accepted, rejected } = judgeOverlays(pools, overlays);
  for (const [name, { reason, message }] of rejected) {
    notes.push(`NodeOverlay ${name} has no effect: ${reason}: ${message}`);
  }
  return inputs.map((one, index) => ({
    ...one,
    instanceTypes: layOverlays(pools[index] as (typeof pools)[number], accepted),
  }));
}

function poolNotes(native: NodePool | Provisioner): string[] {
  const pool = toPool(native);
  return [...annotationNotes(native), ...misspeltNotes(pool), ...budgetNotes(pool)];
}

/** Karpenter launches nodes of a pool with an invalid budget, and never disrupts them voluntarily. */
function budgetNotes({ generation, name, disruption }: Pool): string[] {
  const broken = brokenBudgets(disruption.budgets);
  if (broken === undefined) return [];
  const pool = `${vocabulary(generation).poolKind} ${name}`;
  return [`${pool}: ${broken}; no node of it is disrupted until this is corrected`];
}

/**
 * Requirements of the pool by keys that are nearly known labels. Karpenter takes such a key for a label of the user's
 * own, so it would silently restrict nothing.
 */
function misspeltNotes({ generation, name, requirements }: Pool): string[] {
  return requirements.flatMap(({ key }) => {
    const meant = meantLabel(key);
    if (meant === undefined) return [];
    const pool = `${vocabulary(generation).poolKind} ${name}`;
    return [
      `${pool}: its requirement ${key} is a label that no instance type has; did you mean ${meant}?`,
    ];
  });
}

function isNamed(pool: Pool, name: string): boolean {
  return pool.name === name || pool.id === name;
}

/** Why a pool is not used: it belongs to another provider, so this controller ignores it. */
function unserved(pool: Pool, { nodeClassKinds }: Cloud): string | undefined {
  if (nodeClassKinds === undefined || foreignPools([pool], nodeClassKinds).length === 0)
    return undefined;
  const served = nodeClassKinds.map(kindText).join(", ");
  const article = /^[AEIOU]/.test(pool.classRef.kind) ? "an" : "a";
  return `its class is ${article} ${kindText(pool.classRef)}, which belongs to another provider (here: ${served}); to plan with it, say what it can launch with --instance-types`;
}

function unusable(pool: Pool, native: KubeObject): string | undefined {
  if (pool.deleting) return "it is being deleted";
  if (pool.replicas !== undefined) return "its number of nodes is fixed (spec.replicas)";
  const ready = condition(native, "Ready");
  if (ready?.status !== "False") return undefined;
  return `its status says that it is not ready (${whyNotReady(native, ready)})`;
}

/** That the node class is not in the input. A pool that its status calls ready has one in its cluster. */
function missingClass(
  pool: Pool,
  native: NodePool | Provisioner,
  cloud: Cloud,
): string | undefined {
  const isReady = condition(native, "Ready")?.status === "True";
  return isReady || unserved(pool, cloud) !== undefined ? undefined : cloud.missingClass?.(pool);
}

/** Whether the pool has no condition that says whether it is ready, as in most files, and nothing speaks against it. */
function isReadyUntold({ deleting, unreadable }: Pool, native: NodePool | Provisioner): boolean {
  return condition(native, "Ready") === undefined && !deleting && unreadable === undefined;
}

/** Why the controller's validation rejects the pool. In a file such a pool is bad input: throws CliError. */
function invalid(
  { unreadable, name }: Pool,
  native: NodePool | Provisioner,
  { placeOf }: Manifests,
  { wellKnownLabels }: Cloud,
): string | undefined {
  // A file of instance types may be for any provider, so all well-known labels are allowed.
  const known = [...wellKnownLabels, ...KNOWN_LABELS];
  const isJudged = unreadable === undefined && native.kind === NODE_POOL.kind;
  const problems = isJudged ? nodePoolProblems(native as NodePool, known) : [];
  const [problem = unreadable] = problems;
  if (problem === undefined) return undefined;
  const place = placeOf(native);
  if (place === undefined) return `it is not valid: ${problem}`;
  throw new CliError(
    (problems.length > 0 ? problems : [problem]).map(
      (one) =>
        `${place}: ${native.kind} ${name}: ${one}${labelHint(one, known)}; correct it, because Karpenter launches nothing from such a pool`,
    ),
  );
}

/** The label that was probably meant, for an error about a label that must not be used. */
function labelHint(problem: string, known: readonly string[]): string {
  const key = /^(?:spec\.template\.metadata\.labels\[(.+)\]|.*\blabel (\S+) is restricted)/.exec(
    problem,
  );
  const meant = key === null ? undefined : meantName(key[1] ?? key[2] ?? "", known);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** All namespaces in use, each with the label that Kubernetes sets. */
function namespacesOf({ namespaces }: Manifests, pods: readonly Pod[]) {
  const known = new Map(namespaces.map((one) => [one.metadata.name, one]));
  for (const pod of pods) {
    const name = pod.metadata.namespace ?? "default";
    if (!known.has(name)) known.set(name, { metadata: { name } });
  }
  return [...known.values()].map((namespace) => {
    const { name, labels } = namespace.metadata;
    const own = { "kubernetes.io/metadata.name": name, ...labels };
    return { ...namespace, metadata: { ...namespace.metadata, labels: own } };
  });
}

/** Notes about objects that the plan does not use. `found`: the whole input; `Manifests`: the part that was used. */
function unusedNotes(
  { unused, quotas, verticalAutoscalers }: Manifests,
  found: Manifests,
): string[] {
  const kinds = [...unused].sort().map(([kind, count]) => `${kind} (${count})`);
  const scoped = quotas.filter(({ spec }) => spec?.scopes ?? spec?.scopeSelector);
  return [
    ...(scoped.length === 0
      ? []
      : [`ResourceQuotas with scopes are not looked at: ${firstNames(scoped.map(keyOf), NAMED)}`]),
    ...(kinds.length === 0 ? [] : [`kinds that a plan does not look at: ${kinds.join(", ")}`]),
    ...(verticalAutoscalers.length < found.verticalAutoscalers.length ? [RECOMMENDATIONS_OFF] : []),
  ];
}

/** Notes about wrong annotations of a pool. The controller reports the same by events on the pool. */
function annotationNotes(pool: KubeObject): readonly string[] {
  const problem = returnsProblem(pool);
  return problem === undefined ? [] : [`${pool.kind} ${pool.metadata.name}: ${problem}`];
}

function strayNotes({ nodes }: Manifests, pods: readonly Pod[]): string[] {
  const bound = pods.filter(({ spec }) => spec.nodeName);
  if (bound.length === 0) return [];
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  const stray = bound.filter(({ spec }) => !known.has(spec.nodeName as string));
  return stray.length === 0
    ? []
    : [`left out, as their nodes are not in the input: ${firstNames(stray.map(keyOf), NAMED)}`];
}
