/**
 * Small random clusters with limits and without consolidation, and a second wave of apps for each. The nodes launched
 * for the wave must be those of the plan. Equal kinds and seeds give equal waves.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import {
  AWS_CLASS,
  AWS_ZONES,
  reservationsOf,
  type SoldReservation,
  toAwsPool,
} from "./draw-aws.ts";
import { storageClasses, withDisks } from "./draw-disks.ts";
import {
  ALL,
  drawApp,
  drawPool,
  NODE_CLASS,
  type PoolObject,
  type Story,
  ZONES,
} from "./draw-story.ts";

/**
 * `plain`: kwok. `volumes`: kwok, with disks in a fixed zone or created where the pod is scheduled. `aws`: AWS, with
 * such disks and capacity reservations. `sets`: kwok, and the wave has StatefulSets, most of which create their pods in
 * order.
 */
export const WAVE_KINDS = ["plain", "volumes", "aws", "sets"] as const;
export type WaveKind = (typeof WAVE_KINDS)[number];

export interface Wave {
  readonly provider: "aws" | "kwok";
  readonly reservations: readonly SoldReservation[];
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

/** The wave for a seed. */
export function drawWave(seed: number, kind: WaveKind = "plain"): Wave {
  const isAws = kind === "aws";
  const hasDisks = kind === "volumes" || isAws;
  const random = new Random(kind === "plain" ? `wave/${seed}` : `wave/${kind}/${seed}`);
  const names = ["blue", "green"].slice(0, 1 + random.int(2));
  const pools = names.map((name) => {
    const pool = withLimits(random, drawPool(random, name, false));
    return isAws ? toAwsPool(random, pool) : pool;
  });
  const apps = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, at) => drawApp(random, `${prefix}-${at}`, names, ALL));
  const first = apps("first", 1 + random.int(3));
  const scaled = first.flatMap(({ name, replicas }) =>
    replicas > 1 && random.int(2) === 0 ? [{ name, replicas: 1 + random.int(replicas - 1) }] : [],
  );
  const second = apps("wave", 2 + random.int(4));
  const disks = new Random(`wave/disks/${seed}`);
  const objectsOf = (some: typeof first): readonly KubeObject[] =>
    some.flatMap(({ objects }) =>
      !hasDisks ? objects : withDisks(disks, objects, isAws ? AWS_ZONES : ZONES),
    );
  const bases = [
    isAws ? AWS_CLASS : NODE_CLASS,
    ...(!hasDisks ? [] : storageClasses(isAws ? AWS_ZONES : ZONES)),
  ];
  return {
    provider: isAws ? "aws" : "kwok",
    reservations: isAws ? reservationsOf(random) : [],
    story: { objects: [...bases, ...pools, ...objectsOf(first)], scaled },
    apps:
      kind === "sets" ? objectsOf(second).flatMap((one) => asSet(random, one)) : objectsOf(second),
  };
}

/** A StatefulSet in place of a Deployment. Other objects stay as they are. */
function asSet(random: Random, object: KubeObject): KubeObject {
  if (object.kind !== "Deployment") return object;
  const podManagementPolicy = random.int(4) === 0 ? "Parallel" : "OrderedReady";
  const { spec } = object as KubeObject & { readonly spec: object };
  const own = { ...spec, serviceName: object.metadata.name, podManagementPolicy };
  return { ...object, kind: "StatefulSet", spec: own } as KubeObject;
}

function withLimits(random: Random, pool: PoolObject): PoolObject {
  const limits = random.pick(LIMITS);
  const disruption = { ...pool.spec.disruption, consolidateAfter: "Never" };
  const spec = { ...pool.spec, disruption, ...(limits === undefined ? {} : { limits }) };
  return { ...pool, spec };
}
