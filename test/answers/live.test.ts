/**
 * What `karpenter simulate` and `karpenter explain` predict is what the disruption loop does. The live controller runs
 * on a random cluster in memory, and the commands read the same objects as files. ANSWERS_SEEDS=1000 tries that many
 * seeds. A failure names its seed, and ANSWERS_SEED=17 tries that one.
 */
import { describe, expect, it } from "vitest";
import { PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM } from "../../src/apis/core/kinds.ts";
import { NODE } from "../../src/apis/core/node.ts";
import { POD } from "../../src/apis/core/pod.ts";
import { MACHINE } from "../../src/apis/karpenter/machine.ts";
import { NODE_CLAIM } from "../../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../src/apis/karpenter/nodepool.ts";
import { PROVISIONER } from "../../src/apis/karpenter/provisioner.ts";
import type { Kind, KubeObject } from "../../src/apis/meta.ts";
import { POD_DISRUPTION_BUDGET } from "../../src/apis/policy/kinds.ts";
import { CSI_NODE, STORAGE_CLASS } from "../../src/apis/storage/kinds.ts";
import { fromRfc3339 } from "../../src/base/clock.ts";
import { atOnce } from "../../src/base/steps.ts";
import { pictureOf } from "../../src/cli/answers/read-picture.ts";
import { parseInstanceTypes } from "../../src/cli/plan/instance-type-file.ts";
import { sortManifests } from "../../src/cli/plan/manifests.ts";
import { planningInput } from "../../src/cli/plan/planning-input.ts";
import { isDeleting } from "../../src/controllers/claims.ts";
import { Backoff } from "../../src/controllers/disruption/backoff.ts";
import type { CommandQueue } from "../../src/controllers/disruption/command-queue.ts";
import { disruption } from "../../src/controllers/disruption/controller.ts";
import { isDeletedNow } from "../../src/controllers/ending/deletions.ts";
import { stateDaemonSet } from "../../src/controllers/state/daemonsets.ts";
import { stateNodeClaim } from "../../src/controllers/state/nodeclaims.ts";
import { stateNode } from "../../src/controllers/state/nodes.ts";
import { statePod } from "../../src/controllers/state/pods.ts";
import { type CommandAnswer, commandAnswer } from "../../src/core/answers/command-answer.ts";
import { rehearse } from "../../src/core/answers/rehearsal.ts";
import { withBackoff } from "../../src/core/disruption/failed-pools.ts";
import { Ledger } from "../../src/core/disruption/ledger.ts";
import { answered } from "../../src/testing/disruption.ts";
import { FAKE_NODE_CLASS } from "../../src/testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../src/testing/fake-world.ts";
import { SNAPSHOT_TYPES } from "../../src/testing/snapshots.ts";
import { drawCluster, drawSettings } from "./draw.ts";
import { OFFSETS_MS, TWISTS, type Twist, twisted } from "./twists.ts";

const ONE = process.env["ANSWERS_SEED"];
const COUNT = Number(process.env["ANSWERS_SEEDS"] ?? 60);
const SEEDS = ONE === undefined ? Array.from({ length: COUNT }, (_, seed) => seed) : [Number(ONE)];
/** Seeds that failed once. They are played in addition to the other seeds, of which each twist plays a third. */
const ONCE_WRONG: Partial<Record<Twist, readonly number[]>> = {
  leaving: [74, 130],
  windows: [59, 205],
};
const KINDS: readonly Kind[] = [
  NODE_POOL,
  NODE_CLAIM,
  PROVISIONER,
  MACHINE,
  NODE,
  POD,
  POD_DISRUPTION_BUDGET,
  PERSISTENT_VOLUME_CLAIM,
  PERSISTENT_VOLUME,
  STORAGE_CLASS,
  CSI_NODE,
];
/** Time from the proposal of a command to its validation. Commands that begin later are not compared. */
const SECOND_LOOK_MS = 15_000;
const { instanceTypes } = parseInstanceTypes("types.json", SNAPSHOT_TYPES);

/** Largest share of clusters in which nothing is disrupted. It is higher where leaving nodes use up the budgets. */
const MOST_IDLE: Readonly<Record<Twist, number>> = {
  plain: 0.5,
  leaving: 0.75,
  static: 0.5,
  alpha: 0.5,
  windows: 0.5,
  volumes: 0.5,
};

describe("the simulation of the next round", () => {
  it.each(TWISTS)(
    "decides what the live controller then does, for random clusters: %s",
    async (twist) => {
      const wrong: unknown[] = [];
      const reasons = new Map<string, number>();
      const seeds = seedsOf(twist);
      for (const seed of seeds) {
        const world = fakeWorld({
          ...settingsOf(seed),
          gates: { staticCapacity: twist === "static" },
        });
        await world.clock.advance(OFFSETS_MS[twist]);
        const drawn = drawCluster(seed, world.clock.now());
        const objects = twisted(drawn, twist, seed, world.clock.now())
          .map(ofTestCloud)
          .map((object) => waiting(object, seed, world.clock.now()));
        const said = await sayNext(world, objects);
        const done = await doNext(world, objects);
        const kind = kindOf(done);
        reasons.set(kind, (reasons.get(kind) ?? 0) + 1);
        if (JSON.stringify(said) !== JSON.stringify(done)) wrong.push({ seed, said, done });
      }
      expect(wrong).toEqual([]);
      if (ONE !== undefined) return;
      if (twist === "plain") expectVariety(reasons);
      expect(reasons.get("nothing") ?? 0).toBeLessThan(seeds.length * MOST_IDLE[twist]);
    },
  );
});

function seedsOf(twist: Twist): readonly number[] {
  if (ONE !== undefined || twist === "plain") return SEEDS;
  const few = SEEDS.slice(0, Math.ceil(COUNT / 3));
  return [...new Set([...few, ...(ONCE_WRONG[twist] ?? [])])];
}

/** The reason of the command; for consolidation also the number of nodes and replacements. */
function kindOf(done: readonly string[]): string {
  const [first] = done;
  if (first === undefined) return "nothing";
  const [reason = "", gone = "", , come = ""] = first.split(" ");
  if (reason !== "Underutilized") return reason;
  const shape = (list: string) => (list === "" || list === "on" ? 0 : list.includes(",") ? "n" : 1);
  return `${reason} ${shape(gone)} -> ${shape(come)}`;
}

/** Expects that each consolidation method occurred, otherwise the test proves little. */
function expectVariety(kinds: ReadonlyMap<string, number>): void {
  const few = ["Drifted", "Empty", "Expired", "Underutilized 1 -> 0"];
  const many = ["Underutilized 1 -> 1", "Underutilized n -> 0", "Underutilized n -> 1"];
  const seen = [...kinds.keys()];
  if (COUNT >= 60) expect(seen).toEqual(expect.arrayContaining(few));
  if (COUNT >= 1_000) expect(seen).toEqual(expect.arrayContaining(many));
}

function settingsOf(seed: number): Parameters<typeof fakeWorld>[0] {
  const { forSpot, respectsBudgets, mostAtOnce } = drawSettings(seed);
  return {
    forSpot,
    expiry: { spreadPercent: 0, respectsBudgets },
    ...(mostAtOnce === undefined ? {} : { clusterBudgets: [{ nodes: mostAtOnce }] }),
  };
}

/** A text that differs for any two commands. */
function inWords({ reason, nodes, replacements, targets }: CommandAnswer): string {
  const gone = nodes.map(({ node }) => node).sort();
  const come = replacements.map(
    (one) =>
      `${one.nodePool}/${one.instanceType}/${one.instanceTypes}/${one.zone}/${one.capacityType}/${one.pods.join("+")}`,
  );
  return `${reason} ${gone.join()} -> ${come.join()} on ${[...targets].sort().join()}`;
}

/** Sets back-off annotations on NodePools, as after failed replacements. */
function waiting(object: KubeObject, seed: number, nowMs: number): KubeObject {
  const minutes = drawSettings(seed).backingOff.get(
    `${object.kind?.toLowerCase()}/${object.metadata.name}`,
  );
  if (minutes === undefined) return object;
  return withBackoff(object, { failures: 5, untilMs: nowMs + minutes * 60_000 });
}

async function sayNext(world: FakeWorld, objects: readonly KubeObject[]): Promise<string[]> {
  const manifests = sortManifests(objects.map((object) => ({ where: "drawn", object })));
  const cloud = {
    wellKnownLabels: world.cloud.wellKnownLabels,
    typesOf: async () => instanceTypes,
    notes: [],
  };
  const settings = { ...world.settings, poolNames: [], defaultSpread: [] };
  const planning = await planningInput(manifests, cloud, settings, world.clock.now());
  const picture = pictureOf(manifests, planning, world.settings);
  const model = {
    picture,
    pools: planning.pools,
    made: 0,
  };
  // The cluster in memory has no provisioner, so its plan is empty.
  const plan = () =>
    answered({ newClaims: [], existing: [], unschedulable: [], excludedByLimits: [] });
  const untilMs = picture.nowMs + SECOND_LOOK_MS;
  const { steps } = atOnce(rehearse(model, plan, { untilMs }));
  const isSoon = ({ at }: { readonly at: string }) => (fromRfc3339(at) ?? 0) <= untilMs;
  const first = steps.find((step) => step.command !== undefined && isSoon(step));
  if (first === undefined) return [];
  return steps
    .filter(({ at }) => at === first.at)
    .flatMap(({ command }) => command ?? [])
    .map(inWords);
}

/** The commands that the loop starts first, all at the same time. */
async function doNext(world: FakeWorld, objects: readonly KubeObject[]): Promise<string[]> {
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  for (const object of objects) {
    const kind = KINDS.find((one) => one.kind === object.kind);
    if (kind === undefined) throw new Error(`drawn, but not known: ${object.kind}`);
    await world.api.create(kind, object);
    // Marks the object as deleted in the live cluster. The controllers that delete claims and drain Nodes do not run
    // here.
    if (isDeleting(object)) await isDeletedNow(world, kind, object);
  }
  world.cloud.instanceTypes = () => instanceTypes;
  const started: { atMs: number; text: string }[] = [];
  const nodeNames = new Set<string>();
  const queue: CommandQueue = {
    controller: disruption(world, undefined as never),
    nodeNames,
    isRunning: () => false,
    backoff: new Backoff(),
    start: async (command) => {
      started.push({ atMs: world.clock.now(), text: inWords(commandAnswer(command, "")) });
      for (const { node } of command.candidates) nodeNames.add(node.name);
    },
    resume: () => undefined,
    ledger: new Ledger(world.settings.restraint),
  };
  const startMs = world.clock.now();
  await world.run(
    stateNode(world),
    stateNodeClaim(world),
    stateDaemonSet(world),
    statePod(world),
    disruption(world, queue),
  );
  await world.clock.advance(0);
  const early = started.filter(({ atMs }) => atMs === startMs);
  if (early.length === 0) await world.clock.advance(SECOND_LOOK_MS);
  await world.stop();
  const first = started[0]?.atMs;
  return started.filter(({ atMs }) => atMs === first).map(({ text }) => text);
}

function ofTestCloud(object: KubeObject): KubeObject {
  if (object.kind !== "NodePool" && object.kind !== "NodeClaim") return object;
  const ref = { group: FAKE_NODE_CLASS.group, kind: FAKE_NODE_CLASS.kind, name: "default" };
  const text = JSON.stringify(object).replaceAll(
    /"nodeClassRef":\{[^}]*\}/g,
    `"nodeClassRef":${JSON.stringify(ref)}`,
  );
  return JSON.parse(text);
}
