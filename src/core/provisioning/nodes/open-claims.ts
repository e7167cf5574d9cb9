/**
 * The planned nodes of a pass, in the order in which they are checked for a pod: fewest pods first, then the oldest.
 */
import { within } from "../../../base/within.ts";
import { Marks } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";

/** The answer of a planned node. `noneLikeIt`: neither this node nor one with the same requirements takes the pod. */
export type ClaimAnswer = "take" | "pass" | "noneLikeIt";

export class OpenClaims {
  readonly #all: NewNodeClaim[] = [];
  /** Index n: the ids of the nodes with n pods, and how many there are. */
  readonly #byCount: { readonly ids: Marks; size: number }[] = [];
  /** All n for which some node has exactly n pods. */
  readonly #counts = new Marks();
  /** The ids of nodes, by their requirement set. */
  readonly #bySet = new Map<SetId, Marks>();
  #asked = 0;

  get all(): readonly NewNodeClaim[] {
    return this.#all;
  }

  get size(): number {
    return this.#all.length;
  }

  /** How many nodes were checked so far. This measures the cost of placing pods. */
  get asked(): number {
    return this.#asked;
  }

  /** Adds a planned node. Its id must be its number in the order of opening. */
  open(claim: NewNodeClaim): void {
    this.#all.push(claim);
    this.#enter(claim.id, claim.pods.length);
    this.#like(claim.set).add(claim.id);
  }

  /** Must be called before the node gets one more pod. `set`: the requirements of the node with that pod. */
  moveUp(claim: NewNodeClaim, set: SetId): void {
    const count = claim.pods.length;
    const from = this.#bucket(count);
    from.ids.delete(claim.id);
    if (--from.size === 0) this.#counts.delete(count);
    this.#enter(claim.id, count + 1);
    if (set === claim.set) return;
    this.#like(claim.set).delete(claim.id);
    this.#like(set).add(claim.id);
  }

  /** The first node for which `ask` answers `take`. Nodes in `dead` are skipped. */
  find(
    dead: readonly Marks[],
    ask: (claim: NewNodeClaim) => ClaimAnswer,
  ): NewNodeClaim | undefined {
    if (this.#all.length === 0) return undefined;
    const passedOver = [...dead];
    let count = this.#counts.nextOutside([], 0);
    for (; count >= 0; count = this.#counts.nextOutside([], count + 1)) {
      const { ids } = this.#bucket(count);
      let id = ids.nextOutside(passedOver, 0);
      while (id >= 0) {
        const claim = this.#all[id] as NewNodeClaim;
        const answer = ask(claim);
        this.#asked++;
        if (answer === "take") return claim;
        if (answer === "noneLikeIt") passedOver.push(this.#like(claim.set));
        id = ids.nextOutside(passedOver, id + 1);
      }
    }
    return undefined;
  }

  #like(set: SetId): Marks {
    return within(this.#bySet, set, () => new Marks());
  }

  #enter(id: number, count: number): void {
    const bucket = this.#bucket(count);
    bucket.ids.add(id);
    if (bucket.size++ === 0) this.#counts.add(count);
  }

  #bucket(count: number): { readonly ids: Marks; size: number } {
    while (this.#byCount.length <= count) this.#byCount.push({ ids: new Marks(), size: 0 });
    return this.#byCount[count] as { readonly ids: Marks; size: number };
  }
}
