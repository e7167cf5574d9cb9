/** The commands that the command queue carries out. */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import type { MoveRecord } from "../../core/disruption/moves.ts";
import type { CommandRecord } from "../../core/disruption/record.ts";

/** A command whose nodes are tainted and whose replacements are created. */
export interface RunningCommand {
  readonly record: CommandRecord;
  readonly candidates: readonly Candidate[];
  readonly replacements: readonly NodeClaim[];
  /** The recorded moves of the command. Undefined: another process began the command, and the record is gone. */
  readonly move: MoveRecord | undefined;
  /** The claim of a target, on which the command is recorded. Set only if there are no replacements. */
  readonly target?: NodeClaim | undefined;
  /** When the command started, by the monotonic clock. */
  readonly startedMs: number;
}

/** How far the removal of a node is. `told`: its events are published. `deleted`: its claim is deleted. */
type Step = "told" | "deleted";

/** Why a command is rolled back: a replacement failed, or a person paused the pool. */
export type RollBackReason = "failed" | "paused";

/** All running commands and their nodes. */
export class RunningCommands {
  readonly #byId = new Map<string, RunningCommand>();
  readonly #nodeNames = new Set<string>();
  /** How far the removal of each node is, by command id and node name. */
  readonly #steps = new Map<string, Map<string, Step>>();
  /** Commands that are being rolled back, by id. */
  readonly #back = new Map<string, RollBackReason>();

  get size(): number {
    return this.#byId.size;
  }

  get nodeNames(): ReadonlySet<string> {
    return this.#nodeNames;
  }

  get(id: string): RunningCommand | undefined {
    return this.#byId.get(id);
  }

  all(): readonly RunningCommand[] {
    return [...this.#byId.values()];
  }

  add(one: RunningCommand): void {
    for (const { node } of one.candidates) this.#nodeNames.add(node.name);
    this.#byId.set(one.record.id, one);
  }

  /** Records that the rollback of the command starts. Returns false if it had started before. */
  startRollBack({ record }: RunningCommand, why: RollBackReason): boolean {
    if (this.#back.has(record.id)) return false;
    this.#back.set(record.id, why);
    return true;
  }

  rollBackReason({ record }: RunningCommand): RollBackReason | undefined {
    return this.#back.get(record.id);
  }

  note({ record }: RunningCommand, nodeName: string, step: Step): void {
    const steps = this.#steps.get(record.id) ?? new Map<string, Step>();
    this.#steps.set(record.id, steps.set(nodeName, step));
  }

  stepOf({ record }: RunningCommand, nodeName: string): Step | undefined {
    return this.#steps.get(record.id)?.get(nodeName);
  }

  /**
   * Whether the removal of any node has begun. If another process began it, the record names more nodes than there are
   * candidates.
   */
  hasBegunToEnd({ record, candidates }: RunningCommand): boolean {
    return this.#steps.has(record.id) || record.nodes.length > candidates.length;
  }

  remove(one: RunningCommand): void {
    this.#byId.delete(one.record.id);
    this.#steps.delete(one.record.id);
    this.#back.delete(one.record.id);
    for (const { node } of one.candidates) this.#nodeNames.delete(node.name);
  }
}
