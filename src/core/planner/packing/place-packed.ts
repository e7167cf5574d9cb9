/**
 * Places pods as a packing says. Every pod is checked by all scheduling rules, so the plan keeps rules that the packing
 * ignored. Pods that their planned node refuses are left for the next round of packing or for the greedy rules. A row
 * is the pods with equal requests and requirements. Pods of a row with equal rules between pods form a class.
 */
import { eachInSteps, ITEMS_PER_STEP, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import { NewNodeClaim } from "../../provisioning/nodes/new-nodeclaim.ts";
import type { Pass } from "../../provisioning/place.ts";
import { type Bits, hasBit, intersectionOf, setBit } from "../../scheduling/bits.ts";
import { MOST_REFUSALS } from "../settings.ts";
import type { ClassPods } from "./class-demands.ts";
import type { PackingDemand } from "./demand.ts";
import type { NodeBin } from "./node-bins.ts";
import type { PatternUse } from "./packing.ts";

/** A planned node, and the index of the instance type that it must keep. */
type TypedNode = { readonly claim: NewNodeClaim; readonly type: number };

/** The classes of a row that still have pods without a place. They have the order of the row. */
type RowQueue = ClassPods[];

/** Places pods on new nodes as `solution` says, and removes them from the rows. Returns the pods that are left. */
export function* placePacked(
  pass: Pass,
  demand: PackingDemand,
  solution: readonly PatternUse[],
): Steps<QueuedPod[]> {
  // Pods are taken from the end of the list, because removing the first of a million items is slow.
  for (const { classes } of demand.rows) for (const { items } of classes) items.reverse();
  const queues = demand.rows.map(({ classes }): RowQueue => [...classes]);
  const nodes = solution.flatMap(({ pattern, bins }) => {
    const bin = demand.bins[pattern.bin] as NodeBin;
    return Array.from({ length: bins }, (): UnfilledNode => {
      const wanted = pattern.rows.map((row, at) => ({
        queue: queues[row] as RowQueue,
        count: pattern.times[at] as number,
      }));
      return { bin, wanted };
    });
  });
  const isDivided = ({ bin }: UnfilledNode) => bin.domain !== undefined;
  yield* eachInSteps(
    nodes.filter((one) => !isDivided(one)),
    (one) => {
      takesMore(pass, one);
    },
  );
  yield* fillInTurns(pass, nodes.filter(isDivided));
  return demand.rows.flatMap(({ classes }) => classes.flatMap(({ items }) => items));
}

/** An empty planned node for the bin. Undefined: the NodePool's limits or its zones forbid the node. */
function emptyNode({ claims, context }: Pass, bin: NodeBin): NewNodeClaim | undefined {
  const { template, domain } = bin;
  const { within, exhausted } = template.limitsLeft;
  if (exhausted || !hasBit(within, bin.type)) return undefined;
  const claim = new NewNodeClaim(claims.size, template, typesFor(bin, within), context);
  if (domain !== undefined) {
    const set = context.space.narrow(claim.set, domain.key, [domain.value]);
    if (set === undefined) return undefined;
    claim.set = set;
  }
  return claim;
}

/** Cache: for each set of allowed types, those of them that are not burstable. */
const STEADY = new WeakMap<Bits, Bits>();

/** The types of a node, without burstable ones except the planned one: their baseline cpu may be too small. */
export function typesFor(
  { template: { table }, type }: Pick<NodeBin, "template" | "type">,
  allowed: Bits,
): Bits {
  const { steady } = table;
  if (steady === undefined) return allowed;
  const types = within(STEADY, allowed, () => intersectionOf(allowed, steady));
  if (hasBit(types, type)) return types;
  const withPlanned = types.slice();
  setBit(withPlanned, type);
  return withPlanned;
}

/** A planned node, and how many pods of each row are still to be placed on it. */
interface UnfilledNode {
  readonly bin: NodeBin;
  readonly wanted: { readonly queue: RowQueue; count: number }[];
  /** The node. Absent: it has no pod yet. */
  claim?: NewNodeClaim;
}

/** Nodes whose pods have topology spread take turns: no domain may be more than maxSkew pods ahead of the others. */
function* fillInTurns(pass: Pass, nodes: readonly UnfilledNode[]): Steps<void> {
  let tries = 0;
  for (let open = nodes, isFilling = true; isFilling; open = open.filter(wantsMore)) {
    isFilling = false;
    for (const one of open) {
      if (tries++ % ITEMS_PER_STEP === 0) yield;
      if (takesMore(pass, one)) isFilling = true;
    }
  }
}

function wantsMore({ wanted }: UnfilledNode): boolean {
  return wanted.some(({ queue, count }) => count > 0 && queue.length > 0);
}

/** Places the pods that the rules allow on the node now. Returns whether any pod was placed. */
function takesMore(pass: Pass, one: UnfilledNode): boolean {
  const { bin } = one;
  const claim = one.claim ?? emptyNode(pass, bin);
  if (claim === undefined) return false;
  const before = claim.pods.length;
  const node = { claim, type: bin.type };
  for (const wish of one.wanted) wish.count -= placeSome(pass, node, wish.queue, wish.count);
  if (claim.pods.length === before) return false;
  if (one.claim === undefined) pass.claims.open(claim);
  one.claim = claim;
  return true;
}

/**
 * Places up to `wanted` pods of the row. The classes with the most rules between pods are tried first. After
 * `MOST_REFUSALS` refusals, the class with the fewest rules is tried. Returns the number of pods placed.
 */
function placeSome(pass: Pass, node: TypedNode, classes: RowQueue, wanted: number): number {
  let left = wanted;
  let refusals = 0;
  while (left > 0 && refusals < classes.length && refusals < MOST_REFUSALS) {
    const pods = classes[refusals] as ClassPods;
    left -= placeOfClass(pass, node, pods, left);
    if (pods.items.length === 0) classes.splice(refusals, 1);
    else refusals++;
  }
  while (left > 0 && classes.length > refusals) {
    const pods = classes.at(-1) as ClassPods;
    left -= placeOfClass(pass, node, pods, left);
    if (pods.items.length > 0) break;
    classes.pop();
  }
  return wanted - left;
}

/** Places up to `most` pods of the class, and stops at the first refusal. Returns the number of pods placed. */
function placeOfClass(pass: Pass, node: TypedNode, pods: ClassPods, most: number): number {
  let placed = 0;
  while (placed < most && pods.items.length > 0 && placeNext(pass, node, pods)) placed++;
  return placed;
}

/** Places the next pod of the class. False: the node refuses it, or would no longer have its planned instance type. */
function placeNext(pass: Pass, { claim, type }: TypedNode, pods: ClassPods): boolean {
  const { podClass, variant, items } = pods;
  const item = items.at(-1) as QueuedPod;
  const { fit } = claim.accepts(item.pod, podClass, variant);
  if (fit === undefined || !hasBit(fit.types, type)) return false;
  const isOpen = claim.id < pass.claims.size;
  if (isOpen) pass.claims.moveUp(claim, fit.set);
  claim.add(item.pod, podClass, fit);
  items.pop();
  return true;
}
