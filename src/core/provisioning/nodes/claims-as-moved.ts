/**
 * The nodes a pass plans, walked as upstream walks them: its list is sorted by how many pods they have
 * before each pod, and what has just got one more comes before those that had as many already. For
 * batches that are not large: each step is as long as the list.
 * upstream: pkg/controllers/provisioning/scheduling/scheduler.go
 */
import type { Marks } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";
import { type Answer, OpenClaims } from "./open-claims.ts";

export class ClaimsAsMoved extends OpenClaims {
  /** Fewest pods first. */
  readonly #walk: NewNodeClaim[] = [];

  override open(claim: NewNodeClaim): void {
    super.open(claim);
    const { length } = claim.pods;
    this.#insert(claim, (other) => other.pods.length > length);
  }

  override moveUp(claim: NewNodeClaim, set: SetId): void {
    super.moveUp(claim, set);
    const { length } = claim.pods;
    this.#walk.splice(this.#walk.indexOf(claim), 1);
    this.#insert(claim, (other) => other.pods.length > length);
  }

  override find(
    dead: readonly Marks[],
    ask: (claim: NewNodeClaim) => Answer,
  ): NewNodeClaim | undefined {
    return this.#walk.find(
      (claim) => !dead.some((marks) => marks.has(claim.id)) && ask(claim) === "take",
    );
  }

  /** Before the first that is `later`. */
  #insert(claim: NewNodeClaim, later: (other: NewNodeClaim) => boolean): void {
    const at = this.#walk.findIndex(later);
    this.#walk.splice(at < 0 ? this.#walk.length : at, 0, claim);
  }
}
