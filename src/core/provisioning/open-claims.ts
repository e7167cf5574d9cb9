/**
 * The nodes a pass plans, to be walked by how many pods they have, fewest first. Equals in the
 * order they were opened.
 */
import type { NewNodeClaim } from "./new-nodeclaim.ts";

export class OpenClaims {
  readonly #all: NewNodeClaim[] = [];
  /** `[n]`: claims with n pods, by id. */
  readonly #byCount: NewNodeClaim[][] = [];

  get all(): readonly NewNodeClaim[] {
    return this.#all;
  }

  get size(): number {
    return this.#all.length;
  }

  open(claim: NewNodeClaim): void {
    this.#all.push(claim);
    this.#bucket(claim.pods.length).push(claim);
  }

  /** The claim is about to get one more pod. */
  moveUp(claim: NewNodeClaim): void {
    const from = this.#bucket(claim.pods.length);
    from.splice(position(from, claim.id), 1);
    const to = this.#bucket(claim.pods.length + 1);
    to.splice(position(to, claim.id), 0, claim);
  }

  /** The first claim in the walk that `takes` says yes to. */
  find(takes: (claim: NewNodeClaim) => boolean): NewNodeClaim | undefined {
    for (const bucket of this.#byCount) {
      for (const claim of bucket) if (takes(claim)) return claim;
    }
    return undefined;
  }

  #bucket(count: number): NewNodeClaim[] {
    while (this.#byCount.length <= count) this.#byCount.push([]);
    return this.#byCount[count] as NewNodeClaim[];
  }
}

/** Where the id is, or belongs. */
function position(bucket: readonly NewNodeClaim[], id: number): number {
  let low = 0;
  let high = bucket.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bucket[middle] as NewNodeClaim).id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
