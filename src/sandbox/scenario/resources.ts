/** Finds the API path of a kind by the API server's discovery, as kubectl does. */
import type { Kind } from "../../apis/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotServed, KubeError } from "../../kube/errors.ts";

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

/** Finds a kind by apiVersion and name. */
export interface ScenarioResources {
  /** Rejects if the server does not serve the kind. */
  kind(apiVersion: string, kind: string): Promise<Kind>;
}

/** Reads discovery when a kind is first requested, and keeps the answer. */
export function discoverResources(client: KubeClient): ScenarioResources {
  const known = new Map<string, Kind>();
  return {
    kind: async (apiVersion, kind) => {
      const id = `${apiVersion}/${kind}`;
      const found = known.get(id) ?? (await find(client, apiVersion, kind));
      known.set(id, found);
      return found;
    },
  };
}

async function find(client: KubeClient, apiVersion: string, kind: string): Promise<Kind> {
  const found = (await servedIn(client, apiVersion)).find(
    (resource) => resource.kind === kind && !resource.name.includes("/"),
  );
  if (found === undefined) {
    const message = `no matches for kind "${kind}" in version "${apiVersion}"`;
    throw new KubeError(404, { message, reason: "NotFound" }, "discovery");
  }
  const [group = "", version = apiVersion] = apiVersion.includes("/")
    ? apiVersion.split("/")
    : ["", apiVersion];
  return { group, version, kind, plural: found.name, namespaced: found.namespaced };
}

/** The kinds that the server has in this group and version. Empty if it does not know them. */
async function servedIn(client: KubeClient, apiVersion: string) {
  const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  try {
    return ((await client.raw({ method: "GET", path })).body as ResourceList).resources;
  } catch (error) {
    if (isNotServed(error)) return [];
    throw error;
  }
}
