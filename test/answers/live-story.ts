/**
 * Plays a random story in the sandbox. The cluster starts and settles, its objects are read as `kubectl get` prints
 * them, and then the change is made as a user makes it. For each change there is the input of a simulation and the act
 * on the live cluster.
 */
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodePool } from "../../src/apis/karpenter/nodepool.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import type { SimulateFlags } from "../../src/cli/answers/run-simulate.ts";
import { kwokInstanceTypes } from "../../src/providers/kwok/instance-types.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";
import type { SoldReservation } from "./draw-aws.ts";
import { type Change, type Story, ZONE } from "./draw-story.ts";

const MINUTE_MS = 60_000;
/** The cluster has settled if nothing happened for this time. */
const QUIET_MINUTES = 6;
const MOST_MINUTES = 45;
/** Long enough for consolidation to begin, and shorter than the hold-off of an hour. */
export const HORIZON = "30m";

const POOL = "karpenter.sh/nodepool";
const TYPE = "node.kubernetes.io/instance-type";
const CAPACITY_TYPE = "karpenter.sh/capacity-type";

/** The kinds that `kubectl get` reads. */
const READ: readonly (readonly [kind: string, apiVersion: string])[] = [
  ["Pod", "v1"],
  ["Node", "v1"],
  ["Namespace", "v1"],
  ["ConfigMap", "v1"],
  ["Event", "v1"],
  ["DaemonSet", "apps/v1"],
  ["Deployment", "apps/v1"],
  ["PodDisruptionBudget", "policy/v1"],
  ["NodePool", "karpenter.sh/v1"],
  ["NodeClaim", "karpenter.sh/v1"],
];

/** The provider of a story, and its reserved capacity. */
export interface StoryGround {
  readonly provider: "aws" | "kwok";
  readonly reservations: readonly SoldReservation[];
}

const KWOK: StoryGround = { provider: "kwok", reservations: [] };

/** Starts the cluster of the story and waits until it has settled. */
export async function openStory(
  { objects, scaled }: Omit<Story, "change">,
  { provider, reservations }: StoryGround = KWOK,
): Promise<TestWorld> {
  const world = await openWorld({
    provider,
    isAsked: true,
    flags: { "feature-gates": "NodeOverlay=true" },
    ...(provider === "aws" ? { sells: isUsual } : {}),
  });
  for (const one of reservations) world.box.sandbox.aws.controls.addReservation(one);
  for (const object of objects) await world.apply(object);
  await settle(world);
  for (const { name, replicas } of scaled) await world.scale(name, replicas);
  await settle(world);
  return world;
}

export async function snapshotOf(world: TestWorld): Promise<readonly KubeObject[]> {
  const lists = READ.map(async ([kind, apiVersion]) => {
    const found = await world.list(kind, apiVersion);
    return found.map((object) => ({ ...object, kind, apiVersion }));
  });
  return (await Promise.all(lists)).flat();
}

/** Waits until neither claims nor pods change any more. */
async function settle(world: TestWorld): Promise<void> {
  let last = "";
  for (let quiet = 0, minute = 0; quiet < QUIET_MINUTES && minute < MOST_MINUTES; minute++) {
    await world.advance(MINUTE_MS);
    const claims = await world.list("NodeClaim", "karpenter.sh/v1");
    const pods = await world.list<Pod>("Pod");
    const now = [
      ...claims.map(({ metadata }) => `${metadata.name} ${metadata.deletionTimestamp}`),
      ...pods.map(({ metadata, spec }) => `${metadata.name} ${spec.nodeName}`),
    ].join();
    quiet = now === last ? quiet + 1 : 0;
    last = now;
  }
}

/** A change in two forms: as the input of a simulation, and as the act on the cluster. */
export interface What {
  readonly supposed: Pick<SimulateFlags, "price" | "drainZone" | "removeNode"> & {
    readonly add?: KubeObject;
    readonly pool?: KubeObject;
  };
  make(world: TestWorld): Promise<void>;
}

export function whatOf(change: Change, objects: readonly KubeObject[]): What {
  const nodes = objects.filter((one) => one.kind === "Node" && machineOf(one) !== undefined);
  const [first] = nodes;
  if (first === undefined) throw new Error("a cluster without nodes was drawn");
  switch (change.kind) {
    case "add":
      return { supposed: { add: change.object }, make: applies(change.object) };
    case "drift":
    case "narrow":
    case "loose":
      return { supposed: { pool: change.pool }, make: applies(change.pool) };
    case "price":
      return priced(first, change.factor);
    case "zone": {
      const zone = labelOf(first, ZONE);
      const there = namesOf(nodes.filter((node) => labelOf(node, ZONE) === zone));
      const pools = objects.filter((one): one is NodePool => one.kind === "NodePool");
      return {
        supposed: { drainZone: [zone] },
        make: async (world) => {
          for (const pool of pools) await world.apply(withoutZone(pool, zone));
          for (const name of there) await world.remove("Node", name);
        },
      };
    }
    case "nodes": {
      const names = namesOf(nodes).filter((_, index) => index % 2 === 0);
      return {
        supposed: { removeNode: names },
        make: async (world) => {
          for (const name of names) await world.remove("Node", name);
        },
      };
    }
  }
}

function applies(object: KubeObject): What["make"] {
  return async (world) => {
    await world.apply(object);
  };
}

/** A NodeOverlay that changes the price of the node's type. */
function priced(node: KubeObject, factor: number): What {
  const [type, capacityType] = [labelOf(node, TYPE), labelOf(node, CAPACITY_TYPE)];
  const { offerings = [] } = kwokInstanceTypes().find(({ name }) => name === type) ?? {};
  const was = offerings.find((one) => one.capacityType === capacityType)?.priceMicroUsd ?? 0;
  const price = (Math.round(was * factor) / 1e6).toFixed(6);
  const isIn = (key: string, value: string) => ({ key, operator: "In", values: [value] });
  const overlay = {
    apiVersion: "karpenter.sh/v1alpha1",
    kind: "NodeOverlay",
    metadata: { name: "priced" },
    spec: { requirements: [isIn(TYPE, type), isIn(CAPACITY_TYPE, capacityType)], price },
  } as KubeObject;
  return { supposed: { price: [`${type}:${capacityType}=${price}`] }, make: applies(overlay) };
}

function withoutZone({ apiVersion, kind, metadata, spec }: NodePool, zone: string): KubeObject {
  const { template } = spec;
  const requirements = template.spec.requirements.map((one) =>
    one.key === ZONE ? { ...one, values: one.values?.filter((value) => value !== zone) } : one,
  );
  const changed = { ...template, spec: { ...template.spec, requirements } };
  const pool = { metadata: { name: metadata.name }, spec: { ...spec, template: changed } };
  return { apiVersion, kind, ...pool } as KubeObject;
}

/** What happened after the change. */
export interface Lived {
  /** Commands of the disruption loop, in order. */
  readonly commands: readonly string[];
  /** The nodes at the end. */
  readonly end: readonly string[];
  /** Number of pending pods at the end. */
  readonly waits: number;
}

export async function liveThrough(world: TestWorld, { make }: What): Promise<Lived> {
  const before = await world.list("Node");
  const known = new Set(before.map(({ metadata }) => metadata.name));
  const from = world.log().length;
  await make(world);
  await settle(world);
  const lines = world.log().slice(from);
  const pods = await world.list<Pod>("Pod");
  const nodes = await world.list("Node");
  return {
    commands: lines.filter((line) => line.includes("disrupting node(s)")).map(inWords(known)),
    end: nodes.flatMap((node) => machineOf(node) ?? []).sort(),
    waits: pods.filter(({ spec }) => !spec.nodeName).length,
  };
}

/** A log line about a command. */
interface Logged {
  readonly command: string;
  readonly "disrupted-nodes": readonly { readonly Node: { readonly name: string } }[];
  readonly "replacement-nodes": readonly Readonly<
    Record<"instanceType" | "zone" | "capacityType", string>
  >[];
}

function inWords(known: ReadonlySet<string>): (line: string) => string {
  return (line) => {
    const logged: Logged = JSON.parse(line.slice(line.indexOf("{")));
    const [reason] = logged.command.split("/");
    const went = logged["disrupted-nodes"].map(({ Node: { name } }) =>
      known.has(name) ? name : "new",
    );
    const come = logged["replacement-nodes"].map(
      (one) => `${one.instanceType}/${one.zone}/${one.capacityType}`,
    );
    return `${reason} ${went.sort()} -> ${come.sort()}`;
  };
}

/**
 * The node's pool, type, zone and capacity type, such as `blue/c-4x-amd64-linux/test-zone-a/spot`. Undefined: not a
 * node of Karpenter.
 */
export function machineOf(node: KubeObject): string | undefined {
  if (node.metadata.labels?.[POOL] === undefined) return undefined;
  return [POOL, TYPE, ZONE, CAPACITY_TYPE].map((key) => labelOf(node, key)).join("/");
}

function labelOf({ metadata }: KubeObject, key: string): string {
  return metadata.labels?.[key] ?? "";
}

function namesOf(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({ metadata }) => metadata.name).sort();
}
