/**
 * Plays a second wave of apps in the sandbox, and plans it as `karpenter plan --cluster` does. The plan is made after
 * kube-scheduler looked at each pod of the wave, and before Karpenter launched anything for them. StatefulSets create
 * most of their pods later, so a wave of them is planned from its manifests, as with `-f`.
 */
import type { Deployment } from "../../src/apis/apps/kinds.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { condition, isTrue } from "../../src/apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import { type KubeObject, keyOf } from "../../src/apis/meta.ts";
import { factsIn } from "../../src/cli/plan/facts.ts";
import { sortManifests } from "../../src/cli/plan/manifests.ts";
import { type Plan, planOf } from "../../src/cli/plan/plan.ts";
import { planningInput } from "../../src/cli/plan/planning-input.ts";
import { playedPlan } from "../../src/cli/plan/run-plan.ts";
import { cloudOf, objectsOf } from "../../src/cli/plan/sources.ts";
import { OPTIONS } from "../../src/operator/settings/options.ts";
import type { TestWorld } from "../world.ts";
import { ZONE } from "./draw-story.ts";
import { drawWave, type WaveKind } from "./draw-wave.ts";
import { machineOf, openStory } from "./live-story.ts";

const STEP_MS = 500;
/**
 * Step of the clock until the first claim is created. It is short, to tell pods that are bound before that from
 * later ones.
 */
const FIRST_STEP_MS = 100;
const LOOKED_AT_WITHIN_MS = 5_000;
/** The wave has settled if nothing happened for this time. EC2 instances boot for about a minute. */
const QUIET_MS = { kwok: 60_000, aws: 150_000 };
const MOST_MS = 1_800_000;
const LOST = "pods lost the node that was planned for them";

/** The defaults of `karpenter plan`. */
const FLAGS = {
  preferencePolicy: "Respect",
  minValuesPolicy: "Strict",
  poolNames: [],
  planner: "cost",
  plannerEffort: Number(OPTIONS.plannerEffort.default),
  plannerNodeCost: Number(OPTIONS.plannerNodeCost.default),
  plannerMinSaving: Number(OPTIONS.plannerMinSaving.default),
  plannerMinPods: Number(OPTIONS.plannerMinPods.default),
} as const;

export interface Played {
  /** Nodes of the plan, sorted, such as `blue/c-4x-amd64-linux/test-zone-a/spot`. */
  readonly planned: readonly string[];
  /** Planned node → spot nodes that its claim also allows. EC2 picks one, and not by price alone. */
  readonly spotChoices: ReadonlyMap<string, ReadonlySet<string>>;
  /** Claims of the wave, in the order of their creation. */
  readonly created: readonly Created[];
  /**
   * Pods that kube-scheduler bound to another node than planned, by time. Pods without a place in the plan are
   * included: on a new node they take the room of planned pods.
   */
  readonly strays: readonly Stray[];
  /** Lines of Karpenter's log about pods that lost their planned node. */
  readonly told: readonly string[];
}

interface Created {
  readonly machine: string;
  readonly atMs: number;
}

interface Stray {
  readonly pod: string;
  readonly node: string;
  readonly atMs: number;
}

/** Plays the wave for a seed. */
export async function playWave(seed: number, kind: WaveKind = "plain"): Promise<Played> {
  const { story, apps, ...ground } = drawWave(seed, kind);
  const world = await openStory(story, ground);
  try {
    const early = kind === "sets" ? await planOfNow(world, apps) : undefined;
    for (const app of apps) await world.apply(app);
    return await liveThroughWave(world, early, QUIET_MS[ground.provider]);
  } finally {
    await world.close();
  }
}

async function liveThroughWave(
  world: TestWorld,
  planned: Plan | undefined,
  enoughMs: number,
): Promise<Played> {
  const before = new Set((await claimsOf(world)).map(({ metadata }) => metadata.name));
  if (planned === undefined) {
    await world.until("each pod was looked at", () => areLookedAt(world), LOOKED_AT_WITHIN_MS);
    const early = (await claimsOf(world)).filter(({ metadata }) => !before.has(metadata.name));
    if (early.length > 0) throw new Error("a claim was made before the plan");
  }
  let plan = planned ?? (await planOfNow(world));
  const from = world.log().length;
  let places = await placesOf(plan, world);
  const seen = new Map<string, number>();
  const machines = new Map<string, string>();
  for (let ms = 0, stepMs = 0, quietMs = 0; ms < MOST_MS && quietMs < enoughMs; ms += stepMs) {
    stepMs = seen.size === 0 && ms < LOOKED_AT_WITHIN_MS ? FIRST_STEP_MS : STEP_MS;
    const { fired } = world.clock;
    await world.advance(stepMs);
    if (world.clock.fired === fired) {
      // No timer fired, so all claims and pods are as they were.
      quietMs += stepMs;
      continue;
    }
    const atMs = world.clock.now();
    const claims = (await claimsOf(world)).filter(({ metadata }) => !before.has(metadata.name));
    const known = seen.size + machines.size;
    for (const claim of claims) {
      const { name } = claim.metadata;
      if (!seen.has(name)) seen.set(name, atMs);
      const machine = machineOf(claim);
      if (machine !== undefined && isTrue(claim, "Launched")) machines.set(name, machine);
    }
    const isMore = await places.look(world, atMs);
    quietMs = isMore || seen.size + machines.size > known ? 0 : quietMs + stepMs;
    if (planned === undefined && seen.size === 0 && places.strays.length > 0) {
      // The claim of a pod's volume was created late, and the pod then found room. Karpenter plans the rest, so the
      // plan is made again.
      plan = await planOfNow(world);
      places = await placesOf(plan, world);
    }
  }
  const created = [...seen].map(([name, atMs]) => ({
    machine: machines.get(name) ?? `${name}, never launched`,
    atMs,
  }));
  const lines = world.log().slice(from);
  return {
    planned: plan.newNodeClaims.map(machineIn).sort(),
    spotChoices: spotChoicesIn(plan),
    created,
    strays: places.strays,
    told: lines.filter((line) => line.includes(LOST)),
  };
}

/** Whether each pod of the wave exists and is bound or marked as unschedulable. */
async function areLookedAt(world: TestWorld): Promise<boolean> {
  const deployments = await world.list<Deployment>("Deployment", "apps/v1");
  const wanted = deployments.reduce((sum, { spec }) => sum + (spec?.replicas ?? 1), 0);
  const pods = (await world.list<Pod>("Pod")).filter(isOfApp);
  const isLookedAt = (pod: Pod) =>
    isBound(pod) || condition(pod, "PodScheduled")?.reason === "Unschedulable";
  return pods.length === wanted && pods.every(isLookedAt);
}

function isOfApp({ metadata }: Pod): boolean {
  return metadata.namespace === "default";
}

function isBound({ spec }: Pod): boolean {
  return (spec.nodeName ?? "") !== "";
}

async function claimsOf(world: TestWorld): Promise<readonly NodeClaim[]> {
  return world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
}

/** The plan that `karpenter plan --cluster` would print now, with these manifests as files. */
async function planOfNow(world: TestWorld, more: readonly KubeObject[] = []): Promise<Plan> {
  const { found: live } = await objectsOf(world.client, () => []);
  const found = [...live, ...more.map((object) => ({ where: "wave.yaml", object }))];
  const manifests = sortManifests(found);
  const cloud = await cloudOf({}, manifests, factsIn(found));
  const { input } = await planningInput(
    manifests,
    cloud,
    { ...FLAGS, defaultSpread: [] },
    world.clock.now(),
  );
  const { result } = playedPlan(input, FLAGS);
  return planOf(result, input.pods.length, { parseMs: 0, solveMs: 0 }, { input });
}

function machineIn({ nodePool, cheapest }: Plan["newNodeClaims"][number]): string {
  return [nodePool, cheapest.instanceType, cheapest.zone, cheapest.capacityType].join("/");
}

function spotChoicesIn({ newNodeClaims }: Plan): ReadonlyMap<string, ReadonlySet<string>> {
  const choices = new Map<string, Set<string>>();
  for (const claim of newNodeClaims) {
    const { cheapest, instanceTypes, nodePool, requirements } = claim;
    if (cheapest.capacityType !== "spot") continue;
    const machine = machineIn(claim);
    const own = choices.get(machine) ?? new Set();
    choices.set(machine, own);
    const zones = requirements.find(({ key }) => key === ZONE)?.values ?? [];
    for (const type of instanceTypes)
      for (const zone of zones) own.add([nodePool, type, zone, "spot"].join("/"));
  }
  return choices;
}

async function placesOf(plan: Plan, world: TestWorld): Promise<Places> {
  const nodes = await world.list("Node");
  return new Places(plan, await world.list<Pod>("Pod"), new Set(nodes.map(nameOf)));
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name;
}

/**
 * Tracks where pods of the plan are bound. The first bound pod of a planned claim identifies its node: a new node that
 * matches the planned one and belongs to no other planned claim.
 */
class Places {
  readonly strays: Stray[] = [];
  /** Pod → the existing node, or the number of the new claim, that the plan chose. */
  readonly #planned = new Map<string, string | number>();
  readonly #machines: readonly string[];
  readonly #spotChoices: Played["spotChoices"];
  readonly #nodes = new Map<number, string>();
  readonly #bound = new Set<string>();

  /** Nodes that existed before the plan. */
  readonly #old: ReadonlySet<string>;

  constructor(plan: Plan, pods: readonly Pod[], old: ReadonlySet<string>) {
    this.#old = old;
    const { newNodeClaims, existingNodes } = plan;
    this.#spotChoices = spotChoicesIn(plan);
    for (const pod of pods) if (isBound(pod)) this.#bound.add(keyOf(pod));
    this.#machines = newNodeClaims.map(machineIn);
    for (const [at, { pods }] of newNodeClaims.entries())
      for (const name of pods) this.#planned.set(name, at);
    for (const { node, pods } of existingNodes)
      for (const pod of pods) this.#planned.set(pod, node);
  }

  /** Reads the bindings. Returns whether more pods are bound than before. */
  async look(world: TestWorld, atMs: number): Promise<boolean> {
    const pods = await world.list<Pod>("Pod");
    const fresh = pods.filter(
      (pod) => isOfApp(pod) && isBound(pod) && !this.#bound.has(keyOf(pod)),
    );
    if (fresh.length === 0) return false;
    const nodes = new Map((await world.list("Node")).map((node) => [node.metadata.name, node]));
    for (const pod of fresh) {
      const [key, name = ""] = [keyOf(pod), pod.spec.nodeName];
      this.#bound.add(key);
      const planned = this.#planned.get(key);
      const node = nodes.get(name);
      if (node === undefined) throw new Error(`${key} is bound to ${name}, which does not exist`);
      if (planned === undefined || !this.#isThere(planned, node))
        this.strays.push({ pod: key, node: name, atMs });
    }
    return true;
  }

  #isThere(planned: string | number, node: KubeObject): boolean {
    const { name } = node.metadata;
    if (typeof planned === "string") return planned === name;
    const known = this.#nodes.get(planned);
    if (known !== undefined) return known === name;
    const isTaken = [...this.#nodes.values()].includes(name);
    const machine = machineOf(node) ?? "";
    const wanted = this.#machines[planned] ?? "";
    if (this.#old.has(name)) return false;
    if (isTaken || (machine !== wanted && !this.#spotChoices.get(wanted)?.has(machine)))
      return false;
    this.#nodes.set(planned, name);
    return true;
  }
}
