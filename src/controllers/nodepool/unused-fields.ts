/**
 * Logs each field of a NodePool or node class that is accepted but has no effect. Each is logged once.
 * apis/hub/not-acted-on.ts lists these fields; the reference pages show the list, too.
 */
import { fieldsNotActedOn } from "../../apis/hub/not-acted-on.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Logger } from "../../base/log.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";

/** The controller that logs each field without effect once. */
export function unusedFields(world: World): Controller {
  const log = world.log.with({ controller: "nodepool.fields" });
  const kinds = [...POOL_KINDS, ...world.cloud.nodeClassKinds] as readonly Kind[];
  /** The fields that were logged, by kind and name of the object. A new object with the same name has another UID. */
  const said = new Map<string, { readonly uid: string; readonly fields: Set<string> }>();

  function read({ kind, name }: Request): KubeObject | undefined {
    const found = kinds.find((one) => one.kind === kind);
    return found === undefined ? undefined : world.mirrors.of(found).get(name);
  }

  return {
    name: "nodepool.fields",
    watches: kinds.map((kind) => source(kind)),
    concurrency: 1,
    reconcile: async (request) => {
      const key = `${request.kind}/${request.name}`;
      const object = read(request);
      if (object === undefined) {
        said.delete(key);
        return AWAIT_CHANGE;
      }
      const uid = object.metadata.uid ?? "";
      const known = said.get(key);
      const fields = known?.uid === uid ? known.fields : new Set<string>();
      said.set(key, { uid, fields });
      tell(world, log, object, fields);
      return AWAIT_CHANGE;
    },
  };
}

function tell(world: World, log: Logger, object: KubeObject, said: Set<string>): void {
  for (const { path, value, note, unlessGate, isOutdated } of fieldsNotActedOn(object)) {
    if (unlessGate === "StaticCapacity" && world.settings.gates.staticCapacity) continue;
    const field = value === undefined ? path : `${path}: ${value}`;
    if (said.has(field)) continue;
    said.add(field);
    const message =
      isOutdated === true
        ? "field is accepted, but no part of Karpenter any more"
        : "field is accepted but not acted on";
    log.warn(message, {
      [object.kind ?? "object"]: { name: object.metadata.name },
      field,
      instead: note,
    });
  }
}
