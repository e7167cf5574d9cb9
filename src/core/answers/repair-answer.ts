/** What ails a node, and when node repair ends it for that, or why it does not. */
import { toRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import type { Picture } from "../disruption/make-round.ts";
import { ailment, tooManyBroken } from "../nodeclaim/unhealthy.ts";
import type { Owned } from "./owned-node.ts";

/** What the cloud bears with, and whether the gate `NodeRepair` is open. */
export interface Repairs {
  readonly policies: readonly RepairPolicy[];
  readonly isOn: boolean;
}

/** What is wrong with a node, and what node repair will do. */
export interface RepairAnswer {
  readonly says: string;
  /** The Node's condition that says so, its status and since when. */
  readonly condition: string;
  readonly status: string;
  readonly since: string;
  /** RFC 3339: from then on repair ends it. Absent while its gate is shut. */
  readonly due?: string;
  /** Too many nodes are broken at once: whenever it is due, it is left until fewer are. */
  readonly heldBack: boolean;
}

/** Undefined: nothing ails it that repair knows of, or it is on its way out already. */
export function repairAnswer(
  { nodes, nowMs }: Pick<Picture, "nodes" | "nowMs">,
  { node: view, claim }: Pick<Owned, "node" | "claim">,
  { policies, isOn }: Repairs,
): RepairAnswer | undefined {
  if (view.node === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  const found = ailment(view.node, policies);
  if (found === undefined) return undefined;
  const neighbours = nodes
    .filter(({ poolId }) => view.poolId === undefined || poolId === view.poolId)
    .flatMap(({ node }) => node ?? []);
  const broken = neighbours.filter((one) => ailment(one, policies) !== undefined).length;
  const heldBack = isOn && tooManyBroken(neighbours, policies);
  const { conditionType: condition, conditionStatus: status } = found;
  const since = toRfc3339(found.sinceMs);
  const due = toRfc3339(found.dueMs);
  const isDue = found.dueMs <= nowMs;
  const why = !isOn
    ? "node repair is off (feature gate NodeRepair)"
    : heldBack
      ? `node repair, due ${due}, waits while more than 20 % of the nodes are unhealthy (${broken} of ${neighbours.length})`
      : `node repair terminates it ${isDue ? "now" : `at ${due}`}`;
  return {
    says: `${condition} is ${status} since ${since}: ${why}`,
    condition,
    status,
    since,
    ...(isOn ? { due } : {}),
    heldBack,
  };
}
