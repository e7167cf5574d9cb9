/**
 * The views of all nodes, sorted by name. A snapshot of the list never changes. A new snapshot copies the last one and
 * replaces the changed views, so its cost depends on the number of changes. If there are many changes, they can be
 * processed in advance, in steps.
 */
import { firstNotBelow } from "../../base/sorted.ts";
import type { Steps } from "../../base/steps.ts";
import type { NodeView } from "./node-view.ts";

/** So many changes are processed together. After them, the whole list is copied once. */
const KEYS_PER_STEP = 1_024;
/** Number of views that are made in one step. Each takes a few microseconds. */
const VIEWS_PER_STEP = 64;

/** Returns the current view for a key. */
type ViewOf = (key: string) => NodeView | undefined;

/** The list of node views. A snapshot shares unchanged views with the previous one. */
export class ViewList {
  #views: readonly NodeView[] = [];
  /** For each key: its view in the last snapshot. */
  readonly #shown = new Map<string, NodeView>();
  /** For each pool id: the number of its nodes in the last snapshot. */
  readonly #owned = new Map<string, number>();
  readonly #changed = new Set<string>();
  readonly #keysPerStep: number;

  constructor(keysPerStep = KEYS_PER_STEP) {
    this.#keysPerStep = keysPerStep;
  }

  /** Records that the view for the key may have changed. */
  touch(key: string): void {
    this.#changed.add(key);
  }

  /** The view for the key in the last snapshot. */
  shown(key: string): NodeView | undefined {
    return this.#shown.get(key);
  }

  /** Whether the last snapshot has nodes of the pool with this id. */
  ownsNodes(poolId: string): boolean {
    return (this.#owned.get(poolId) ?? 0) > 0;
  }

  /**
   * Processes changes until few are left, in steps. More changes may be recorded between the steps. `viewOf` caches
   * views, so that the next snapshot need not make them.
   */
  *catchUp(viewOf: ViewOf): Steps<void> {
    while (this.#changed.size > this.#keysPerStep) {
      const keys: string[] = [];
      for (const key of this.#changed) {
        if (keys.push(key) === this.#keysPerStep) break;
      }
      // Makes the views before the list is changed, because that is most of the work.
      for (const [index, key] of keys.entries()) {
        viewOf(key);
        if (index % VIEWS_PER_STEP === VIEWS_PER_STEP - 1) yield;
      }
      this.#takeIn(keys, viewOf);
      yield;
    }
    let looked = 0;
    for (const key of this.#changed) {
      viewOf(key);
      if (++looked % VIEWS_PER_STEP === 0) yield;
    }
  }

  /** All views, sorted by name. It is the same array until something changes. */
  snapshot(viewOf: ViewOf): readonly NodeView[] {
    this.#takeIn([...this.#changed], viewOf);
    return this.#views;
  }

  #takeIn(keys: readonly string[], viewOf: ViewOf): void {
    const replaced = new Map<NodeView, NodeView>();
    const gone = new Set<NodeView>();
    const fresh: NodeView[] = [];
    for (const key of keys) {
      this.#changed.delete(key);
      const before = this.#shown.get(key);
      const now = viewOf(key);
      if (before === now) continue;
      this.#count(before, -1);
      this.#count(now, 1);
      if (now === undefined) this.#shown.delete(key);
      else this.#shown.set(key, now);
      if (before?.name === now?.name) replaced.set(before as NodeView, now as NodeView);
      else {
        if (before !== undefined) gone.add(before);
        if (now !== undefined) fresh.push(now);
      }
    }
    if (gone.size > 0 || fresh.length > 0) this.#views = this.#merged(replaced, gone, fresh);
    else if (replaced.size > 0) this.#views = this.#withReplaced(replaced);
  }

  #count(view: NodeView | undefined, by: 1 | -1): void {
    if (view?.poolId === undefined) return;
    const count = (this.#owned.get(view.poolId) ?? 0) + by;
    if (count === 0) this.#owned.delete(view.poolId);
    else this.#owned.set(view.poolId, count);
  }

  #withReplaced(replaced: ReadonlyMap<NodeView, NodeView>): readonly NodeView[] {
    const views = this.#views.slice();
    for (const [before, now] of replaced) {
      let at = firstNotBelow(
        views.length,
        (index) => (views[index] as NodeView).name < before.name,
      );
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
}
