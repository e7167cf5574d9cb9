/** The types of what the console sends, taken from the console's own code. */
export type {
  Editable,
  SandboxAct,
  SimulationProgress,
  Supposition,
} from "../../src/console/source.ts";
export type { CostRow, CostsHead } from "../../src/console/views/costs.ts";
export type { DecisionRow, DecisionsHead } from "../../src/console/views/decisions.ts";
export type { HealthHead } from "../../src/console/views/health.ts";
export type { MapHead } from "../../src/console/views/map.ts";
export type { MapRow } from "../../src/console/views/map-row.ts";
export type { MoneyHead, MoneyRow, PricePoint } from "../../src/console/views/money.ts";
export type { NextRow } from "../../src/console/views/next.ts";
export type { ListedNodes } from "../../src/console/views/node-groups.ts";
export type { PoolRow } from "../../src/console/views/pools.ts";
export type { ViewPatch } from "../../src/console/views/view.ts";
export type { VitalPoint } from "../../src/console/views/vitals.ts";
export type { WaitingHead, WaitingRow } from "../../src/console/views/waiting.ts";
