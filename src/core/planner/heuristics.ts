/**
 * The parts of the planner by name: plan sources, improvements and the steps of the packing. `npm run bench --
 * heuristics` plans without each part in turn, and prints how much the part saves. Nothing else leaves a part out.
 */

/** The plan sources in the order in which they run, each with a description. */
export const SOURCES = {
  greedy:
    "The largest pod first, each on the first node that takes it. It differs from upstream for pods with a zone spread (of equally empty zones, it takes the cheapest) and with an affinity (it takes a zone or host in which all pods of the group can be).",
  packing:
    "Solves the batch as a packing problem: which sets of pods go on which instance types, for the lowest price. Then the rules place each pod as the packing says.",
  upstreamGreedy: "Exactly upstream's rules.",
  cheapestNode:
    "Each pod goes to the planned node whose price rises least, or to a new node if that is cheaper.",
  cheapestNodeWithoutZone:
    "As cheapestNode, but with one zone left out. It is tried for up to four zones that cheapestNode used.",
} as const;

export type SourceName = keyof typeof SOURCES;

/** The improvements of the best plan in the order in which they run, each with a description. */
export const IMPROVEMENTS = {
  openZones:
    "After cheapestNodeWithoutZone: nodes whose pods accept any zone may be launched in every zone again.",
  dropNode: "One node is dropped. Its pods go to the other nodes, or to new nodes that cost less.",
  moveNode:
    "One node keeps its pods and moves to another zone or capacity type. Nodes whose pods have volume claims stay.",
} as const;

export type ImprovementName = keyof typeof IMPROVEMENTS;

/** The steps of the packing source, each with a description. */
const PACKING_STEPS = {
  race: "The greedy rules stop once their plan costs more than a packing is expected to cost.",
  evenPatterns: "Each node gets the same share of every kind of pod.",
  fillingOrders: "Nodes are filled greedily in five orders, not in one.",
  columns: "Column generation: the cheapest fractional mix of patterns, rounded.",
  branchAndBound: "Column generation searches for patterns that greedy filling does not find.",
  dualPriceGreedy: "Greedy filling by the dual prices that column generation found.",
  reweightedGreedy: "Greedy filling again, with higher values for pods that were packed badly.",
  mergeBins: "Two nodes become one where one larger node costs no more.",
  hardestFirst: "Of equal pods, those with most rules between pods are placed first.",
  moreRounds: "Pods that one packing could not place are packed again.",
} as const;

type PackingStep = keyof typeof PACKING_STEPS;

export type Heuristic =
  | Exclude<SourceName, "greedy">
  | ImprovementName
  | PackingStep
  | "hostGroupsFirst";

/** The names of all parts that can be left out, in the order in which the benchmark prints them. */
export const HEURISTICS: readonly Heuristic[] = [
  ...(Object.keys(SOURCES) as SourceName[]).filter((name) => name !== "greedy"),
  "hostGroupsFirst",
  ...(Object.keys(IMPROVEMENTS) as ImprovementName[]),
  ...(Object.keys(PACKING_STEPS) as PackingStep[]),
];

/** Which parts of the planner are left out. Only the benchmark of heuristics leaves parts out. */
export interface WithoutHeuristics {
  readonly without?: ReadonlySet<Heuristic>;
}

/** Whether the planner uses the part. */
export function uses({ without }: WithoutHeuristics, heuristic: Heuristic): boolean {
  return without?.has(heuristic) !== true;
}
