/** ConfigMaps of a check's own namespace: the plainest objects that there are. */

export const CONFIG_MAPS = "/api/v1/namespaces/<<ns>>/configmaps";

/** One of them, as it is posted. */
export function configMap(name: string, data?: object) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    ...(data === undefined ? {} : { data }),
  };
}
