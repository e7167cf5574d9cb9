/** The improvements, in the order in which they run. */
import { dropNode } from "./drop-node.ts";
import type { Improvement } from "./improvement.ts";
import { moveNode } from "./move-node.ts";
import { openZones } from "./open-zones.ts";

export const PLAN_IMPROVEMENTS: readonly Improvement[] = [openZones, dropNode, moveNode];
