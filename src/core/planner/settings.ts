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
 * Number of pods. A larger batch gets one greedy plan and one packing only: more plans would differ little and take
 * long (`bench -- speed`).
 */
export const LARGEST_REPLANNED_BATCH = 500;

/**
 * Share of the price. In a batch too small to be packed, another plan must save this much over the greedy plan. A
 * difference this large means that the greedy plan made a mistake. Example: one large expensive node because of one
 * pod's preference.
 */
export const SAVING_OF_A_MISTAKE = 0.25;

/**
 * Share of `--planner-min-pods`. A batch with this many zone-spread pods is packed, even if it has fewer pods in all.
 */
export const MIN_SPREAD_SHARE = 0.2;

/**
 * Multiple of the lower bound on the cost of all new nodes. A packing is expected to cost at most this (`bench --
 * cost`: 1.00 to 1.08).
 */
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

/**
 * Units of work in one step of a search. They take 1 to 5 ms; a turn of several steps may take 50 ms (`bench --
 * turns`).
 */
export const WORK_PER_STEP = 200_000;

// From pods to a packing problem

/**
 * The most sets of node requirements in one packing. Each set adds kinds of bins. The sets with the most pods are
 * packed; the greedy rules place the pods of other sets. Not measured.
 */
export const MOST_REQUIREMENT_SETS = 48;

/**
 * The most host rules that a packing counts in each bin like a resource (a dimension). Each one makes filling a bin
 * slower. Not measured.
 */
export const MOST_HOST_DIMENSIONS = 2;

/**
 * Hosts for each pod of the batch. A host rule becomes a dimension only if its pods need that many hosts: 20 hosts in a
 * batch of 1,000 pods. Not measured.
 */
export const HOST_DIMENSION_SHARE = 0.02;

// Ways of packing

/**
 * How many kinds of bins (instance types) a packing starts with, for each set of requirements. Better kinds are added
 * later. 24 kinds save 0.7 % and take 1.5 times as long.
 */
export const MOST_BINS = 16;

/**
 * Share of the price. If packings differ by no more than this, the one with the fewest nodes is chosen. Not measured.
 */
export const ABOUT_EQUAL = 0.005;

/**
 * Multiple of the lower bound. If a packing by even patterns costs no more than this, the search ends: it could save at
 * most 1 %.
 */
export const GOOD_ENOUGH = 1.01;

/**
 * Share of the pods that are under a host rule which is a dimension. From this share on, even patterns are skipped. In
 * U-mix they find nothing, and take a tenth of the time for a plan of 1,000 pods.
 */
export const MANY_HOST_RULES = 0.1;

/**
 * Number of pods, for batches with many host rules. Larger batches use column generation instead of reweighted greedy:
 * for 7,000 pods and more it saves 0.1 to 1.6 %.
 */
export const MOST_REWEIGHTED = 6_000;

/**
 * Number of pods, for batches with many host rules. Up to this size, a batch uses both column generation and reweighted
 * greedy. Not measured.
 */
export const FEW_PODS = 500;

/** Steps that reweighted greedy may take for a batch of at most `FEW_PODS` pods: ten milliseconds at most. */
export const WORK_FOR_FEW_PODS = 2_000_000;

/**
 * Steps that even patterns, and the first greedy filling, may take if the budget is smaller: so many for each pod (6
 * µs), and the most in all. Without them no packing was found for 10,000 pods of 500 Deployments that are spread over
 * zones.
 */
export const LENT_WORK_PER_POD = 1_000;
export const MOST_LENT_WORK = 10_000_000;

// Even patterns

/**
 * Even patterns fill some of the bins that all items would need with one pattern, then compute shares again. 8: at most
 * an eighth of these bins. Not measured.
 */
export const PARTS_OF_EVEN_BINS = 8;

/**
 * Share of the items. Resources are priced again when fewer items are left than this share of those left at the last
 * pricing. Not measured.
 */
export const PRICED_AGAIN_AT = 0.95;

/** Multiple of the lower bound for the items packed so far. Even patterns that cost more are abandoned. */
export const MOST_OVER_EVEN = 1.25;

/** Units of work for one row when a bin is filled evenly: the row is counted, given its share, and topped up. */
export const EVEN_WORK_PER_ROW = 3;

// Columns

/**
 * The most nodes of the search tree for one bin. The number is not measured. Without any search (`branchAndBound`),
 * A-basic costs 1.6 % more.
 */
export const BRANCH_AND_BOUND_STEPS = 1_000;

/**
 * Column generation checks its gain every `ROUNDS_WITHOUT_GAIN` rounds. If the price fell by less than the share
 * `LEAST_GAIN_OF_ROUNDS`, it tries other kinds of bins. If none helps, it ends. Not measured.
 */
export const ROUNDS_WITHOUT_GAIN = 5;
export const LEAST_GAIN_OF_ROUNDS = 0.00005;

/** How many patterns may enter the linear program in one round. Not measured. */
export const PATTERNS_PER_ROUND = 40;

/**
 * If no kind of bin in use has a pattern that lowers the cost, all other kinds are tried. The best `BINS_JOINING` of
 * them are added, at most `MOST_JOINS` times. Not measured.
 */
export const BINS_JOINING = 8;
export const MOST_JOINS = 4;

/**
 * The lowest value of an item for greedy filling by dual prices, as a share of what its resources cost. Otherwise items
 * with a dual price of zero or less would never be packed.
 */
export const LEAST_DUAL_SHARE = 0.01;

// Reweighted greedy

/**
 * Number of rounds. Compared with 16 on the workloads of bench/README.md: 12 rounds cost 1.1 % more on U-mix and the
 * same on A-mix. 24 rounds save 0.3 % and take 1.5 times as long.
 */
export const REWEIGHTED_ROUNDS = 16;

/**
 * Every third round fills by shape: rows with most cpu for their memory first, then the opposite order. With rounds by
 * value alone, solutions repeat. Not measured.
 */
export const ROUNDS_PER_SHAPE = 3;

// Merging bins

/**
 * How many bins are tried for a merge with another bin, the cheapest first. The number is not measured. Without any
 * merge, U-mix-5k costs 0.6 % more.
 */
export const MOST_MERGES_TRIED = 16;

// Placing pods as the packing says

/**
 * The pods of a row form classes, by their rules between pods. A node may refuse this many classes before the class
 * with the fewest rules is tried. 12 save 0.1 to 0.2 % compared with 6.
 */
export const MOST_REFUSALS = 12;

// Leftovers

/**
 * Share of the batch. If a packing leaves at most this share of the pods without a place, there is no further packing:
 * the greedy rules place these pods.
 */
export const FEW_LEFTOVERS = 0.02;

// A better division of pods over zones (used by repack)

/** Share of the price. A pod moves to another zone only if the packing then costs less by this share. Not measured. */
export const LEAST_GAIN_OF_DOMAIN = 0.001;
