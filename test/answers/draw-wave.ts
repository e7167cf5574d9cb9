/**
 * Small clusters with limits and without consolidation, and a second wave of apps for each: what they launch must be
 * what a plan says. One seed, one wave.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import { ALL, drawApp, drawPool, NODE_CLASS, type PoolObject, type Story } from "./draw-story.ts";

export interface Wave {
  /** The cluster before the wave. */
  readonly story: Omit<Story, "change">;
  readonly apps: readonly KubeObject[];
}

const LIMITS = [
  undefined,
  { cpu: "24" },
  { cpu: "48" },
  { cpu: "96" },
  { memory: "64Gi" },
  { nodes: "4" },
  { nodes: "8" },
] as const;

/** The wave of a seed. */
export function drawWave(seed: number): Wave {
  const random = new Random(`wave/${seed}`);
  const names = ["blue", "green"].slice(0, 1 + random.int(2));
  const pools = names.map((name) => withLimits(random, drawPool(random, name, false)));
  const apps = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, at) => drawApp(random, `${prefix}-${at}`, names, ALL));
  const first = apps("first", 1 + random.int(3));
  const scaled = first.flatMap(({ name, replicas }) =>
    replicas > 1 && random.int(2) === 0 ? [{ name, replicas: 1 + random.int(replicas - 1) }] : [],
  );
  const second = apps("wave", 2 + random.int(4));
  return {
    story: { objects: [NODE_CLASS, ...pools, ...first.flatMap(({ objects }) => objects)], scaled },
    apps: second.flatMap(({ objects }) => objects),
  };
}

function withLimits(random: Random, pool: PoolObject): KubeObject {
  const limits = random.pick(LIMITS);
  const disruption = { ...pool.spec.disruption, consolidateAfter: "Never" };
  const spec = { ...pool.spec, disruption, ...(limits === undefined ? {} : { limits }) };
  return { ...pool, spec } as KubeObject;
}
