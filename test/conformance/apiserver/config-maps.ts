/** ConfigMaps in a check's own namespace: the simplest objects. */

export const CONFIG_MAPS = "/api/v1/namespaces/<<ns>>/configmaps";

/** A ConfigMap as the body of a POST. */
export function configMap(name: string, data?: object) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    ...(data === undefined ? {} : { data }),
  };
}
