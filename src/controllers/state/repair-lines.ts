/**
 * Debug lines when a Node begins to match repair policies, matches others, or matches none any more. They say when
 * repair may act, and how.
 * upstream: pkg/controllers/state/cluster.go (matchRepairPolicies)
 */
import type { Node } from "../../apis/core/node.ts";
import { poolIdOfLabels } from "../../apis/hub/claim.ts";
import { formatDuration } from "../../base/duration.ts";
import type { LogFields } from "../../base/log.ts";
import { type BrokenCondition, brokenConditionsOf } from "../../core/repair/broken-conditions.ts";
import { isRepairMethod } from "../disruption/gather.ts";
import { conditionFields } from "../disruption/repairs.ts";
import type { World } from "../world.ts";

export interface RepairLines {
  /** Call with each new version of a Node that is in the cluster state. */
  put(node: Node): void;
  remove(node: Node): void;
}

/** Writes the lines, while repair is a disruption method. Nodes without a NodePool are never repaired, and get none. */
export function repairLines(world: World): RepairLines {
  const log = world.log.with({ controller: "state.node" });
  /** What each broken Node matched at its last version, by its name. */
  const matched = new Map<string, string>();
  return {
    put: (node) => {
      const { name, labels } = node.metadata;
      const isRepaired = isRepairMethod(world) && poolIdOfLabels(labels) !== undefined;
      const found = isRepaired ? brokenConditionsOf(node, world.cloud.repairPolicies) : [];
      const before = matched.get(name);
      if (found.length === 0) {
        if (!matched.delete(name)) return;
        log.debug("no longer matches any repair policy", { Node: { name } });
        return;
      }
      const now = JSON.stringify(found.map(fieldsOf));
      if (now === before) return;
      matched.set(name, now);
      for (const one of found) {
        log.debug("matched repair policy", { Node: { name }, ...fieldsOf(one) });
      }
    },
    remove: ({ metadata }) => {
      matched.delete(metadata.name);
    },
  };
}

function fieldsOf(condition: BrokenCondition): LogFields {
  const { terminationGracePeriodMs: graceMs } = condition.policy;
  return {
    ...conditionFields(condition),
    ...(graceMs === undefined ? {} : { "termination-grace-period": formatDuration(graceMs) }),
  };
}
