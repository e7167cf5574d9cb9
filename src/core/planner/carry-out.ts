/**
 * Carries a packing out on the engine: every pod goes through the same questions as always, so that
 * what comes out keeps every rule, whatever the packing thought. A pod that is refused where the
 * packing wants it is tried where there is room left; the rest is for the next round, or for the
 * engine.
 */
import type { Steps } from "../../base/steps.ts";
import { NewNodeClaim } from "../provisioning/new-nodeclaim.ts";
import { chargeLimits } from "../provisioning/pool-template.ts";
import type { QueuedPod } from "../provisioning/queue.ts";
import type { Pass } from "../provisioning/solve.ts";
import { hasBit } from "../scheduling/bits.ts";
import type { Demand, PodRow, TypeBin, Waiting } from "./demand.ts";
import { holds, type Use } from "./packing.ts";

/** Classes of a row that may refuse a node before the least particular one is asked. */
const MAX_REFUSALS = 6;
const NODES_PER_STEP = 16;

interface PlannedNode {
  readonly claim: NewNodeClaim;
  readonly bin: TypeBin;
  /** What the planned type has left. */
  readonly free: Float64Array;
}

/** Puts pods on planned nodes; those it could place are gone from the demand's rows. */
export function* carryOut(pass: Pass, demand: Demand, uses: readonly Use[]): Steps<QueuedPod[]> {
  // The next one to go is the last: taking the first off a million is slow.
  for (const { classes } of demand.rows) for (const { items } of classes) items.reverse();
  const nodes: PlannedNode[] = [];
  for (const { pattern, bins } of uses) {
    const bin = demand.bins[pattern.bin] as TypeBin;
    for (let count = 0; count < bins; count++) {
      if (nodes.length % NODES_PER_STEP === 0) yield;
      const node = openNode(pass, demand, bin, pattern.rows, pattern.times);
      if (node !== undefined) nodes.push(node);
    }
  }
  yield* fillGaps(pass, demand, nodes);
  return demand.rows.flatMap(({ classes }) => classes.flatMap(({ items }) => items));
}

function openNode(
  pass: Pass,
  demand: Demand,
  bin: TypeBin,
  rows: readonly number[],
  times: readonly number[],
): PlannedNode | undefined {
  const { template } = bin;
  const { within, exhausted } = template.budget;
  if (exhausted || !hasBit(within, bin.type)) return undefined;
  const claim = new NewNodeClaim(pass.claims.size, template, within, pass.context);
  const node = { claim, bin, free: bin.amounts.slice() };
  rows.forEach((index, at) => {
    const row = demand.rows[index] as PodRow;
    const refused = new Set<Waiting>();
    for (let count = times[at] as number; count > 0; count--) {
      if (!placeOne(pass, node, row, refused)) break;
    }
  });
  if (claim.pods.length === 0) return undefined;
  pass.claims.open(claim);
  chargeLimits(template, claim.types);
  return node;
}

function placeOne(pass: Pass, node: PlannedNode, row: PodRow, refused: Set<Waiting>): boolean {
  const { classes } = row;
  for (let at = 0; at < classes.length && refused.size < MAX_REFUSALS; at++) {
    const waiting = classes[at] as Waiting;
    if (waiting.items.length === 0 || refused.has(waiting)) continue;
    if (place(pass, node, row, waiting)) return true;
    refused.add(waiting);
  }
  for (let at = classes.length - 1; at >= 0; at--) {
    const waiting = classes[at] as Waiting;
    if (waiting.items.length === 0) continue;
    if (refused.has(waiting)) return false;
    if (place(pass, node, row, waiting)) return true;
    refused.add(waiting);
    return false;
  }
  return false;
}

/** The first pod of those that wait, if the node stays one of the planned type. */
function place(
  pass: Pass,
  { claim, bin, free }: PlannedNode,
  row: PodRow,
  waiting: Waiting,
): boolean {
  const { podClass, variant, items } = waiting;
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

/** What was refused goes where there is room, the largest pods first. */
function* fillGaps(pass: Pass, demand: Demand, nodes: readonly PlannedNode[]): Steps<void> {
  const { space } = pass.context;
  const rows = demand.rows
    .filter(({ classes }) => classes.some(({ items }) => items.length > 0))
    .sort(
      (a, b) =>
        (b.amounts[0] as number) - (a.amounts[0] as number) ||
        (b.amounts[1] as number) - (a.amounts[1] as number),
    );
  for (const row of rows) {
    const open = nodes.filter(
      ({ bin }) => bin.template === row.template && space.join(bin.set, row.set) === bin.set,
    );
    for (const waiting of row.classes) {
      yield;
      for (let at = 0; at < open.length && waiting.items.length > 0; at++) {
        const node = open[at] as PlannedNode;
        while (waiting.items.length > 0 && holds(node.free, row.amounts)) {
          if (!place(pass, node, row, waiting)) break;
        }
      }
    }
  }
}
