/**
 * Reads what a pass will need while its batch is still collected: what pools can launch, and what pods of a template
 * require. So pods do not wait for these reads after the batch has ended.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { readPod } from "../../core/provisioning/batch/pod-class.ts";
import { readTypes } from "../../core/provisioning/pools/type-sheet.ts";
import { listPools } from "../pools.ts";
import type { World } from "../world.ts";
import { isAskedForTypes } from "./gather.ts";

/** Reads in advance what planning needs to know about this pending pod. */
export function readPodAhead({ settings, cloud }: World, pod: Pod): void {
  const { preferencePolicy } = settings;
  readPod(pod, { preferencePolicy, wellKnownLabels: cloud.wellKnownLabels });
}

/** Reads what pools can launch, once for each batch. */
export class TypesAhead {
  #areRead = false;

  async read(world: World): Promise<void> {
    if (this.#areRead) return;
    this.#areRead = true;
    for (const pool of listPools(world).filter(isAskedForTypes)) {
      try {
        readTypes(await world.cloud.getInstanceTypes(pool));
      } catch {
        // An error is ignored, because the pass itself reads again and reports it.
      }
    }
  }

  /** Records that the batch has ended, so that the types are read again for the next one. */
  end(): void {
    this.#areRead = false;
  }
}
