/** One thing that keeps a node where it is. */
import type { BlockKind, ObjectName } from "../disruption/candidates.ts";
import type { CommandReason } from "../disruption/command.ts";
import type { NoCommandKind } from "../disruption/consolidation.ts";

/** What protects a node. Each kind has its words in `src/cli/program/code-words.ts`. */
export type HoldKind =
  | BlockKind
  | NoCommandKind
  | "command"
  | "static"
  | "policy"
  | "consolidateAfter"
  | "budget";

/** One thing that protects a node from disruption. */
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

/** Its sentence, with what `more` adds, and until when where that is not said yet. */
export function holdText({ says, until }: Pick<Hold, "says" | "until">, more = ""): string {
  return until === undefined || says.includes(until)
    ? `${says}${more}`
    : `${says}${more}, until ${until}`;
}
