/**
 * The picture of a scene with changed NodePools and replicas. It starts from the picture that was read, and
 * replaces only the nodes that a change affects. A large cluster is processed in steps.
 */
import { DEPLOYMENT } from "../../apis/apps/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { eachInSteps, mapInSteps, type StepRunner, type Steps } from "../../base/steps.ts";
import { type NodeView, nodeView } from "../../core/state/node-view.ts";
import { usageOf } from "../../core/state/pool-usage.ts";
import {
  type KeptData,
  pictureFrom,
  type ReadObjects,
  type ReadPicture,
} from "../answers/read-picture.ts";
import { type ReplicaCount, withScales } from "../answers/scales.ts";
import { driftedClaim } from "../answers/what-if.ts";
import type { Found } from "../plan/documents.ts";
import { expandInSteps } from "../plan/expand-workloads.ts";
import { type Manifests, sortManifests } from "../plan/manifests.ts";
import { asRecommended } from "../plan/planning-input.ts";

/** The parts of a scene from which a changed picture is made. */
export interface SceneMoment {
  readonly objects: ReadObjects;
  readonly cloud: KeptData["cloud"];
  readonly unboundPods: readonly Pod[];
}

export interface OtherObjects {
  /** NodePools that replace those with the same names. */
  readonly pools: readonly Found[];
  readonly scales: readonly ReplicaCount[];
}

/** The nodes, unbound pods and objects of the changed picture. */
interface Draft {
  readonly nodes: readonly NodeView[];
  readonly unbound: readonly Pod[];
  readonly manifests: Manifests;
}

/** The picture with the room that CapacityBuffers keep. Returns `read` itself if there are no buffers. */
export async function withKeptRoom(
  read: ReadPicture,
  how: { readonly moment: SceneMoment; readonly run: StepRunner },
): Promise<ReadPicture> {
  const { manifests, planning } = read;
  if (manifests.buffers.length === 0) return read;
  const { nodes } = planning.input;
  return pictureOf({ nodes, unbound: how.moment.unboundPods, manifests }, read, how);
}

/** Returns `before` itself if nothing is changed. Throws CliError for objects that the API server would refuse. */
export async function supposedPicture(
  before: ReadPicture,
  { pools, scales }: OtherObjects,
  how: { readonly moment: SceneMoment; readonly run: StepRunner },
): Promise<ReadPicture> {
  if (pools.length === 0 && scales.length === 0) return before;
  const { moment, run } = how;
  const { manifests, planning } = before;
  const { nodes } = planning.input;
  const reads = before.settings.readsRecommendations === true;
  const changedPools = asRecommended(withPools(manifests, pools), reads);
  const asRead = { nodes, unbound: moment.unboundPods, manifests: changedPools };
  const scaled = await run(withReplicas(asRead, scales));
  const changed = await pictureOf(scaled, before, how);
  if (pools.length === 0) return changed;
  const names = new Set(pools.map(({ object }) => object.metadata.name));
  const drifted = await run(withDrift(scaled, changed, names));
  return drifted === scaled ? changed : pictureOf(drifted, before, how);
}

function pictureOf(
  { nodes, unbound, manifests }: Draft,
  { planning }: ReadPicture,
  { moment, run }: { readonly moment: SceneMoment; readonly run: StepRunner },
): Promise<ReadPicture> {
  const { objects, cloud } = moment;
  const state = {
    nodes: () => nodes,
    unboundPods: () => unbound,
    daemonPods: () => planning.input.daemonPods,
    poolUsage: (poolId: string) => usageOf(nodes, poolId),
    ownsNodes: (id: string) => nodes.some(({ poolId }) => poolId === id),
  };
  return pictureFrom({}, manifests, { ...objects, kept: { state, cloud }, withRoom: true, run });
}

function withPools(manifests: Manifests, pools: readonly Found[]): Manifests {
  if (pools.length === 0) return manifests;
  const sorted = sortManifests(pools);
  const idOf = ({ kind, metadata }: Manifests["pools"][number]) => `${kind} ${metadata.name}`;
  const changed = new Set(sorted.pools.map(idOf));
  const others = manifests.pools.filter((one) => !changed.has(idOf(one)));
  const all = [...others, ...sorted.pools].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  return { ...manifests, pools: all, placeOf: sorted.placeOf };
}

/** Changes the replicas of Deployments: surplus pods are removed, missing ones become pending. */
function* withReplicas(draft: Draft, scales: readonly ReplicaCount[]): Steps<Draft> {
  if (scales.length === 0) return draft;
  const { nodes, unbound, manifests } = draft;
  const own: Pod[] = [];
  // New pods must not get the names of existing pods.
  const starts = scales.map(({ workload }) => `${workload}-`);
  const keep = (pod: Pod): void => {
    if (starts.some((start) => keyOf(pod).startsWith(start))) own.push(pod);
  };
  yield* eachInSteps(nodes, ({ pods }) => pods.forEach(keep));
  yield* eachInSteps(unbound, keep);
  const live = (object: Found["object"]): Found => ({ where: "", object, live: true });
  const workloads = [...manifests.workloads, ...manifests.liveWorkloads];
  const deployments = workloads.filter(({ kind }) => kind === DEPLOYMENT.kind);
  const found = withScales([...deployments, ...own].map(live), scales);
  const sorted = sortManifests(found);
  const changed = new Set(sorted.workloads.map((one) => `${one.kind} ${keyOf(one)}`));
  const scaled = {
    ...manifests,
    workloads: sorted.workloads,
    liveWorkloads: workloads.filter((one) => !changed.has(`${one.kind} ${keyOf(one)}`)),
  };
  const making = { pods: sorted.pods, daemonSets: [], cronJobs: [], placeOf: sorted.placeOf };
  const { pods, volumeClaims } = yield* expandInSteps({ ...scaled, ...making });
  const stays = new Set(sorted.pods.map(keyOf));
  const gone = new Set(own.map(keyOf).filter((key) => !stays.has(key)));
  const isThere = (pod: Pod): boolean => !gone.has(keyOf(pod));
  return {
    nodes: gone.size === 0 ? nodes : yield* mapInSteps(nodes, (view) => only(view, isThere)),
    unbound: [...unbound.filter(isThere), ...pods.filter((pod) => !stays.has(keyOf(pod)))],
    manifests: { ...scaled, volumeClaims },
  };
}

function only(view: NodeView, isThere: (pod: Pod) => boolean): NodeView {
  const pods = view.pods.filter(isThere);
  if (pods.length === view.pods.length) return view;
  const { node, claim, deleting: marked, nominatedUntilMs } = view;
  return nodeView({ node, claim, pods, marked, nominatedUntilMs });
}

/** Marks claims of these NodePools as Drifted, as the controller would. */
function* withDrift(
  draft: Draft,
  { planning, picture }: ReadPicture,
  names: ReadonlySet<string>,
): Steps<Draft> {
  const pools = new Map(planning.pools.map(({ pool }) => [pool.id, pool]));
  const drifted = new Map<NodeView["claim"], NodeView["claim"]>();
  const nodes = yield* mapInSteps(draft.nodes, (view) => {
    const pool = pools.get(view.poolId ?? "");
    if (view.claim === undefined || pool === undefined || !names.has(pool.name)) return view;
    const claim = driftedClaim(view.claim, pool, picture.nowMs);
    if (claim === view.claim) return view;
    drifted.set(view.claim, claim);
    return { ...view, claim };
  });
  if (drifted.size === 0) return draft;
  const claims = draft.manifests.claims.map((claim) => drifted.get(claim) ?? claim);
  return { ...draft, nodes, manifests: { ...draft.manifests, claims } };
}
