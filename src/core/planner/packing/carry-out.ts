/**
 * Carries a packing out on the engine: every pod goes through the same questions as always, so that
 * what comes out keeps every rule, whatever the packing thought. A pod that is refused where the
 * packing wants it is tried where there is room left; the rest is for the next round, or for the
 * engine.
 */
import type { Steps } from "../../../base/steps.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import { NewNodeClaim } from "../../provisioning/nodes/new-nodeclaim.ts";
import type { Pass } from "../../provisioning/place.ts";
import { type Bits, hasBit, intersectionOf, setBit } from "../../scheduling/bits.ts";
import type { Demand, PodRow, TypeBin } from "./demand.ts";
import type { Waiting } from "./homes.ts";
import { holds, type Pattern, type Use } from "./packing.ts";

/** Classes of a row that may refuse a node before the least particular one is asked. */
const MAX_REFUSALS = 12;
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
    for (let count = 0; count < bins && bin.domain === undefined; count++) {
      if (nodes.length % NODES_PER_STEP === 0) yield;
      const node = openNode(pass, bin, lines, pattern);
      if (node !== undefined) nodes.push(node);
    }
  }
  nodes.push(...(yield* inRounds(pass, demand, lines, uses)));
  yield* fillGaps(pass, demand, nodes);
  return demand.rows.flatMap(({ classes }) => classes.flatMap(({ items }) => items));
}

function openNode(
  pass: Pass,
  bin: TypeBin,
  lines: readonly Line[],
  { rows, times }: Pattern,
): PlannedNode | undefined {
  const node = emptyNode(pass, bin);
  if (node === undefined) return undefined;
  for (let at = 0; at < rows.length; at++)
    placeSome(pass, node, lines[rows[at] as number] as Line, times[at] as number);
  return isOpened(pass, node) ? node : undefined;
}

/** Undefined: the pool's limits allow no such node any more. */
function emptyNode({ claims, context }: Pass, bin: TypeBin): PlannedNode | undefined {
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

/** By what limits allow: how many nodes are planned between two changes of that. */
const STEADY = new WeakMap<Bits, Bits>();

/**
 * What the node may become: of burstable types at most the planned one. A cheaper one would hold the pods by its
 * capacity, and be launched, though it lives on credits then.
 */
export function typesFor(
  { template: { steady }, type }: Pick<TypeBin, "template" | "type">,
  within: Bits,
): Bits {
  if (steady === undefined) return within;
  let types = STEADY.get(within);
  if (types === undefined) {
    types = intersectionOf(within, steady);
    STEADY.set(within, types);
  }
  if (hasBit(types, type)) return types;
  const withPlanned = types.slice();
  setBit(withPlanned, type);
  return withPlanned;
}

/** Whether somebody is there to open it for. */
function isOpened({ claims }: Pass, { claim }: PlannedNode): boolean {
  if (claim.pods.length === 0) return false;
  claims.open(claim);
  return true;
}

/** A node in a domain, and what of its pattern is not there yet. */
interface Unfilled {
  readonly bin: TypeBin;
  readonly wanted: { readonly line: Line; count: number }[];
  /** Once it has its first pod. */
  node?: PlannedNode;
}

/**
 * Nodes whose pods are spread: no domain may be more than some pods ahead of the others, so that each node in
 * turn gets what it may have, again and again until none takes any more.
 */
function* inRounds(
  pass: Pass,
  demand: Demand,
  lines: readonly Line[],
  uses: readonly Use[],
): Steps<PlannedNode[]> {
  const unfilled = uses.flatMap(({ pattern: { bin: index, rows, times }, bins }): Unfilled[] => {
    const bin = demand.bins[index] as TypeBin;
    const wanted = () =>
      rows.map((row, at) => ({ line: lines[row] as Line, count: times[at] as number }));
    return bin.domain === undefined
      ? []
      : Array.from({ length: bins }, () => ({ bin, wanted: wanted() }));
  });
  let tries = 0;
  for (let open = unfilled, isFilling = true; isFilling; open = open.filter(isWanting)) {
    isFilling = false;
    for (const one of open) {
      if (tries++ % NODES_PER_STEP === 0) yield;
      if (takesMore(pass, one)) isFilling = true;
    }
  }
  return unfilled.flatMap(({ node }) => node ?? []);
}

function isWanting({ wanted }: Unfilled): boolean {
  return wanted.some(({ line, count }) => count > 0 && line.classes.length > 0);
}

function takesMore(pass: Pass, one: Unfilled): boolean {
  const node = one.node ?? emptyNode(pass, one.bin);
  if (node === undefined) return false;
  const before = node.claim.pods.length;
  for (const wish of one.wanted) wish.count -= placeSome(pass, node, wish.line, wish.count);
  if (node.claim.pods.length === before) return false;
  if (one.node === undefined && isOpened(pass, node)) one.node = node;
  return true;
}

/**
 * As many pods of the line as wanted, the hardest to please first; where those refuse, the least particular.
 * How many it were.
 */
function placeSome(pass: Pass, node: PlannedNode, { row, classes }: Line, wanted: number): number {
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
    if (waiting.items.length > 0) break;
    classes.pop();
  }
  return wanted - left;
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
    // Most are full by now, which is quickest to see.
    const open = nodes.filter(
      ({ bin, free }) =>
        holds(free, row.amounts) &&
        bin.template === row.template &&
        space.join(bin.set, row.set) === bin.set,
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
