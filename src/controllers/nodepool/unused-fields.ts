/**
 * Says once, for each object and field, that a pool or node class asks for something nothing acts on:
 * accepted is not the same as done. The list is apis/hub/not-acted-on.ts, also in the reference pages.
 */
import { fieldsNotActedOn } from "../../apis/hub/not-acted-on.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { AWAIT_CHANGE, type Controller, source } from "../../kube/controller.ts";
import type { World } from "../world.ts";

export function unusedFields(world: World): Controller {
  const log = world.log.with({ controller: "nodepool.fields" });
  const said = new Set<string>();

  function tell(object: KubeObject): void {
    for (const { path, value, note } of fieldsNotActedOn(object)) {
      const key = `${object.metadata.uid}/${path}/${value}`;
      if (said.has(key)) continue;
      said.add(key);
      const field = value === undefined ? path : `${path}: ${value}`;
      log.warn("field is accepted but not acted on", {
        [object.kind ?? "object"]: { name: object.metadata.name },
        field,
        instead: note,
      });
    }
  }

  return {
    name: "nodepool.fields",
    watches: [...POOL_KINDS, ...world.cloud.nodeClassKinds].map((kind) =>
      source(kind as Kind, (object, event) => {
        if (event !== "removed") tell(object);
        return [];
      }),
    ),
    concurrency: 1,
    reconcile: async () => AWAIT_CHANGE,
  };
}
