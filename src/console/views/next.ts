/**
 * What the disruption loop would do next, one row for each command. In a large cluster this takes long to
 * compute.
 */
import type { CommandAnswer } from "../../core/answers/command-answer.ts";
import type { View } from "./view.ts";

export interface NextRow {
  readonly says: string;
  readonly reason: CommandAnswer["reason"];
  readonly savesMicroUsdPerHour: number;
  /** Nodes that would be deleted. */
  readonly nodes: readonly string[];
  /** Nodes that would take their pods. */
  readonly targets: readonly string[];
  /** Instance types of nodes that would be launched. */
  readonly launches: readonly string[];
  readonly pods: number;
}

/** One row for each command, in their order. */
export function nextView(next: readonly CommandAnswer[]): View<{ commands: number }, NextRow> {
  return {
    head: { commands: next.length },
    rows: new Map(next.map((command, index) => [String(index), nextRow(command)])),
  };
}

function nextRow(command: CommandAnswer): NextRow {
  const { says, reason, savesMicroUsdPerHour, nodes, replacements, targets } = command;
  return {
    says,
    reason,
    savesMicroUsdPerHour,
    nodes: nodes.map(({ node }) => node),
    targets,
    launches: replacements.map(({ instanceType }) => instanceType),
    pods: nodes.reduce((sum, { pods }) => sum + pods.length, 0),
  };
}
