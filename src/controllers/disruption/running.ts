/** What the queue carries out, as its steps and the books see it. */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import type { MoveRecord } from "../../core/disruption/moves.ts";
import type { CommandRecord } from "../../core/disruption/record.ts";

/** A command whose nodes are closed and whose replacements were asked for. */
export interface RunningCommand {
  readonly record: CommandRecord;
  readonly candidates: readonly Candidate[];
  readonly replacements: readonly NodeClaim[];
  /** Absent when another process began it and its mark is gone. */
  readonly move: MoveRecord | undefined;
  /** Of one without replacements: the claim that stays and bears the mark. */
  readonly target?: NodeClaim | undefined;
  /** By the clock that never goes back. */
  readonly startedMs: number;
}

/** Of a node that goes: it is said to go, or its claim is deleted. */
type Step = "told" | "deleted";

/** Why one is taken back: its replacements will not come up, or a person has paused its pool. */
export type BackFor = "failed" | "paused";

/** All of them, and the nodes that they are about. */
export class UnderWay {
  readonly #byId = new Map<string, RunningCommand>();
  readonly #nodeNames = new Set<string>();
  /** By id, then by node: how far its end has come. */
  readonly #steps = new Map<string, Map<string, Step>>();
  /** By id: those that are being taken back. */
  readonly #back = new Map<string, BackFor>();

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

  /** It cannot go on, and never will. False when that was known already. */
  takeBack({ record }: RunningCommand, why: BackFor): boolean {
    if (this.#back.has(record.id)) return false;
    this.#back.set(record.id, why);
    return true;
  }

  /** Undefined: it is not being taken back. */
  backFor({ record }: RunningCommand): BackFor | undefined {
    return this.#back.get(record.id);
  }

  note({ record }: RunningCommand, nodeName: string, step: Step): void {
    const steps = this.#steps.get(record.id) ?? new Map<string, Step>();
    this.#steps.set(record.id, steps.set(nodeName, step));
  }

  /** Undefined: it has not begun to end. */
  stepOf({ record }: RunningCommand, nodeName: string): Step | undefined {
    return this.#steps.get(record.id)?.get(nodeName);
  }

  /** Of any of its nodes. One that another process began has fewer left than it names, once a node of its goes. */
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
