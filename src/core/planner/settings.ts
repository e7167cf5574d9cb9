/**
 * Every number that the planner was tuned with: its unit, its meaning, and what it was chosen by. Work is counted in
 * steps, never in time, so that the same batch gets the same plan.
 */

/** Pods. Larger batches are planned once: their plans differ by less, and each plan takes longer (`bench -- speed`). */
export const LARGEST_REPLANNED_BATCH = 500;

/**
 * Share of the price. A small batch is not packed, so a plan by price replaces the greedy one only if it saves this much:
 * then the greedy plan made a mistake, such as a large node that the wish of one pod makes dear.
 */
export const SAVING_OF_A_MISTAKE = 0.25;

/** Share of `--planner-min-pods`: so many pods that are spread over zones are enough to pack a batch. */
export const MIN_SPREAD_SHARE = 0.2;

/** Times the lower bound on the cost. A packing is expected to cost at most this (`bench -- cost`: 1.00 to 1.08). */
export const EXPECTED_PACKING_COST = 1.1;

/** Whole plans of the batch that are tried with one zone closed. */
export const MOST_ZONES_CLOSED = 4;

/** Whole plans of the batch that are tried with one node dropped. */
export const MOST_NODES_DROPPED = 8;

/** Whole plans of the batch that are tried with one node moved. */
export const MOST_NODES_MOVED = 8;

/** Rounds of packing: the pods that one round could not place are packed again. */
export const PACKING_ROUNDS = 3;
