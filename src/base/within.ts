/** Maps of maps: an inner map is created when it is first asked for. */

/** The map's value for the key. If there is none, makes one and puts it into the map. */
export function within<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
