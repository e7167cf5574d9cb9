/**
 * The nodes a pass plans, to be walked by how many pods they have, fewest first. Equals in the order they
 * were opened.
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

  /** The claim is about to get one more pod. Ends any walk in progress. */
  moveUp(claim: NewNodeClaim): void {
    const from = this.#bucket(claim.pods.length);
    from.splice(position(from, claim.id), 1);
    const to = this.#bucket(claim.pods.length + 1);
    to.splice(position(to, claim.id), 0, claim);
  }

  *byPodCount(): Iterable<NewNodeClaim> {
    for (const bucket of this.#byCount) if (bucket !== undefined) yield* bucket;
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
