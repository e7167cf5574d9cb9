/** Values that are made when they are first asked for: kept answers, groups, maps of maps. */

/** What holds the values: a Map, a WeakMap, or anything like them. */
interface Holder<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/**
 * The value for the key. If there is none, makes one and puts it into the map. What runs for every pod asks
 * `map.get(key) ?? within(map, key, make)`: then no function is made for a value that is there.
 */
export function within<K, V>(map: Holder<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** A map that is emptied when it is full. For kept answers, of which few are ever asked for. */
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
