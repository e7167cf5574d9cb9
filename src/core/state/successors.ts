/**
 * Records which claims replace which nodes in running commands. If a replacement is deleted, its command fails, and the
 * nodes are kept. These nodes must then count against limits again, even before the command is rolled back.
 */
export class Successors {
  /** For each node, by name: the claims that replace it. */
  readonly #claims = new Map<string, readonly string[]>();
  /** For each claim, by name: the nodes that it replaces. */
  readonly #nodes = new Map<string, readonly string[]>();

  set(nodeNames: readonly string[], claimNames: readonly string[]): void {
    for (const node of nodeNames) this.forget(node);
    for (const node of nodeNames) this.#claims.set(node, claimNames);
    for (const claim of claimNames) this.#nodes.set(claim, [...this.awaiting(claim), ...nodeNames]);
  }

  /** Records that the node no longer waits for a replacement. */
  forget(nodeName: string): void {
    for (const claim of this.of(nodeName)) {
      const others = this.awaiting(claim).filter((one) => one !== nodeName);
      if (others.length > 0) this.#nodes.set(claim, others);
      else this.#nodes.delete(claim);
    }
    this.#claims.delete(nodeName);
  }

  /** The claims that replace the node. */
  of(nodeName: string): readonly string[] {
    return this.#claims.get(nodeName) ?? [];
  }

  /** The nodes that will be removed when this claim is ready. */
  awaiting(claimName: string): readonly string[] {
    return this.#nodes.get(claimName) ?? [];
  }
}
