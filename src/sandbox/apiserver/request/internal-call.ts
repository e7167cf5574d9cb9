/** Requests of the control plane to its own server, for controllers that run inside it. */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Call, Engine } from "../engine.ts";
import type { ResourceDefinition } from "../resource-definition.ts";

/** The definition in whose version objects of a resource are stored. Undefined: the resource is not served. */
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

/** A request about one stored object, with `controller` as its user. */
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
