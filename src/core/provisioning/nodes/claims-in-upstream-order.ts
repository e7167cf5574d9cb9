/**
 * The planned nodes of a pass in upstream's order: by number of pods, and among equal ones the node that got a pod last
 * comes first. Each step takes time in proportion to the number of nodes, so large batches do not use this order.
 * upstream: pkg/controllers/provisioning/scheduling/scheduler.go
 */
import type { Marks } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";
import { type ClaimAnswer, OpenClaims } from "./open-claims.ts";

export class ClaimsInUpstreamOrder extends OpenClaims {
  /** The planned nodes in order, those with the fewest pods first. */
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
    ask: (claim: NewNodeClaim) => ClaimAnswer,
  ): NewNodeClaim | undefined {
    return this.#walk.find(
      (claim) => !dead.some((marks) => marks.has(claim.id)) && ask(claim) === "take",
    );
  }

  #insert(claim: NewNodeClaim, later: (other: NewNodeClaim) => boolean): void {
    const at = this.#walk.findIndex(later);
    this.#walk.splice(at < 0 ? this.#walk.length : at, 0, claim);
  }
}
