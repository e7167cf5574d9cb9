/** The sum of the resource requests of all pods of some classes. */
import type { Resources } from "../../../apis/resources.ts";
import type { PodClass } from "../../provisioning/batch/pod-class.ts";

/** The sum for the classes in `some` (default: all). `counts`: the pods of each class (pods equal for planning). */
export function totalRequests(
  counts: ReadonlyMap<PodClass, number>,
  some: Iterable<PodClass> = counts.keys(),
): Resources {
  const sum: Record<string, number> = {};
  for (const podClass of some) {
    const { requests } = podClass;
    const count = counts.get(podClass) ?? 0;
    for (const name in requests) sum[name] = (sum[name] ?? 0) + (requests[name] as number) * count;
  }
  return sum;
}
