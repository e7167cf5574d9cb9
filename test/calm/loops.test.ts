/**
 * Loops that users of Karpenter reported, each as a story under loops/: after its set-up the same round is played
 * again and again, and no more nodes are made and pods evicted than the file says. Where a setting is what keeps
 * calm, the story is played without it as well, and must then not be calm: else it would prove nothing. Some
 * rounds here; `npm run calm` plays all for hours, `CALM=short` all for some rounds.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readManifests } from "../../src/cli/box.ts";
import { applyCloudFault } from "../../src/sandbox/scenario/cloud-fault.ts";
import { runScenario } from "../../src/sandbox/scenario/run-scenario.ts";
import { parseScenario } from "../../src/sandbox/scenario/scenario.ts";
import { openWorld, type TestWorld } from "../world.ts";
import { Witness } from "./witness.ts";

const FOLDER = fileURLToPath(new URL("./loops/", import.meta.url));
const LONG = process.env["CALM"] === "long";
/** What plain `npm test` plays. */
const QUICK = ["saves-a-little.yaml", "two-into-one-and-back.yaml"];
const FILES = readdirSync(FOLDER)
  .filter((file) => process.env["CALM"] !== undefined || QUICK.includes(file))
  .sort();

interface Loop {
  readonly name: string;
  readonly story: string;
  readonly rounds: { readonly quick: number; readonly long: number };
  readonly setup: readonly unknown[];
  readonly round: readonly unknown[];
  /** After the set-up. `…PerRound` are allowed besides, each round. */
  readonly most: {
    readonly nodes: number;
    readonly nodesPerRound?: number;
    readonly evictions: number;
    readonly evictionsPerRound?: number;
  };
  /** What keeps it calm, turned off; absent: no setting does, decisions are made so. */
  readonly without?: {
    readonly settings?: Readonly<Record<string, string>>;
    /** Into the NodePool's `spec.disruption`, once the set-up is done. */
    readonly disruption?: unknown;
    readonly rounds: number;
  };
}

const POOL_TARGET = { apiVersion: "karpenter.sh/v1", kind: "NodePool", name: "default" };

async function play(world: TestWorld, loop: Loop, steps: readonly unknown[], round: number) {
  const text = JSON.stringify(steps).replaceAll("of-round-ROUND", `of-round-${round}`);
  const scenario = { name: loop.name, story: loop.story, steps: JSON.parse(text) as unknown };
  const { broken } = await runScenario(parseScenario(scenario, loop.name), {
    clock: world.clock,
    client: world.client,
    trace: () => undefined,
    load: (file) => readManifests(readFileSync(new URL(file, `file://${FOLDER}`), "utf8")),
    fault: (fault) => applyCloudFault(world.box.sandbox.aws, fault),
  });
  return broken.map((promise) => ({ round, promise }));
}

/** What came of it: told when it is not what was wanted. */
interface Tried {
  readonly made: number;
  readonly evicted: number;
  /** Promises of the story that were not kept. */
  readonly broken: readonly unknown[];
  readonly most: { readonly made: number; readonly evicted: number };
  readonly told: string;
}

async function tryLoop(loop: Loop, rounds: number, without?: Loop["without"]): Promise<Tried> {
  const world = await openWorld({ logLevel: "error", flags: without?.settings ?? {} });
  const witness = new Witness({ world, pools: [], troubled: () => false });
  try {
    await witness.synced();
    const broken: unknown[] = [...(await play(world, loop, loop.setup, 0))];
    if (without?.disruption !== undefined) {
      const merge = { spec: { disruption: without.disruption } };
      await play(world, loop, [{ patch: { ...POOL_TARGET, merge } }], 0);
    }
    const before = { made: witness.made, evicted: witness.evicted };
    for (let round = 1; round <= rounds && broken.length === 0; round++)
      broken.push(...(await play(world, loop, loop.round, round)));
    if (without === undefined) broken.push(...witness.faults);
    const { nodes, nodesPerRound = 0, evictions, evictionsPerRound = 0 } = loop.most;
    return {
      made: witness.made - before.made,
      evicted: witness.evicted - before.evicted,
      broken,
      most: {
        made: nodes + rounds * nodesPerRound,
        evicted: evictions + rounds * evictionsPerRound,
      },
      told: world.trace.slice(-60).join("\n"),
    };
  } finally {
    witness.close();
    await world.close();
  }
}

const LOOPS = FILES.map((file) => ({
  file,
  loop: parse(readFileSync(FOLDER + file, "utf8")) as Loop,
}));

describe("loops that were reported", () => {
  it.each(LOOPS)("stay calm: $file", { timeout: 900_000 }, async ({ loop }) => {
    const rounds = loop.rounds[LONG ? "long" : "quick"];
    const { made, evicted, broken, most, told } = await tryLoop(loop, rounds);
    expect(broken).toEqual([]);
    expect(made, told).toBeLessThanOrEqual(most.made);
    expect(evicted, told).toBeLessThanOrEqual(most.evicted);
  });

  it.each(LOOPS.filter(({ loop }) => loop.without !== undefined))(
    "would not be calm without what keeps them so: $file",
    { timeout: 900_000 },
    async ({ loop }) => {
      const rounds = loop.without?.rounds ?? 0;
      const { made, evicted, broken, most, told } = await tryLoop(loop, rounds, loop.without);
      const isCalm = broken.length === 0 && made <= most.made && evicted <= most.evicted;
      expect(isCalm, `${made} made, ${evicted} evicted\n${told}`).toBe(false);
    },
  );
});
