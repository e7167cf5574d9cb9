/** The differences between two states of one cluster: which nodes changed, and whether all else is unchanged. */
import { hostPorts } from "../../../apis/core/host-ports.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { keyOf } from "../../../apis/meta.ts";
import { hasResourceClaims } from "../../../apis/resource/pod-claims.ts";
import { deepEqual } from "../../../base/json.ts";
import { haveSameItems } from "../../../base/same-items.ts";
import { eachInSteps, ITEMS_PER_STEP, type Steps } from "../../../base/steps.ts";
import { someAreAvoided } from "../../scheduling/taints.ts";
import { claimName, type VolumeObjects } from "../../scheduling/volumes.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { SchedulingInput } from "../scheduling-input.ts";

/** The nodes that the state of what-if questions (the prepared cluster) must remove and add. */
interface NodeChanges {
  /** Nodes that are new or changed, or whose pods' volumes changed, or with a pod that only one of the inputs plans. */
  readonly changed: readonly NodeView[];
  /** Nodes of the earlier state that are gone or changed. */
  readonly gone: readonly NodeView[];
}

/** The nodes that changed between two inputs. `batch`: keys of the pods that the new input plans. */
export function* nodeChanges(
  before: SchedulingInput,
  now: SchedulingInput,
  batch: ReadonlySet<string>,
): Steps<NodeChanges> {
  const { fresh, gone } = yield* nodesApart(before.nodes, now.nodes);
  const claims = changedClaims(before.volumes, now.volumes);
  const batchBefore = new Set(before.pods.map(keyOf));
  const moved = new Set<string | undefined>();
  for (const pod of before.pods) if (!batch.has(keyOf(pod))) moved.add(pod.spec.nodeName);
  for (const pod of now.pods) if (!batchBefore.has(keyOf(pod))) moved.add(pod.spec.nodeName);
  moved.delete(undefined);
  if (moved.size === 0 && claims.size === 0) return { changed: [...fresh], gone: [...gone] };
  yield;
  const isChanged = (view: NodeView) =>
    fresh.has(view) || moved.has(view.name) || (claims.size > 0 && mountsOne(view, claims));
  const changed: NodeView[] = [];
  yield* eachInSteps(now.nodes, (view) => {
    if (isChanged(view)) changed.push(view);
  });
  return { changed, gone: [...gone] };
}

/** The nodes that are in only one of the lists. Both lists are sorted by name and compared side by side. */
export function* nodesApart(
  before: readonly NodeView[],
  now: readonly NodeView[],
): Steps<{ readonly fresh: ReadonlySet<NodeView>; readonly gone: ReadonlySet<NodeView> }> {
  const [fresh, gone] = [new Set<NodeView>(), new Set<NodeView>()];
  let [at, to] = [0, 0];
  for (let steps = 1; at < before.length || to < now.length; steps++) {
    if (steps % ITEMS_PER_STEP === 0) yield;
    const [old, young] = [before[at], now[to]];
    if (old === young) {
      at++;
      to++;
      continue;
    }
    const isOld = young === undefined || (old !== undefined && old.name <= young.name);
    const isYoung = old === undefined || (young !== undefined && young.name <= old.name);
    if (isOld) gone.add(before[at++] as NodeView);
    if (isYoung) fresh.add(now[to++] as NodeView);
  }
  // If the lists are in different order, a node may be in both results.
  for (const view of gone) if (fresh.delete(view)) gone.delete(view);
  return { fresh, gone };
}

/** Keys of volume claims that changed, or whose volumes changed. */
function changedClaims(before: VolumeObjects, now: VolumeObjects): ReadonlySet<string> {
  const changed = new Set(different(before.claims, now.claims).map(keyOf));
  const volumes = new Set(different(before.volumes, now.volumes).map(keyOf));
  if (volumes.size === 0) return changed;
  for (const claim of now.claims)
    if (volumes.has(claim.spec.volumeName ?? "")) changed.add(keyOf(claim));
  return changed;
}

function mountsOne({ pods }: NodeView, claims: ReadonlySet<string>): boolean {
  return pods.some((pod) =>
    pod.spec.volumes?.some((volume) => {
      const name = claimName(pod, volume);
      return name !== undefined && claims.has(`${pod.metadata.namespace}/${name}`);
    }),
  );
}

/** Elements that are in only one of the lists. Objects never change, so the same object means the same content. */
function different<T>(a: readonly T[], b: readonly T[]): readonly T[] {
  if (a === b) return [];
  const [inA, inB] = [new Set(a), new Set(b)];
  return [...a.filter((item) => !inB.has(item)), ...b.filter((item) => !inA.has(item))];
}

/** Whether a cluster that was prepared for one input can be updated to the other. With a default spread it cannot. */
export function isOfOneKind(a: SchedulingInput, b: SchedulingInput): boolean {
  return (
    someAreAvoided(a.nodes) === someAreAvoided(b.nodes) &&
    a.defaultSpread === undefined &&
    b.defaultSpread === undefined &&
    deepEqual(a.options, b.options) &&
    deepEqual(a.daemonPods.map(asOverhead), b.daemonPods.map(asOverhead)) &&
    haveSameItems(a.namespaces, b.namespaces) &&
    haveSameItems(a.autoscalers ?? [], b.autoscalers ?? []) &&
    haveSameItems(a.volumes.classes, b.volumes.classes) &&
    deepEqual(a.volumes.unsupportedProvisioners, b.volumes.unsupportedProvisioners) &&
    (a.devices === undefined) === (b.devices === undefined) &&
    a.pools.length === b.pools.length &&
    a.pools.every(({ pool, instanceTypes }, index) => {
      const other = b.pools[index];
      return instanceTypes === other?.instanceTypes && deepEqual(pool, other.pool);
    })
  );
}

/** The parts of a DaemonSet's pod that matter to the daemon overhead. */
function asOverhead(pod: Pod): unknown {
  const { tolerations, nodeSelector, affinity } = pod.spec;
  const isLeftOut = hasResourceClaims(pod);
  return [podRequests(pod), hostPorts(pod), tolerations, nodeSelector, affinity, isLeftOut];
}
