/**
 * A command: the nodes that the disruption loop removes or reboots, what replaces them, and why.
 * upstream: pkg/controllers/disruption/types.go
 */
import type { Generation } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { DisruptionReason } from "../../apis/karpenter/nodepool.ts";
import { priceMicroUsd } from "../planner/plan-price.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { Repairing } from "./broken-nodes.ts";
import { type Candidate, priceOfAll } from "./candidates.ts";
import type { Simulation, SimulationTerms } from "./simulate.ts";
import type { TerminateFirstReason } from "./terminate-first.ts";

/** The reason of a command. A budget cannot name `Expired`, which occurs only if expiration respects budgets. */
export type CommandReason = DisruptionReason | "Expired";

/** Whether the policy of one pool approves a command on its nodes. The shares are usually between 0 and 1. */
export interface BalancedVerdict {
  readonly pool: Pool;
  readonly approved: boolean;
  /** The score of the command under policy Balanced. Absent: the policy is another one. */
  readonly score?: number;
  readonly savingsShare?: number;
  readonly disruptionShare?: number;
}

export interface Command {
  readonly reason: CommandReason;
  /** The value of the label `consolidation_type` in metrics. Empty: the command is no consolidation. */
  readonly consolidationType: "empty" | "multi" | "single" | "";
  /** The name of the method in older API versions: `emptiness`, `consolidation`, … */
  readonly via: string;
  /** The API version of all candidates. Events and logs use its words. */
  readonly generation: Generation;
  readonly candidates: readonly Candidate[];
  readonly replacements: readonly PlannedClaim[];
  /** Names of existing nodes that take the pods. They are nominated, so they are not disrupted for some time. */
  readonly targets: readonly string[];
  /** The pods that each target takes. Absent: the command was not simulated. */
  readonly placements?: Simulation["placements"];
  /** The verdicts of NodePools with the policy Balanced. Only for consolidation. */
  readonly verdicts?: readonly BalancedVerdict[];
  /** The repair of the node, with its reason. Absent for all other methods. */
  readonly repair?: Repairing;
  /** Why the node is terminated before its replacement is launched. Absent: it is not. */
  readonly terminateFirst?: TerminateFirstReason;
  /**
   * The preferred pool or capacity type that replaces a node of a second choice (methods/returning.ts). Absent: none.
   */
  readonly returnsTo?: string;
  /** The terms of the simulation that found the command. Validation uses them again. Absent: the usual terms. */
  readonly terms?: SimulationTerms;
  /** Milliseconds to wait before the command is validated on fresh facts and begins. 0: it begins immediately. */
  readonly validateAfterMs: number;
}

/**
 * A command that removes the candidates and replaces none, by default immediately. `kind`: its reason and method, and
 * fields that differ from the default. `candidates`: at least one, all of one API version.
 */
export function removal(
  candidates: readonly Candidate[],
  kind: Pick<Command, "reason" | "via"> & Partial<Command>,
): Command {
  const { generation } = candidates[0] as Candidate;
  const rest = {
    replacements: [],
    targets: [],
    validateAfterMs: 0,
    consolidationType: "" as const,
  };
  return { ...rest, generation, candidates, ...kind };
}

export type Decision = "no-op" | "delete" | "replace" | "reboot" | "terminate-first";

/** The kind of the command, in the words of logs, events and metrics. */
export function decisionOf(command: Command): Decision {
  if (command.candidates.length === 0) return "no-op";
  if (command.repair?.action === "RebootNode") return "reboot";
  if (command.terminateFirst !== undefined) return "terminate-first";
  return command.replacements.length === 0 ? "delete" : "replace";
}

/** Why a command must not begin now. */
export interface HoldOff {
  readonly message: string;
  /** When the hold-off ends by itself. Absent: it does not end by itself. */
  readonly untilMs?: number;
}

/** Savings per hour in micro-dollars. A reboot saves nothing, because the node is kept. */
export function savingsMicroUsd({
  candidates,
  replacements,
  repair,
}: Pick<Command, "candidates" | "replacements" | "repair">): number {
  if (repair?.action === "RebootNode") return 0;
  return priceOfAll(candidates) - priceMicroUsd({ newClaims: replacements });
}

/** Savings per hour as text, such as `$0.20`. */
export function formatSavings(command: Command): string {
  return `$${(savingsMicroUsd(command) / 1_000_000).toFixed(2)}`;
}

/** The command as text: `Empty/<id>: delete: nodepools=[a]: [x, y] (savings: $0.20)`. */
export function describeCommand(command: Command, id: string): string {
  const pools = [...new Set(command.candidates.map(({ pool }) => pool.name))].sort().join(",");
  const names = command.candidates.map(({ node }) => node.name).join(", ");
  const count = command.replacements.length;
  const arrow = count === 0 ? "" : ` -> [${count} replacement${count === 1 ? "" : "s"}]`;
  const why = command.returnsTo === undefined ? "" : `, returning to ${command.returnsTo}`;
  const what = `${decisionOf(command)}: nodepools=[${pools}]: [${names}]${arrow}${why}`;
  return `${command.reason}/${id}: ${what} (savings: ${formatSavings(command)})`;
}

/** The command in the text of older API versions: `delete, terminating 1 machines ip-1/m5.large/spot`. */
export function describeOlder(command: Command): string {
  const noun = command.generation === "alpha" ? "machines" : "candidates";
  const gone = command.candidates.map(
    ({ node, instanceType, capacityType }) =>
      `${node.name}/${instanceType?.name ?? ""}/${capacityType}`,
  );
  const text = `${decisionOf(command)}, terminating ${gone.length} ${noun} ${gone.join(", ")}`;
  const plan = command.replacements[0];
  if (plan === undefined) return text;
  const types = plan.instanceTypes.map(({ name }) => name);
  const shown = types.slice(0, 5).join(", ");
  const others = types.length > 5 ? ` and ${types.length - 5} other(s)` : "";
  const claim = command.generation === "alpha" ? "machine" : "node";
  return `${text} and replacing with ${plan.cheapest.capacityType} ${claim} from types ${shown}${others}`;
}
