/**
 * Every number that tunes the planner, with its unit, its meaning and its reason. Work is counted in steps, never in
 * time, so that the same batch gets the same plan. `npm run bench -- heuristics` shows what each part of the planner
 * saves. Names such as U-mix are cases of the benchmark. Measurements are in bench/history/2026-11-cost.md unless
 * another page is named.
 *
 * In a packing, an item is a pod and a bin is a node. A row is all pods with equal requests and requirements. A pattern
 * is the content of one bin. A host rule limits its pods on one host: an anti-affinity or a spread over hosts.
 */

// Plans of the whole batch

/**
 * Number of pods. A larger batch gets one greedy plan and one packing only: more plans take long (`bench -- speed`).
 */
export const LARGEST_REPLANNED_BATCH = 500;

/** Share of `--planner-min-pods`. A batch with this many zone-spread pods is packed. */
export const MIN_SPREAD_SHARE = 0.2;

/** Multiple of the lower bound that a packing is expected to cost at most (`bench -- cost`: 1.00 to 1.08). */
export const EXPECTED_PACKING_COST = 1.1;

/** How many plans of the whole batch are made with one zone left out, at most. */
export const MOST_ZONES_CLOSED = 4;

/** How many plans of the whole batch are made with one node dropped, at most. */
export const MOST_NODES_DROPPED = 8;

/** How many plans of the whole batch are made with one node moved, at most. */
export const MOST_NODES_MOVED = 8;

/** Rounds of packing: the pods that one round could not place are packed again. */
export const PACKING_ROUNDS = 3;

// Steps

/** Units of work in one step: 1 to 5 ms. A turn of several steps may take 50 ms (`bench -- turns`). */
export const WORK_PER_STEP = 200_000;

// From pods to a packing problem

/** The most sets of node requirements in one packing. The greedy rules place pods of further sets. Not measured. */
export const MOST_REQUIREMENT_SETS = 48;

/** The most host rules that a packing counts like a resource. Each one makes filling a bin slower. Not measured. */
export const MOST_HOST_DIMENSIONS = 2;

/** A packing counts a host rule only if its pods need this many hosts for each pod of the batch. Not measured. */
export const HOST_DIMENSION_SHARE = 0.02;

// Ways of packing

/** Kinds of bins that a packing starts with, for each set of requirements. 24 save 0.7 % and take 1.5 times as long. */
export const MOST_BINS = 16;

/** Share of the price by which packings count as equal. Then the one with the fewest nodes is chosen. Not measured. */
export const ABOUT_EQUAL = 0.005;

/** Multiple of the lower bound. If even patterns cost no more, the search ends: it could save at most 1 %. */
export const GOOD_ENOUGH = 1.01;

/** Share of the pods under counted host rules from which even patterns are skipped: in U-mix they find nothing. */
export const MANY_HOST_RULES = 0.1;

/**
 * Number of pods, for batches with many host rules. Larger batches use column generation instead of reweighted greedy:
 * for 7,000 pods and more it saves 0.1 to 1.6 %.
 */
export const MOST_REWEIGHTED = 6_000;

/** With many host rules, up to this many pods use column generation and reweighted greedy. Not measured. */
export const FEW_PODS = 500;

/** Steps that reweighted greedy may take for a batch of at most `FEW_PODS` pods: ten milliseconds at most. */
export const WORK_FOR_FEW_PODS = 2_000_000;

/**
 * Steps for even patterns and the first greedy filling if the budget is smaller: for each pod (6 µs), and in all.
 * Without them, no packing was found for 10,000 zone-spread pods of 500 Deployments.
 */
export const LENT_WORK_PER_POD = 1_000;
export const MOST_LENT_WORK = 10_000_000;

// Even patterns

/**
 * One even pattern fills at most an eighth of the bins that all items need. Then shares are computed again. Not
 * measured.
 */
export const PARTS_OF_EVEN_BINS = 8;

/** Resources are priced again once less than this share of the items is left since the last pricing. Not measured. */
export const PRICED_AGAIN_AT = 0.95;

/** Multiple of the lower bound for the items packed so far. Even patterns that cost more are abandoned. */
export const MOST_OVER_EVEN = 1.25;

/** Units of work for one row when a bin is filled evenly: the row is counted, given its share, and topped up. */
export const EVEN_WORK_PER_ROW = 3;

// Columns

/** The most nodes of the search tree for one bin. Not measured. Without the search, A-basic costs 1.6 % more. */
export const BRANCH_AND_BOUND_STEPS = 1_000;

/**
 * Column generation checks its gain every `ROUNDS_WITHOUT_GAIN` rounds. If the price fell by less than the share
 * `LEAST_GAIN_OF_ROUNDS`, it tries other kinds of bins. If none helps, it ends. Not measured.
 */
export const ROUNDS_WITHOUT_GAIN = 5;
export const LEAST_GAIN_OF_ROUNDS = 0.00005;

/** How many patterns may enter the linear program in one round. Not measured. */
export const PATTERNS_PER_ROUND = 40;

/** If no kind of bin lowers the cost, the best `BINS_JOINING` others join, `MOST_JOINS` times at most. Not measured. */
export const BINS_JOINING = 8;
export const MOST_JOINS = 4;

/** Least value of an item in greedy filling, as a share of its resources' cost: items of value 0 are never packed. */
export const LEAST_DUAL_SHARE = 0.01;

// Reweighted greedy

/**
 * Number of rounds. Compared with 16 on the workloads of bench/README.md: 12 rounds cost 1.1 % more on U-mix and the
 * same on A-mix. 24 rounds save 0.3 % and take 1.5 times as long.
 */
export const REWEIGHTED_ROUNDS = 16;

/** Every third round fills by shape (ratio of cpu and memory): rounds by value alone repeat. Not measured. */
export const ROUNDS_PER_SHAPE = 3;

// Merging bins

/** Bins that are tried for a merge, the cheapest first. Not measured. Without merges, U-mix-5k costs 0.6 % more. */
export const MOST_MERGES_TRIED = 16;

// Placing pods as the packing says

/** Classes of a row that a node may refuse before the class with the fewest rules is tried. 12 save 0.1 to 0.2 %. */
export const MOST_REFUSALS = 12;

// Leftovers

/** Share of the batch. If a packing leaves no more pods than this, the greedy rules place them. */
export const FEW_LEFTOVERS = 0.02;

// A better division of pods over zones (used by repack)

/** Share of the price. A pod moves to another zone only if the packing then costs less by this share. Not measured. */
export const LEAST_GAIN_OF_DOMAIN = 0.001;
