/**
 * Plays a loop that a user reported (loops/*.yaml): the set-up, then the same round again and again. Counts created
 * claims and evicted pods. Plays it with the settings that prevent the loop, or without them.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readManifests } from "../../src/cli/sandbox/box.ts";
import { applyCloudFault } from "../../src/sandbox/scenario/cloud-fault.ts";
import { runScenario } from "../../src/sandbox/scenario/run-scenario.ts";
import { parseScenario } from "../../src/sandbox/scenario/scenario.ts";
import { openWorld, type TestWorld } from "../world.ts";
import { Witness } from "./witness.ts";

export const FOLDER = fileURLToPath(new URL("./loops/", import.meta.url));

/** Instance families that the stories name, and which the examples' NodePool allows. */
function isNamed(type: string): boolean {
  return /^(c5|c6i|m5|m5a|m6a|m6i|m7i|r5)\./.test(type);
}

export interface Loop {
  readonly name: string;
  readonly story: string;
  readonly rounds: { readonly quick: number; readonly long: number };
  /** Karpenter's settings whenever the loop is played. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly setup: readonly unknown[];
  readonly round: readonly unknown[];
  /** Limits after the set-up. The limits `…PerRound` are added for each round. */
  readonly most: {
    readonly nodes: number;
    readonly nodesPerRound?: number;
    readonly evictions: number;
    readonly evictionsPerRound?: number;
  };
  /**
   * How the loop is played without the settings that prevent it. Absent if no setting prevents it, but the way in
   * which Karpenter decides.
   */
  readonly without?: {
    readonly settings?: Readonly<Record<string, string>>;
    /** The value of the NodePool's `spec.disruption` after the set-up. */
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

/** The counts and outcome, for the message of a failure. */
export interface Tried {
  readonly made: number;
  readonly evicted: number;
  /** Expectations of the story that were not met. */
  readonly broken: readonly unknown[];
  readonly most: { readonly made: number; readonly evicted: number };
  readonly told: string;
}

export async function tryLoop(
  loop: Loop,
  rounds: number,
  without?: Loop["without"],
): Promise<Tried> {
  const world = await openWorld({
    sells: isNamed,
    logLevel: "error",
    flags: { ...loop.settings, ...without?.settings },
  });
  const rests = loop.settings?.["consolidation-replacement-rest"] !== "0";
  const witness = new Witness({
    world,
    pools: [],
    troubled: () => false,
    ...(rests ? {} : { restMs: 0 }),
  });
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
