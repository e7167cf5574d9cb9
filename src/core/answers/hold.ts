/** One thing that keeps a node where it is. */
import type { BlockKind, ObjectName } from "../disruption/candidates.ts";
import type { CommandReason } from "../disruption/command.ts";
import type { StayingKind } from "../disruption/consolidation.ts";

export type HoldKind =
  | BlockKind
  | StayingKind
  | "command"
  | "static"
  | "policy"
  | "consolidateAfter"
  | "budget";

export interface Hold {
  readonly block: HoldKind;
  readonly says: string;
  /** The object that causes it; absent: the node or its claim itself. */
  readonly by?: ObjectName;
  /** RFC 3339; absent: it does not end by itself, or nobody can say when. */
  readonly until?: string;
  /** What it keeps from happening. */
  readonly against: readonly CommandReason[];
}
