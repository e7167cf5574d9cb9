/** Requests that the control plane makes of its own server, for controllers that live inside it. */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Call, Engine } from "../engine.ts";
import type { ResourceDefinition } from "../resource-definition.ts";

/** The definition at which objects of a resource are stored; undefined when it is not served (any more). */
export function storageDefinition(
  engine: Engine,
  storageKey: string,
): ResourceDefinition | undefined {
  return engine.registry
    .list()
    .find(
      (definition) =>
        definition.storageKey === storageKey && definition.version === definition.storageVersion,
    );
}

/** A call on one stored object, as `controller`. */
export function callOn(
  engine: Engine,
  definition: ResourceDefinition,
  object: KubeObject,
  controller: string,
): Call {
  const { name, namespace } = object.metadata;
  return {
    engine,
    definition,
    user: {
      name: `system:serviceaccount:kube-system:${controller}`,
      groups: ["system:serviceaccounts", "system:authenticated"],
    },
    method: "PUT",
    path: {
      group: definition.group,
      version: definition.version,
      plural: definition.plural,
      namespace,
      name,
      subresource: undefined,
      rest: [],
    },
    query: new URLSearchParams(),
    headers: {},
    body: undefined,
    warnings: [],
  };
}
