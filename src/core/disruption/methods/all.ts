/**
 * The disruption methods, in the order in which they run. The first one with a command wins. Return and repack are
 * karpenter-ts only. Methods before repack skip the pools on which repack saves much more.
 * upstream: pkg/controllers/disruption/controller.go
 */
import { drift, expiration } from "./drift-and-expiration.ts";
import { emptiness } from "./emptiness.ts";
import type { Method } from "./method.ts";
import { multiNodeConsolidation } from "./multi-node-consolidation.ts";
import { repack } from "./repack.ts";
import { repair } from "./repair.ts";
import { returning } from "./returning.ts";
import { singleNodeConsolidation } from "./single-node-consolidation.ts";
import { staticDrift } from "./static-drift.ts";

export const METHODS: readonly Method[] = [
  repair,
  expiration,
  emptiness,
  staticDrift,
  drift,
  returning,
  multiNodeConsolidation,
  singleNodeConsolidation,
  repack,
];
