/** Values that are created when they are first needed: cached results, groups, maps of maps. */

/** What contains the values: a Map, a WeakMap, or anything like them. */
interface Holder<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/**
 * The value for the key. If there is none, creates one and puts it into the map. Code that runs for every pod calls
 * `map.get(key) ?? within(map, key, make)`, so that `make` is created only if the value is missing.
 */
export function within<K, V>(map: Holder<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** A map that is emptied when it is full, for cached results that are rarely needed again. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#most) this.clear();
    return super.set(key, value);
  }
}
