/** A hold: one reason why a node is not disrupted. */
import type { Pool } from "../../apis/hub/pool.ts";
import type { BlockKind, ObjectName } from "../disruption/candidates.ts";
import type { CommandReason } from "../disruption/command.ts";
import type { NoCommandKind } from "../disruption/consolidation.ts";

/** The kinds of holds. Each has a heading in `src/cli/program/code-words.ts`. */
export type HoldKind =
  | BlockKind
  | NoCommandKind
  | "command"
  | "static"
  | "policy"
  | "consolidateAfter"
  | "budget";

/** One reason that protects a node from disruption. */
export interface Hold {
  readonly block: HoldKind;
  readonly says: string;
  /** The object that causes the hold. Absent: the node or its claim. */
  readonly by?: ObjectName;
  /** When the hold ends, as RFC 3339. Absent: it does not end by itself, or its end is not known. */
  readonly until?: string;
  /** The reasons for disruption that the hold prevents. */
  readonly against: readonly CommandReason[];
}

/** The hold's sentence, then `more`, then the end of the hold, if the sentence does not name it. */
export function holdText({ says, until }: Pick<Hold, "says" | "until">, more = ""): string {
  return until === undefined || says.includes(until)
    ? `${says}${more}`
    : `${says}${more}, until ${until}`;
}

/** The kind and name by which users know the pool. */
export function poolObject({ generation, name }: Pool): ObjectName {
  return { kind: generation === "alpha" ? "Provisioner" : "NodePool", name };
}
