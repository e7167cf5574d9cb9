// Later passes launch nothing for pods that already have a place in an earlier plan.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyOf } from "../../src/apis/meta.ts";
import type { SchedulingResult } from "../../src/core/provisioning/result.ts";
import { drawScenario } from "./draw.ts";
import { withNamedDaemons } from "./draw-daemons.ts";
import { withVolumes } from "./draw-volumes.ts";
import { inputOf } from "./ours.ts";
import { Passes, STAGES } from "./passes.ts";

const RUNS = { numRuns: 60, seed: 34 };
const seeds = fc.nat({ max: 1_000_000 });

function passesOf(seed: number): Passes {
  return new Passes(inputOf(withNamedDaemons(withVolumes(drawScenario(seed), seed), seed)));
}

function placedBy({ newClaims, existing }: SchedulingResult): ReadonlySet<string> {
  return new Set([...newClaims, ...existing].flatMap(({ pods }) => pods.map(keyOf)));
}

/** Keys of pods that the first pass placed and that get a new node now. */
function movedOn(first: ReadonlySet<string>, { newClaims }: SchedulingResult): string[] {
  return newClaims.flatMap(({ pods }) => pods.map(keyOf)).filter((key) => first.has(key));
}

describe("planning passes while the nodes of the first pass start", () => {
  it("launch nothing for pods that keep their places, which only topology rules may change", () => {
    let [forgetful, kept, all] = [0, 0, 0];
    fc.assert(
      fc.property(seeds, (seed) => {
        const passes = passesOf(seed);
        const placed = placedBy(passes.first);
        for (const stage of STAGES) {
          forgetful += movedOn(placed, passes.pass(stage, true)).length;
          const { unstuck = [], ...result } = passes.pass(stage);
          // A topology rule may be judged differently once nodes have a fixed zone and capacity type. Nothing else may
          // move a pod to another node.
          expect(unstuck.map(({ reason }) => reason).filter((one) => one !== "topology")).toEqual(
            [],
          );
          const lost = new Set(unstuck.map(({ pod }) => keyOf(pod)));
          expect(movedOn(placed, result).filter((key) => !lost.has(key))).toEqual([]);
          kept += placed.size - lost.size;
          all += placed.size;
        }
      }),
      RUNS,
    );
    expect(kept / all).toBeGreaterThan(0.97);
    // Proof that the test can fail: without memory of earlier passes, later ones launch more.
    expect(forgetful).toBeGreaterThan(0);
  });
});

describe("planning after kube-scheduler bound pods elsewhere than planned", () => {
  it("launches at most one more node for each pod that lost its room", () => {
    let stranded = 0;
    fc.assert(
      fc.property(seeds, fc.infiniteStream(fc.nat()), (seed, numbers) => {
        const passes = passesOf(seed);
        const placed = placedBy(passes.first);
        const draw = (below: number) => (numbers.next().value as number) % Math.max(1, below);
        const pods = [...passes.first.newClaims, ...passes.first.existing].flatMap(
          (one) => one.pods,
        );
        for (let count = 0; count < 4 && pods.length > 0; count++) {
          const [pod] = pods.splice(draw(pods.length), 1);
          const nodes = passes.nodes("initialized").filter(({ deleting }) => !deleting);
          const node = nodes[draw(nodes.length)];
          if (pod !== undefined && node !== undefined) passes.bind(pod, node);
        }
        const { newClaims, unstuck = [] } = passes.pass("initialized");
        const more = newClaims.filter((one) => one.pods.some((pod) => placed.has(keyOf(pod))));
        expect(more.length).toBeLessThanOrEqual(unstuck.length);
        stranded += unstuck.length;
      }),
      RUNS,
    );
    expect(stranded).toBeGreaterThan(0);
  });
});
