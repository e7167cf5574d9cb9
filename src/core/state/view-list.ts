/**
 * The views of all nodes by name, as snapshots: what has changed since the last one is put in its place, the
 * rest is taken over. A snapshot costs little more than its changes, however large the cluster is.
 */
import type { NodeView } from "./node-view.ts";

export class ViewList {
  #views: readonly NodeView[] = [];
  /** Key → what the last snapshot shows for it. */
  readonly #shown = new Map<string, NodeView>();
  readonly #changed = new Set<string>();

  /** Another view may have to be shown for the key, or none. */
  touch(key: string): void {
    this.#changed.add(key);
  }

  /** Keys whose view may be another since the last snapshot. */
  get touched(): Iterable<string> {
    return this.#changed;
  }

  /** `viewOf`: what is to be shown for a key now. The same array until something changes. */
  snapshot(viewOf: (key: string) => NodeView | undefined): readonly NodeView[] {
    const replaced = new Map<NodeView, NodeView>();
    const gone = new Set<NodeView>();
    const fresh: NodeView[] = [];
    for (const key of this.#changed) {
      const before = this.#shown.get(key);
      const now = viewOf(key);
      if (before === now) continue;
      if (now === undefined) this.#shown.delete(key);
      else this.#shown.set(key, now);
      if (before?.name === now?.name) replaced.set(before as NodeView, now as NodeView);
      else {
        if (before !== undefined) gone.add(before);
        if (now !== undefined) fresh.push(now);
      }
    }
    this.#changed.clear();
    if (gone.size > 0 || fresh.length > 0) this.#views = this.#merged(replaced, gone, fresh);
    else if (replaced.size > 0) this.#views = this.#withReplaced(replaced);
    return this.#views;
  }

  #withReplaced(replaced: ReadonlyMap<NodeView, NodeView>): readonly NodeView[] {
    const views = this.#views.slice();
    for (const [before, now] of replaced) {
      let at = this.#firstNotBelow(before.name);
      while (views[at] !== before) at++;
      views[at] = now;
    }
    return views;
  }

  #merged(
    replaced: ReadonlyMap<NodeView, NodeView>,
    gone: ReadonlySet<NodeView>,
    fresh: readonly NodeView[],
  ): readonly NodeView[] {
    const rest = fresh.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const views: NodeView[] = [];
    let next = 0;
    for (const view of this.#views) {
      if (gone.has(view)) continue;
      for (let other = rest[next]; other !== undefined && other.name < view.name; ) {
        views.push(other);
        other = rest[++next];
      }
      views.push(replaced.get(view) ?? view);
    }
    for (; next < rest.length; next++) views.push(rest[next] as NodeView);
    return views;
  }

  /** Names ascend: by halving. */
  #firstNotBelow(name: string): number {
    let [low, high] = [0, this.#views.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#views[middle] as NodeView).name < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
