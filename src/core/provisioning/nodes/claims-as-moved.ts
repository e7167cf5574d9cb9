/**
 * The planned nodes of a pass in upstream's order. Upstream sorts its list by number of pods before each pod. A node
 * that just got a pod comes before nodes that had this number already. Each step takes time in proportion to the
 * list, so this is not used for large batches.
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

  /** Inserts before the first element that is `later`. */
  #insert(claim: NewNodeClaim, later: (other: NewNodeClaim) => boolean): void {
    const at = this.#walk.findIndex(later);
    this.#walk.splice(at < 0 ? this.#walk.length : at, 0, claim);
  }
}
