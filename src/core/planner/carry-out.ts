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
import { holds, type Pattern, type Use } from "./packing.ts";

/** Classes of a row that may refuse a node before the least particular one is asked. */
const MAX_REFUSALS = 6;
const NODES_PER_STEP = 16;

interface PlannedNode {
  readonly claim: NewNodeClaim;
  readonly bin: TypeBin;
  /** What the planned type has left. */
  readonly free: Float64Array;
}

/** The pods of a row: of those that wait only classes that still have some, in the row's order. */
interface Line {
  readonly row: PodRow;
  readonly classes: Waiting[];
}

/** Puts pods on planned nodes; those it could place are gone from the demand's rows. */
export function* carryOut(pass: Pass, demand: Demand, uses: readonly Use[]): Steps<QueuedPod[]> {
  // The next one to go is the last: taking the first off a million is slow.
  for (const { classes } of demand.rows) for (const { items } of classes) items.reverse();
  const lines = demand.rows.map((row): Line => ({ row, classes: [...row.classes] }));
  const nodes: PlannedNode[] = [];
  for (const { pattern, bins } of uses) {
    const bin = demand.bins[pattern.bin] as TypeBin;
    for (let count = 0; count < bins; count++) {
      if (nodes.length % NODES_PER_STEP === 0) yield;
      const node = openNode(pass, bin, lines, pattern);
      if (node !== undefined) nodes.push(node);
    }
  }
  yield* fillGaps(pass, demand, nodes);
  return demand.rows.flatMap(({ classes }) => classes.flatMap(({ items }) => items));
}

function openNode(
  pass: Pass,
  bin: TypeBin,
  lines: readonly Line[],
  { rows, times }: Pattern,
): PlannedNode | undefined {
  const { template } = bin;
  const { within, exhausted } = template.budget;
  if (exhausted || !hasBit(within, bin.type)) return undefined;
  const claim = new NewNodeClaim(pass.claims.size, template, within, pass.context);
  const node = { claim, bin, free: bin.amounts.slice() };
  for (let at = 0; at < rows.length; at++)
    placeSome(pass, node, lines[rows[at] as number] as Line, times[at] as number);
  if (claim.pods.length === 0) return undefined;
  pass.claims.open(claim);
  chargeLimits(template, claim.types);
  return node;
}

/** As many pods of the line as wanted, the hardest to please first; where those refuse, the least particular. */
function placeSome(pass: Pass, node: PlannedNode, { row, classes }: Line, wanted: number): void {
  let left = wanted;
  let refusals = 0;
  while (left > 0 && refusals < classes.length && refusals < MAX_REFUSALS) {
    const waiting = classes[refusals] as Waiting;
    left -= placeOf(pass, node, row, waiting, left);
    if (waiting.items.length === 0) classes.splice(refusals, 1);
    else refusals++;
  }
  while (left > 0 && classes.length > refusals) {
    const waiting = classes.at(-1) as Waiting;
    left -= placeOf(pass, node, row, waiting, left);
    if (waiting.items.length > 0) return;
    classes.pop();
  }
}

/** How many of those that wait went there, of so many at most. */
function placeOf(
  pass: Pass,
  node: PlannedNode,
  row: PodRow,
  waiting: Waiting,
  most: number,
): number {
  let placed = 0;
  while (placed < most && waiting.items.length > 0 && place(pass, node, row, waiting)) placed++;
  return placed;
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
        while (holds(node.free, row.amounts)) if (placeOf(pass, node, row, waiting, 1) === 0) break;
      }
    }
  }
}
