/** How the running Karpenter repairs nodes, by its settings and the node classes. */
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import type { Settings } from "../../controllers/world.ts";
import type { RepairPolicy } from "../../core/cloudprovider/repair-policy.ts";
import type { RepairRules } from "../../core/disruption/broken-nodes.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { awsRepairPolicies } from "../../providers/aws/repair-policies.ts";
import { KWOK_REPAIR_POLICIES } from "../../providers/kwok/repair-policies.ts";

/** The repair policies of the provider that the node's class belongs to. */
export function policiesOf(
  { claim }: Pick<NodeView, "claim">,
  { gates }: Pick<Settings, "gates">,
): readonly RepairPolicy[] {
  const isKwok = claim?.spec.nodeClassRef.group === KWOK_NODE_CLASS.group;
  const { rebootForRepair, legacyNodeRepair: legacy } = gates;
  return isKwok ? KWOK_REPAIR_POLICIES : awsRepairPolicies({ rebootForRepair, legacy });
}

/**
 * The rules for repair as a disruption method. Undefined: repair is off. The first claim decides the provider, because
 * a controller has only one.
 */
export function repairRules(
  nodes: readonly NodeView[],
  settings: Pick<Settings, "gates">,
): RepairRules | undefined {
  const { nodeRepair, legacyNodeRepair } = settings.gates;
  const first = nodes.find(({ claim }) => claim !== undefined);
  if (!nodeRepair || legacyNodeRepair || first === undefined) return undefined;
  return { policies: policiesOf(first, settings) };
}
