/**
 * Loops that users of Karpenter reported, each as a story under loops/: after its set-up the same round is played
 * again and again, and no more nodes are made and pods evicted than the file says. Some rounds here;
 * `npm run calm` plays all for hours, `CALM=short` all for some rounds.
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
const QUICK = ["full-onto-empty.yaml", "two-into-one-and-back.yaml"];
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
}

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
  return { round, broken };
}

describe("loops that were reported stay calm", () => {
  it.each(FILES)("%s", { timeout: 900_000 }, async (file) => {
    const loop = parse(readFileSync(FOLDER + file, "utf8")) as Loop;
    const rounds = loop.rounds[LONG ? "long" : "quick"];
    const world = await openWorld({ logLevel: "error" });
    const witness = new Witness({ world, pools: [], troubled: () => false });
    try {
      await witness.synced();
      expect(await play(world, loop, loop.setup, 0)).toEqual({ round: 0, broken: [] });
      const before = { made: witness.made, evicted: witness.evicted };
      for (let round = 1; round <= rounds; round++)
        expect(await play(world, loop, loop.round, round)).toEqual({ round, broken: [] });
      const { nodes, nodesPerRound = 0, evictions, evictionsPerRound = 0 } = loop.most;
      const told = world.trace.slice(-60).join("\n");
      expect(witness.made - before.made, told).toBeLessThanOrEqual(nodes + rounds * nodesPerRound);
      expect(witness.evicted - before.evicted, told).toBeLessThanOrEqual(
        evictions + rounds * evictionsPerRound,
      );
      expect(witness.faults).toEqual([]);
    } finally {
      witness.close();
      await world.close();
    }
  });
});
