/**
 * Whether two forms of an object are alike. Then the cluster state need not be fed with the second one: a busy kubelet
 * writes many fields of pods that a mirror does not keep.
 */
import type { KubeObject } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";

/** Whether only the resource version differs. Unchanged parts are mostly the same objects in both. */
export function isAlike(a: KubeObject, b: KubeObject): boolean {
  return haveSameParts(a, b, (x, y) => x === y || (isObject(x) && isObject(y) && areSame(x, y)));
}

function areSame(a: object, b: object): boolean {
  return haveSameParts(a, b, (x, y, name) => x === y || name === "resourceVersion");
}

function haveSameParts(
  a: object,
  b: object,
  isSame: (x: unknown, y: unknown, name: string) => boolean,
): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return names.every((name) => isSame(one[name], other[name], name));
}
