/**
 * What `karpenter simulate` predicts for a change is what happens after it. Small random clusters are read as `kubectl
 * get` prints them, simulated, and then changed in the sandbox. ANSWERS_SEEDS=1000 tries a tenth of that, a hundred;
 * ANSWERS_SEED=17 tries that one.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/apis/meta.ts";
import { toRfc3339 } from "../../src/base/clock.ts";
import { runSimulate, type SimulateFlags } from "../../src/cli/answers/run-simulate.ts";
import type { Simulated } from "../../src/cli/answers/simulate.ts";
import type { TestWorld } from "../world.ts";
import { CHANGES, drawStory } from "./draw-story.ts";
import {
  HORIZON,
  type Lived,
  liveThrough,
  machineOf,
  openStory,
  snapshotOf,
  type What,
  whatOf,
} from "./live-story.ts";

const ONE = process.env["ANSWERS_SEED"];
const COUNT = Math.ceil(Number(process.env["ANSWERS_SEEDS"] ?? 60) / 10) + 1;
const SEEDS = ONE === undefined ? Array.from({ length: COUNT }, (_, seed) => seed) : [Number(ONE)];

describe("the outcome that What if predicts", () => {
  it("comes true for random clusters and changes", { timeout: 1_800_000 }, async () => {
    const wrong: unknown[] = [];
    const elsewhere: unknown[] = [];
    const commands = new Map<string, number>();
    for (const seed of SEEDS) {
      const story = drawStory(seed);
      const world = await openStory(story);
      const objects = await snapshotOf(world);
      const what = whatOf(story.change, objects);
      const said = outcomeOf(await simulated(world, objects, what), objects);
      const lived = await liveThrough(world, what);
      await world.close();
      const { kind } = story.change;
      commands.set(kind, (commands.get(kind) ?? 0) + said.commands.length + said.launched);
      // A simulated round has all commands that begin at the same time. The live loop may begin further ones right
      // after that.
      const began = lived.commands.slice(0, Math.max(1, said.first.length)).sort();
      const report = { seed, kind, said, lived };
      const isSo = `${began}` === `${said.first}` && lived.waits === said.waits;
      const areThere = `${lived.end}` === `${said.end}`;
      if (isSo && !areThere && mayEndElsewhere(kind, said)) elsewhere.push(report);
      else if (!isSo || !areThere) wrong.push(report);
    }
    expect(wrong).toEqual([]);
    if (elsewhere.length > SEEDS.length / 20) expect(elsewhere).toEqual([]);
    // Without these checks the test proves little: something happened, and with many seeds each kind of change had an
    // effect.
    if (ONE === undefined) expect(Math.max(...commands.values())).toBeGreaterThan(0);
    if (SEEDS.length > 50)
      for (const kind of CHANGES) expect(commands.get(kind), kind).toBeGreaterThan(0);
  });
});

/**
 * Pods of nodes that people delete have no nominated node. kube-scheduler may bind them to other nodes, and one more
 * node may be needed.
 */
function mayEndElsewhere(kind: (typeof CHANGES)[number], { mostAtOnce }: Outcome): boolean {
  return ["zone", "nodes"].includes(kind) && mostAtOnce > 1;
}

async function simulated(
  world: TestWorld,
  objects: readonly KubeObject[],
  { supposed }: What,
): Promise<Simulated> {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-what-if-"));
  const file = (name: string, items: readonly KubeObject[]): string => {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    return path;
  };
  const { add, pool, ...flags } = supposed;
  const said: string[] = [];
  const all: SimulateFlags = {
    filename: [file("cluster", objects)],
    at: toRfc3339(world.clock.now()),
    output: "json",
    consolidate: true,
    horizon: HORIZON,
    ...flags,
    ...(add === undefined ? {} : { add: [file("add", [add])] }),
    ...(pool === undefined ? {} : { nodepoolFile: [file("pool", [pool])] }),
  };
  try {
    await runSimulate(all, { out: (text) => said.push(text), err: () => undefined });
  } finally {
    rmSync(folder, { recursive: true });
  }
  return JSON.parse(said.join(""));
}

interface Outcome extends Lived {
  /** Commands of the first round, sorted by their text. */
  readonly first: readonly string[];
  readonly launched: number;
  /** The largest number of nodes that one step of the simulation adds. */
  readonly mostAtOnce: number;
}

/** The simulation's result in a form that can be compared with the live loop. New nodes have no names yet. */
function outcomeOf({ steps, unplaced }: Simulated, objects: readonly KubeObject[]): Outcome {
  const known = new Set(objects.map(({ metadata }) => metadata.name));
  const gone = new Set(steps.flatMap(({ removed }) => removed));
  const launched = steps.flatMap((step) => step.launched);
  const commands = steps.flatMap(({ at, command, removed, launched: come }) => {
    if (command === undefined) return [];
    const went = removed.map((name) => (known.has(name) ? name : "new"));
    const types = come.map((one) => `${one.instanceType}/${one.zone}/${one.capacityType}`);
    return { at, text: `${command.reason} ${went.sort()} -> ${types.sort()}` };
  });
  const stay = objects.filter(
    (one) => one.kind === "Node" && !gone.has(one.metadata.name) && machineOf(one) !== undefined,
  );
  const come = launched
    .filter(({ node }) => !gone.has(node))
    .map((one) => `${one.nodePool}/${one.instanceType}/${one.zone}/${one.capacityType}`);
  return {
    commands: commands.map(({ text }) => text),
    first: commands
      .filter(({ at }) => at === commands[0]?.at)
      .map(({ text }) => text)
      .sort(),
    end: [...stay.flatMap((one) => machineOf(one) ?? []), ...come].sort(),
    waits: unplaced.length,
    launched: launched.length,
    mostAtOnce: Math.max(0, ...steps.map((step) => step.launched.length)),
  };
}
