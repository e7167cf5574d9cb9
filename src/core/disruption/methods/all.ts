/**
 * The ways of disrupting nodes, in the order they are tried; the first that has a command wins.
 * Repack is ours: it comes after all that upstream would do, which leaves to it what it does better by far.
 * upstream: pkg/controllers/disruption/controller.go
 */
import { drift } from "./drift.ts";
import { emptiness } from "./emptiness.ts";
import { expiration } from "./expiration.ts";
import type { Method } from "./method.ts";
import { multiNodeConsolidation } from "./multi-node-consolidation.ts";
import { repack } from "./repack.ts";
import { singleNodeConsolidation } from "./single-node-consolidation.ts";
import { staticDrift } from "./static-drift.ts";

export const METHODS: readonly Method[] = [
  expiration,
  emptiness,
  staticDrift,
  drift,
  multiNodeConsolidation,
  singleNodeConsolidation,
  repack,
];
