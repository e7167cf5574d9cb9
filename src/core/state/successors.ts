/**
 * Which claims replace which nodes, by the commands. If such a claim is deleted, its command fails and the nodes
 * stay. So they must count in limits again before the command itself is called off.
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

  /** The node no longer waits for a replacement. */
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

  /** The nodes that are removed when this claim is ready. */
  awaiting(claimName: string): readonly string[] {
    return this.#nodes.get(claimName) ?? [];
  }
}
