/**
 * What the disruption loop has decided to do: which nodes go, what comes first, and why. Plain data, so
 * that the queue, the log and people see the same thing. upstream: pkg/controllers/disruption/types.go
 */
import type { Generation } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { DisruptionReason } from "../../apis/karpenter/nodepool.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { Candidate } from "./candidates.ts";
import type { Simulation, SimulationTerms } from "./simulate.ts";

/** `Expired`: by alpha and beta, and by v1 where expiry respects budgets; no budget can name it. */
export type CommandReason = DisruptionReason | "Expired";

/** What one pool makes of a command that takes nodes of its. Shares are between 0 and 1, as a rule. */
export interface BalancedVerdict {
  readonly pool: Pool;
  readonly approved: boolean;
  /** Absent where the policy does not ask for one. */
  readonly score?: number;
  readonly savingsShare?: number;
  readonly disruptionShare?: number;
}

export interface Command {
  readonly reason: CommandReason;
  /** Label of metrics: `empty`, `multi`, `single`, or nothing. */
  readonly consolidationType: "empty" | "multi" | "single" | "";
  /** Older generations' name of the way that was taken: `emptiness`, `consolidation`, … */
  readonly via: string;
  /** All of one generation: its words are used for the whole. */
  readonly generation: Generation;
  readonly candidates: readonly Candidate[];
  readonly replacements: readonly PlannedClaim[];
  /** Nodes that are to take the pods: not disrupted themselves for a while. */
  readonly targets: readonly string[];
  /** Which pods those are to take; absent: not known, or it does not matter. */
  readonly placements?: Simulation["placements"];
  /** What the pools' policies make of it; consolidation only. */
  readonly verdicts?: readonly BalancedVerdict[];
  /** What its plan took for granted; absent: nothing. */
  readonly terms?: SimulationTerms;
  /** Looked at again this much later before anything is done. 0: done at once. */
  readonly validateAfterMs: number;
}

export type Decision = "no-op" | "delete" | "replace";

export function decisionOf(command: Command): Decision {
  if (command.candidates.length === 0) return "no-op";
  return command.replacements.length === 0 ? "delete" : "replace";
}

/** What speaks against a command for a while. */
export interface HoldOff {
  readonly message: string;
  /** When it ends by itself; absent: it does not. */
  readonly untilMs?: number;
}

/** What is saved an hour, in micro-dollars. */
export function savingsMicroUsd({
  candidates,
  replacements,
}: Pick<Command, "candidates" | "replacements">): number {
  const before = candidates.reduce((sum, { priceMicroUsd }) => sum + priceMicroUsd, 0);
  return replacements.reduce((left, { cheapest }) => left - cheapest.priceMicroUsd, before);
}

/** `$0.20` an hour. */
export function formatSavings(command: Command): string {
  return `$${(savingsMicroUsd(command) / 1_000_000).toFixed(2)}`;
}

/** `Empty/<id>: delete: nodepools=[a]: [x, y] (savings: $0.20)`. */
export function describeCommand(command: Command, id: string): string {
  const pools = [...new Set(command.candidates.map(({ pool }) => pool.name))].sort().join(",");
  const names = command.candidates.map(({ node }) => node.name).join(", ");
  const count = command.replacements.length;
  const arrow = count === 0 ? "" : ` -> [${count} replacement${count === 1 ? "" : "s"}]`;
  const what = `${decisionOf(command)}: nodepools=[${pools}]: [${names}]${arrow}`;
  return `${command.reason}/${id}: ${what} (savings: ${formatSavings(command)})`;
}

/** Older generations' text: `delete, terminating 1 machines ip-1/m5.large/spot`. */
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
