/**
 * A pod keeps the node that an earlier pass planned for it: cases from bug reports, played with several seeds.
 * Without sticky placement each case launched unneeded nodes. Design: docs/designs/003-sticky-placement.md.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { play } from "../src/cli/sandbox/play-scenario.ts";
import { readScenario } from "../src/cli/sandbox/story-file.ts";

const FOLDER = fileURLToPath(new URL("fixtures/sticky/", import.meta.url));

/**
 * The number of NodeClaims that a story creates for pending pods, without replacements by consolidation. All of the
 * story's promises must hold.
 */
async function claimsOf(file: string, seed: number): Promise<number> {
  let created = 0;
  const path = FOLDER + file;
  const options = {
    seed,
    provider: "aws",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    clusterName: "karpenter-demo",
    logLevel: "info",
  } as const;
  const { broken } = await play(readScenario(path), dirname(path), options, (event) => {
    if (event.verb === "created" && event.object.startsWith("nodeclaim ")) created++;
    created -= Number(/^replaces \d+ nodes? by (\d+)/.exec(event.what)?.[1] ?? 0);
  });
  expect(broken).toEqual([]);
  return created;
}

describe("pods that wait for nodes which are starting", () => {
  it.each([2, 4])("get no second node while the first one starts (seed %d)", async (seed) => {
    expect(await claimsOf("field-21/s.yaml", seed)).toBe(2);
  });

  it("get exactly the nodes of the plan", async () => {
    expect(await claimsOf("field-21/s2.yaml", 1)).toBe(8);
  });

  it("share the planned nodes in a story", async () => {
    // Nine for the first batch. A StatefulSet creates two pods later, in order, and each of them needs a node.
    expect(await claimsOf("runaway/story.yaml", 1)).toBe(11);
  });
});

describe("a running Job", () => {
  it("is not moved, and a node with room for its pending pods is not removed", async () => {
    expect(await claimsOf("gpu-job/story.yaml", 1)).toBe(2);
  });
});
