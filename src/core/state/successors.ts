/**
 * Which claims are to come in place of which nodes, as commands have it. A command whose claim goes instead cannot go
 * on: its nodes will stay, so they are counted again where room is counted, before anybody has opened them.
 */
export class Successors {
  /** Node → claims, by name. */
  readonly #claims = new Map<string, readonly string[]>();
  /** Claim → nodes. */
  readonly #nodes = new Map<string, readonly string[]>();

  set(nodeNames: readonly string[], claimNames: readonly string[]): void {
    for (const node of nodeNames) this.forget(node);
    for (const node of nodeNames) this.#claims.set(node, claimNames);
    for (const claim of claimNames) this.#nodes.set(claim, [...this.awaiting(claim), ...nodeNames]);
  }

  /** The node goes whatever comes, or stays. */
  forget(nodeName: string): void {
    for (const claim of this.of(nodeName)) {
      const others = this.awaiting(claim).filter((one) => one !== nodeName);
      if (others.length > 0) this.#nodes.set(claim, others);
      else this.#nodes.delete(claim);
    }
    this.#claims.delete(nodeName);
  }

  /** What is to come in its place. */
  of(nodeName: string): readonly string[] {
    return this.#claims.get(nodeName) ?? [];
  }

  /** The nodes that go when this claim has come. */
  awaiting(claimName: string): readonly string[] {
    return this.#nodes.get(claimName) ?? [];
  }
}
