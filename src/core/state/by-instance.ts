/**
 * Finds Nodes, or claims, by the provider id of their instance. Two of them may name the same instance: somebody copied
 * a claim, or created a Node with the provider id of another one. If one is deleted, the other is found again.
 */
export class ByInstance {
  /** Keys by provider id. The key that was added last is last. */
  readonly #keys = new Map<string, readonly string[]>();

  add(providerId: string, key: string): void {
    const others = this.#keys.get(providerId)?.filter((one) => one !== key) ?? [];
    this.#keys.set(providerId, [...others, key]);
  }

  delete(providerId: string, key: string): void {
    const left = this.all(providerId).filter((one) => one !== key);
    if (left.length > 0) this.#keys.set(providerId, left);
    else this.#keys.delete(providerId);
  }

  /** The key that was added last. */
  get(providerId: string): string | undefined {
    return this.#keys.get(providerId)?.at(-1);
  }

  all(providerId: string): readonly string[] {
    return this.#keys.get(providerId) ?? [];
  }
}
