/** Logs a command that begins. Each Karpenter version words it differently. */
import { formatDuration } from "../../base/duration.ts";
import {
  type Command,
  decisionOf,
  describeCommand,
  describeOlder,
} from "../../core/disruption/command.ts";
import { speaksV05 } from "../words.ts";
import type { World } from "../world.ts";
import { tellRepair } from "./repairs.ts";

/** Logs the command with the message of its Karpenter version. */
export function reportCommand(world: World, command: Command, id: string): void {
  const { generation, candidates } = command;
  tellRepair(world, command);
  if (command.reason === "Empty" && candidates.every(({ claim }) => speaksV05(claim))) {
    const log = world.log.with({ controller: "node" });
    for (const { node, pool } of candidates) {
      const after = pool.disruption.consolidateAfter;
      const ttl = formatDuration(after === "Never" ? 0 : after);
      log.info(`Triggering termination after ${ttl} for empty node`, { node: node.name });
    }
    return;
  }
  if (generation !== "v1") {
    const verb = generation === "alpha" ? "deprovisioning" : "disrupting";
    const log = world.log.with({
      controller: generation === "alpha" ? "deprovisioning" : "disruption",
    });
    log.info(`${verb} via ${command.via} ${describeOlder(command)}`);
    return;
  }
  world.log.with({ controller: "disruption" }).info("disrupting node(s)", {
    command: describeCommand(command, id),
    decision: decisionOf(command),
    "disrupted-node-count": candidates.length,
    "replacement-node-count": command.replacements.length,
    "pod-count": candidates.reduce(
      (sum, { reschedulablePods }) => sum + reschedulablePods.length,
      0,
    ),
    "disrupted-nodes": candidates.map(({ node, claim, instanceType, capacityType }) => ({
      Node: { name: node.name },
      NodeClaim: { name: claim.metadata.name },
      "instance-type": instanceType?.name,
      "capacity-type": capacityType,
    })),
    "replacement-nodes": command.replacements.map(({ cheapest }) => cheapest),
  });
}
