/**
 * The nodes a pass plans, to be walked by how many pods they have, fewest first. Equals in the
 * order they were opened. A walk passes over the nodes that are out of the question word by word.
 */
import { Marks } from "../scheduling/bits.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";

export class OpenClaims {
  readonly #all: NewNodeClaim[] = [];
  /** `[n]`: ids of claims with n pods. */
  readonly #byCount: Marks[] = [];

  get all(): readonly NewNodeClaim[] {
    return this.#all;
  }

  get size(): number {
    return this.#all.length;
  }

  /** Its id is its place in the order of opening. */
  open(claim: NewNodeClaim): void {
    this.#all.push(claim);
    this.#bucket(claim.pods.length).add(claim.id);
  }

  /** The claim is about to get one more pod. */
  moveUp(claim: NewNodeClaim): void {
    this.#bucket(claim.pods.length).delete(claim.id);
    this.#bucket(claim.pods.length + 1).add(claim.id);
  }

  /** The first claim in the walk that is not among the `dead` and that `takes` says yes to. */
  find(dead: Marks, takes: (claim: NewNodeClaim) => boolean): NewNodeClaim | undefined {
    for (const bucket of this.#byCount) {
      let id = bucket.nextOutside(dead, 0);
      while (id >= 0) {
        const claim = this.#all[id] as NewNodeClaim;
        if (takes(claim)) return claim;
        id = bucket.nextOutside(dead, id + 1);
      }
    }
    return undefined;
  }

  #bucket(count: number): Marks {
    while (this.#byCount.length <= count) this.#byCount.push(new Marks());
    return this.#byCount[count] as Marks;
  }
}
