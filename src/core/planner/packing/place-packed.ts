/**
 * Places pods as a packing says. Every pod is checked by the same rules as always, so the plan keeps every rule,
 * whatever the packing left out. A pod that its planned node refuses is tried on other planned nodes with room. Pods
 * that find no place are left for the next round of packing or for the greedy rules.
 */
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import { NewNodeClaim } from "../../provisioning/nodes/new-nodeclaim.ts";
import type { Pass } from "../../provisioning/place.ts";
import { type Bits, hasBit, intersectionOf, setBit } from "../../scheduling/bits.ts";
import { uses as isUsed, type WithoutHeuristics } from "../heuristics.ts";
import { MOST_REFUSALS } from "../settings.ts";
import type { ClassPods } from "./class-demand.ts";
import type { PackingDemand, PodRow } from "./demand.ts";
import type { NodeBin } from "./node-bins.ts";
import { holds, type Pattern, type PatternUse } from "./packing.ts";

/** Nodes between two steps: each takes up to some hundred pods. */
const NODES_PER_STEP = 16;

interface PlannedNode {
  readonly claim: NewNodeClaim;
  readonly bin: NodeBin;
  /** What a node of the planned type has left. */
  readonly free: Float64Array;
}

/** The pods of a row that are not placed yet: its classes that still have pods, in the order of the row. */
interface RowQueue {
  readonly row: PodRow;
  readonly classes: ClassPods[];
}

/**
 * Places pods on new nodes and takes them out of the rows of the demand. Returns the pods that are left in the rows.
 */
export function* placePacked(
  pass: Pass,
  demand: PackingDemand,
  solution: readonly PatternUse[],
  options: WithoutHeuristics,
): Steps<QueuedPod[]> {
  // Pods are taken from the end of the list, because removing the first of a million items is slow.
  for (const { classes } of demand.rows) for (const { items } of classes) items.reverse();
  const queues = demand.rows.map((row): RowQueue => ({ row, classes: [...row.classes] }));
  const nodes: PlannedNode[] = [];
  for (const { pattern, bins } of solution) {
    const bin = demand.bins[pattern.bin] as NodeBin;
    for (let count = 0; count < bins && bin.domain === undefined; count++) {
      if (nodes.length % NODES_PER_STEP === 0) yield;
      const node = openNode(pass, bin, queues, pattern);
      if (node !== undefined) nodes.push(node);
    }
  }
  nodes.push(...(yield* openNodesInDomains(pass, demand, queues, solution)));
  if (isUsed(options, "fillGaps")) yield* fillGaps(pass, demand, nodes);
  return demand.rows.flatMap(({ classes }) => classes.flatMap(({ items }) => items));
}

/** Opens a node for the pods of the pattern. Undefined: the node takes none of them. */
function openNode(
  pass: Pass,
  bin: NodeBin,
  queues: readonly RowQueue[],
  { rows, times }: Pattern,
): PlannedNode | undefined {
  const node = emptyNode(pass, bin);
  if (node === undefined) return undefined;
  for (let at = 0; at < rows.length; at++)
    placeSome(pass, node, queues[rows[at] as number] as RowQueue, times[at] as number);
  return openIfUsed(pass, node) ? node : undefined;
}

/** Undefined: the limits of the NodePool allow no such node any more. */
function emptyNode({ claims, context }: Pass, bin: NodeBin): PlannedNode | undefined {
  const { template, domain } = bin;
  const { within, exhausted } = template.budget;
  if (exhausted || !hasBit(within, bin.type)) return undefined;
  const claim = new NewNodeClaim(claims.size, template, typesFor(bin, within), context);
  if (domain !== undefined) {
    const set = context.space.narrow(claim.set, domain.key, [domain.value]);
    if (set === undefined) return undefined;
    claim.set = set;
  }
  return { claim, bin, free: bin.amounts.slice() };
}

/** Set of types → those of them that are not burstable. The set changes only with limits. */
const STEADY = new WeakMap<Bits, Bits>();

/**
 * The instance types that a node may be of: of burstable types only the planned one. A cheaper burstable type has the
 * capacity for the pods, so it would be launched, but its baseline is too small for them.
 */
export function typesFor(
  { template: { steady }, type }: Pick<NodeBin, "template" | "type">,
  allowed: Bits,
): Bits {
  if (steady === undefined) return allowed;
  const types = within(STEADY, allowed, () => intersectionOf(allowed, steady));
  if (hasBit(types, type)) return types;
  const withPlanned = types.slice();
  setBit(withPlanned, type);
  return withPlanned;
}

/** Opens the node if it has pods; returns whether it has. */
function openIfUsed({ claims }: Pass, { claim }: PlannedNode): boolean {
  if (claim.pods.length === 0) return false;
  claims.open(claim);
  return true;
}

/** A node in a domain, and the items of its pattern that are not placed on it yet. */
interface UnfilledNode {
  readonly bin: NodeBin;
  readonly wanted: { readonly queue: RowQueue; count: number }[];
  /** Set once the node has its first pod. */
  node?: PlannedNode;
}

/**
 * Fills nodes whose pods have topology spread. No domain may be more than maxSkew pods ahead. So the nodes take turns:
 * each takes the pods that it may have now, until no node takes any more.
 */
function* openNodesInDomains(
  pass: Pass,
  demand: PackingDemand,
  queues: readonly RowQueue[],
  solution: readonly PatternUse[],
): Steps<PlannedNode[]> {
  const nodes = solution.flatMap(({ pattern: { bin: index, rows, times }, bins }) => {
    const bin = demand.bins[index] as NodeBin;
    const wanted = () =>
      rows.map((row, at) => ({ queue: queues[row] as RowQueue, count: times[at] as number }));
    if (bin.domain === undefined) return [];
    return Array.from({ length: bins }, (): UnfilledNode => ({ bin, wanted: wanted() }));
  });
  let tries = 0;
  for (let open = nodes, isFilling = true; isFilling; open = open.filter(wantsMore)) {
    isFilling = false;
    for (const one of open) {
      if (tries++ % NODES_PER_STEP === 0) yield;
      if (takesMore(pass, one)) isFilling = true;
    }
  }
  return nodes.flatMap(({ node }) => node ?? []);
}

function wantsMore({ wanted }: UnfilledNode): boolean {
  return wanted.some(({ queue, count }) => count > 0 && queue.classes.length > 0);
}

/** Places the pods that the node may have now; returns whether there were any. */
function takesMore(pass: Pass, one: UnfilledNode): boolean {
  const node = one.node ?? emptyNode(pass, one.bin);
  if (node === undefined) return false;
  const before = node.claim.pods.length;
  for (const wish of one.wanted) wish.count -= placeSome(pass, node, wish.queue, wish.count);
  if (node.claim.pods.length === before) return false;
  if (one.node === undefined && openIfUsed(pass, node)) one.node = node;
  return true;
}

/**
 * Places up to `wanted` pods of the row. The classes with the most rules between pods come first. After some refusals
 * the class with the fewest rules is tried. Returns the number of pods placed.
 */
function placeSome(
  pass: Pass,
  node: PlannedNode,
  { row, classes }: RowQueue,
  wanted: number,
): number {
  let left = wanted;
  let refusals = 0;
  while (left > 0 && refusals < classes.length && refusals < MOST_REFUSALS) {
    const pods = classes[refusals] as ClassPods;
    left -= placeOfClass(pass, node, { row, pods }, left);
    if (pods.items.length === 0) classes.splice(refusals, 1);
    else refusals++;
  }
  while (left > 0 && classes.length > refusals) {
    const pods = classes.at(-1) as ClassPods;
    left -= placeOfClass(pass, node, { row, pods }, left);
    if (pods.items.length > 0) break;
    classes.pop();
  }
  return wanted - left;
}

/** Pods of one class, and the row that they belong to. */
interface ClassOfRow {
  readonly row: PodRow;
  readonly pods: ClassPods;
}

/** Places up to `most` pods of the class, until one is refused; returns the number placed. */
function placeOfClass(pass: Pass, node: PlannedNode, from: ClassOfRow, most: number): number {
  let placed = 0;
  while (placed < most && from.pods.items.length > 0 && placeNext(pass, node, from)) placed++;
  return placed;
}

/** Places the next pod of the class, if the node may still be of its planned type then. */
function placeNext(pass: Pass, { claim, bin, free }: PlannedNode, { row, pods }: ClassOfRow) {
  const { podClass, variant, items } = pods;
  const item = items.at(-1) as QueuedPod;
  const { fit } = claim.accepts(item.pod, podClass, variant);
  if (fit === undefined || !hasBit(fit.types, bin.type)) return false;
  const isOpen = claim.id < pass.claims.size;
  if (isOpen) pass.claims.moveUp(claim, fit.set);
  claim.add(item.pod, podClass, fit);
  for (let d = 0; d < free.length; d++) free[d] = (free[d] as number) - (row.amounts[d] as number);
  items.pop();
  return true;
}

/** Places pods that their planned nodes refused on other planned nodes with room, the largest pods first. */
function* fillGaps(pass: Pass, demand: PackingDemand, nodes: readonly PlannedNode[]): Steps<void> {
  const { space } = pass.context;
  const rows = demand.rows
    .filter(({ classes }) => classes.some(({ items }) => items.length > 0))
    .sort(
      (a, b) =>
        (b.amounts[0] as number) - (a.amounts[0] as number) ||
        (b.amounts[1] as number) - (a.amounts[1] as number),
    );
  for (const row of rows) {
    // Most nodes are full, and that is the quickest check.
    const open = nodes.filter(
      ({ bin, free }) =>
        holds(free, row.amounts) &&
        bin.template === row.template &&
        space.join(bin.set, row.set) === bin.set,
    );
    for (const pods of row.classes) {
      yield;
      for (let at = 0; at < open.length && pods.items.length > 0; at++) {
        const node = open[at] as PlannedNode;
        while (holds(node.free, row.amounts))
          if (placeOfClass(pass, node, { row, pods }, 1) === 0) break;
      }
    }
  }
}
