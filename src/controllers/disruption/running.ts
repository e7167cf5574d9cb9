/** What the queue carries out, as its steps and the books see it. */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import type { Move } from "../../core/disruption/moves.ts";
import type { CommandRecord } from "../../core/disruption/record.ts";

/** A command whose nodes are closed and whose replacements were asked for. */
export interface Running {
  readonly record: CommandRecord;
  readonly candidates: readonly Candidate[];
  readonly replacements: readonly NodeClaim[];
  /** Absent when another process began it and its mark is gone. */
  readonly move: Move | undefined;
}
