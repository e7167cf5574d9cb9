/** Maps of maps: an inner map is created when it is first asked for. */

/** What the map holds for the key; made, and kept there, if it holds nothing. */
export function within<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
