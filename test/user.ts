/**
 * What a user with kubectl does to a cluster: applies manifests, reads objects, scales and deletes. Each function
 * resolves when controllers have reacted as far as they can without time passing.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { KubeObject } from "../src/apis/meta.ts";
import type { VirtualClock } from "../src/base/virtual-clock.ts";
import { readManifests } from "../src/cli/sandbox/box.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { discoverResources } from "../src/sandbox/scenario/resources.ts";

const SEEDS = fileURLToPath(new URL("./fixtures/seeds/", import.meta.url));

export interface User {
  /** Server-side applies a seed manifest (path below test/fixtures/seeds), `${CLUSTER_NAME}` filled in. */
  applySeed(file: string): Promise<KubeObject[]>;
  /** Server-side applies objects or YAML text. */
  apply(what: string | KubeObject): Promise<KubeObject[]>;
  /** All objects of a kind, by key; `apiVersion` defaults to v1. */
  list<T extends KubeObject = KubeObject>(
    kind: string,
    apiVersion?: string,
    labelSelector?: string,
  ): Promise<readonly T[]>;
  get<T extends KubeObject = KubeObject>(
    kind: string,
    name: string,
    apiVersion?: string,
    namespace?: string,
  ): Promise<T>;
  scale(deployment: string, replicas: number): Promise<void>;
  remove(
    kind: string,
    name: string,
    apiVersion?: string,
    propagationPolicy?: "Background" | "Foreground" | "Orphan",
  ): Promise<void>;
}

/** `clusterName`: the value for `${CLUSTER_NAME}` in manifests. */
export function createUser(
  client: KubeClient,
  clock: Pick<VirtualClock, "settle">,
  clusterName: string,
): User {
  const resources = discoverResources(client);

  async function applyOne(object: KubeObject): Promise<KubeObject> {
    const kind = await resources.kind(object.apiVersion ?? "", object.kind ?? "");
    const namespace = kind.namespaced ? (object.metadata.namespace ?? "default") : undefined;
    return client.patch(
      kind,
      { name: object.metadata.name, namespace },
      { type: "apply", body: object, fieldManager: "kubectl", force: true },
    );
  }

  async function apply(what: string | KubeObject): Promise<KubeObject[]> {
    const objects =
      typeof what === "string"
        ? readManifests(what.replaceAll(/\$\{CLUSTER_NAME\}|\$CLUSTER_NAME\b/g, clusterName))
        : [what];
    const applied: KubeObject[] = [];
    for (const object of objects) applied.push(await applyOne(object));
    await clock.settle();
    return applied;
  }

  return {
    apply,
    applySeed: (file) => apply(readFileSync(SEEDS + file, "utf8")),
    list: async (kind, apiVersion = "v1", labelSelector) => {
      const found = await client.list(await resources.kind(apiVersion, kind), {
        ...(labelSelector === undefined ? {} : { labelSelector }),
      });
      return found.items as never;
    },
    get: async (kind, name, apiVersion = "v1", namespace) => {
      const found = await resources.kind(apiVersion, kind);
      const scope = found.namespaced ? (namespace ?? "default") : undefined;
      return (await client.get(found, { name, namespace: scope })) as never;
    },
    scale: async (name, replicas) => {
      const kind = await resources.kind("apps/v1", "Deployment");
      const body = { spec: { replicas } };
      await client.patch(kind, { name, namespace: "default" }, { type: "merge", body }, "scale");
      await clock.settle();
    },
    remove: async (kind, name, apiVersion = "v1", propagationPolicy = "Background") => {
      const found = await resources.kind(apiVersion, kind);
      const namespace = found.namespaced ? "default" : undefined;
      await client.delete(found, { name, namespace }, { propagationPolicy });
      await clock.settle();
    },
  };
}
