/**
 * Shrinks a failing scenario: removes parts, the largest first, as long as it still fails. It does not depend on how
 * scenarios are drawn.
 */
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

/** `fails` is called for each smaller scenario. A scenario that cannot be planned does not count as failing. */
export function shrink(
  scenario: Scenario,
  fails: (smaller: Scenario) => boolean,
  maxTries = 600,
): Scenario {
  let tries = 0;
  const stillFails = (smaller: Scenario) => tries++ < maxTries && fails(smaller);
  let best = scenario;
  for (let changed = true; changed && tries < maxTries; ) {
    changed = false;
    for (const list of ["manifests", "instanceTypes"] as const) {
      for (
        let size = Math.ceil(best[list].length / 2);
        size >= 1;
        size = size === 1 ? 0 : Math.ceil(size / 2)
      ) {
        for (let at = best[list].length - size; at >= 0; at -= size) {
          const smaller = { ...best, [list]: best[list].toSpliced(at, size) };
          if (!stillFails(smaller)) continue;
          best = smaller;
          changed = true;
        }
      }
    }
    for (const list of ["manifests", "instanceTypes"] as const) {
      for (let at = 0; at < best[list].length; at++) {
        for (const smaller of without(best[list][at])) {
          const next = { ...best, [list]: best[list].with(at, smaller) };
          if (!stillFails(next)) continue;
          best = next;
          changed = true;
        }
      }
    }
  }
  return best;
}

/** Without these fields an object would mean something else. */
const KEPT = new Set(
  "spec template metadata containers labelSelector matchLabels labels topologyKey whenUnsatisfiable maxSkew operator key effect capacity offerings status allocatable podAffinityTerm preference values nodeSelectorTerms nodeClassRef kubernetes.io/hostname app requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution zone capacityType priceMicroUsdPerHour".split(
    " ",
  ),
);

/** The value with one field or element less. Fields that identify the object stay. */
function* without(value: Json, path: readonly (string | number)[] = []): Generator<Json> {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    if (path.at(-1) === "values" || path.at(-1) === "nodeSelectorTerms") continue;
    const identity = path.length === 0 && ["apiVersion", "kind", "name"].includes(key);
    const named = path[0] === "metadata" && ["name", "namespace", "uid"].includes(key);
    if (identity || named || KEPT.has(key)) continue;
    const smaller = Array.isArray(value) ? value.toSpliced(Number(key), 1) : { ...value };
    if (!Array.isArray(value)) delete smaller[key];
    yield smaller;
  }
  for (const key of Object.keys(value)) {
    for (const part of without(value[key], [...path, key])) {
      const copy = Array.isArray(value) ? [...value] : { ...value };
      copy[key as keyof typeof copy] = part;
      yield copy;
    }
  }
}
