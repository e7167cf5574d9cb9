/**
 * A whole cluster with Karpenter inside, on virtual time, for tests that span folders: apply what a
 * user applies, let time pass, look at the world from outside (the API, the AWS journal, the log).
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { KubeObject } from "../src/apis/meta.ts";
import { VirtualClock } from "../src/base/virtual-clock.ts";
import { type Box, type BoxOptions, openBox, readManifests } from "../src/cli/sandbox/box.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { valueAt } from "../src/sandbox/scenario/promise-check.ts";
import { discoverResources } from "../src/sandbox/scenario/resources.ts";
import { formatTrace } from "../src/sandbox/trace.ts";

const SEEDS = fileURLToPath(new URL("./fixtures/seeds/", import.meta.url));

/** For `sells`: a few families in place of all, which a world has to read, price and plan with. */
export function isUsual(type: string): boolean {
  return /^(c5|c6g|m5|m6i|r5|r6g)\./.test(type);
}

export interface TestWorld {
  readonly clock: VirtualClock;
  readonly box: Box;
  readonly client: KubeClient;
  /** Trace lines so far. */
  readonly trace: readonly string[];
  /** Lines of Karpenter's log so far. */
  log(): readonly string[];
  /** Server-side applies a seed manifest (path below test/fixtures/seeds), `${CLUSTER_NAME}` filled in. */
  applySeed(file: string): Promise<KubeObject[]>;
  /** The same for objects or YAML text. */
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
  /** Lets time pass until the condition holds; fails with `what` when `limitMs` passed first. */
  until(what: string, condition: () => Promise<boolean> | boolean, limitMs?: number): Promise<void>;
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** `startMs`: when its clock begins; every simulation's usual morning by default. */
export async function openWorld({
  startMs,
  ...options
}: Partial<BoxOptions> & { readonly startMs?: number } = {}): Promise<TestWorld> {
  const clock = new VirtualClock(startMs);
  const trace: string[] = [];
  const clusterName = options.clusterName ?? "karpenter-demo";
  const box = await openBox({
    clock,
    seed: 1,
    provider: "aws",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "debug",
    ...options,
    clusterName,
    trace: (event) => {
      trace.push(formatTrace(event));
      options.trace?.(event);
    },
  });
  const { client } = box.sandbox;
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

  const world: TestWorld = {
    clock,
    box,
    client,
    trace,
    log: () => box.karpenterLog.lines("karpenter/karpenter-0") ?? [],
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
    until: async (what, condition, limitMs = 180_000) => {
      const deadlineMs = clock.now() + limitMs;
      await clock.settle();
      while (!(await condition())) {
        if (clock.now() >= deadlineMs)
          throw new Error(`never happened: ${what}\n${trace.slice(-30).join("\n")}`);
        await clock.advance(500);
      }
    },
    advance: (ms) => clock.advance(ms),
    close: async () => {
      let stopped = false;
      const stopping = box.stop().finally(() => {
        stopped = true;
      });
      // What is under way needs time to come to its end.
      while (!stopped) await clock.advance(1_000);
      await stopping;
    },
  };
  await clock.settle();
  return world;
}

/** The text at a dotted path (`status.conditions[Ready]`), for assertions. */
export { valueAt };
