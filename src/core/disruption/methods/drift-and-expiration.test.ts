import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { nodeView, pod } from "../../../testing/builders.ts";
import { candidate, roundOf, withFacts } from "../../../testing/disruption.ts";
import type { Candidate } from "../candidates.ts";
import { describeOlder } from "../command.ts";
import { drift, expiration } from "./drift-and-expiration.ts";

const names = (candidates: readonly Candidate[] | undefined) =>
  candidates?.map(({ node }) => node.name);

describe("drift", () => {
  const drifted = (forMs: number) => ({ conditions: { Drifted: forMs } });

  it("replaces the node that drifted first, at any price", () => {
    const { commands } = atOnce(
      drift.propose(
        roundOf([
          candidate("a", { ...drifted(1_000), pods: ["3"] }),
          candidate("b", { ...drifted(9_000), pods: ["3", "500m"] }),
          candidate("c", { conditions: {}, pods: ["3"] }),
        ]),
      ),
    );
    expect(commands).toHaveLength(1);
    const [command] = commands;
    expect(names(command?.candidates)).toEqual(["b"]);
    expect(command?.validateAfterMs).toBe(0);
    expect(command?.replacements.map(({ pods }) => pods.length)).toEqual([1]);
    // The small pod fits on an existing node.
    expect(command?.targets).toEqual(["a"]);
  });

  it("S2-45: removes empty nodes at once, and used ones of alpha one at a time", () => {
    const alpha = { generation: "alpha", ...drifted(1_000) } as const;
    const used = candidate("used", { ...alpha, pods: ["1"] });
    const empty = ["a", "b"].map((name) => candidate(name, alpha));
    const at = (candidates: readonly Candidate[], alphaBusy: boolean) =>
      atOnce(drift.propose(roundOf(candidates, { alphaBusy }))).commands;
    expect(at([used, ...empty], true).map(({ candidates }) => names(candidates))).toEqual([
      ["a", "b"],
    ]);
    expect(at([used], true)).toEqual([]);
    const [command] = at([used], false);
    expect(describeOlder(command as NonNullable<typeof command>)).toBe(
      "replace, terminating 1 machines used/m-4x/on-demand and replacing with spot machine from types m-2x, m-4x, m-8x, m-16x",
    );
  });

  it("removes at most 500 empty nodes in a command, and all that budgets allow", () => {
    const all = Array.from({ length: 1_201 }, (_, index) => candidate(`n${index}`, drifted(1_000)));
    const taken = (allowed: number) =>
      atOnce(drift.propose(roundOf(all, { allowed }))).commands.map(
        ({ candidates }) => candidates.length,
      );
    expect(taken(900)).toEqual([500, 400]);
    expect(taken(500)).toEqual([500]);
  });

  it("skips a node whose pods have no other place, says so, and takes the next", () => {
    const input = roundOf([
      candidate("a", { ...drifted(9_000), type: "m-8x", pods: ["5"] }),
      candidate("b", { ...drifted(1_000), pods: ["1"] }),
    ]);
    const { commands, remarks } = atOnce(
      drift.propose(
        withFacts(input, {
          simulator: roundOf(input.facts.candidates, { types: [] }).facts.simulator,
        }),
      ),
    );
    expect(names(commands[0]?.candidates)).toEqual(["b"]);
    expect(remarks[0]).toMatchObject({ about: "blocked" });
    expect(remarks[0]?.message).toMatch(/^not all pods would schedule, default\/a-0 => /);
  });

  it("disrupts nothing if budgets allow nothing", () => {
    const one = candidate("a", { ...drifted(1_000), pods: ["1"] });
    expect(atOnce(drift.propose(roundOf([one], { allowed: 0 }))).commands).toEqual([]);
  });

  it("does not move pods to a node that is not initialized", () => {
    const starting = nodeView({
      node: { name: "starting", labels: { "karpenter.sh/registered": "true" } },
      claim: candidate("starting").claim,
    });
    const one = candidate("a", { ...drifted(1_000), pods: ["1"] });
    const { commands, remarks } = atOnce(
      drift.propose(roundOf([one], { scheduling: { nodes: [starting] } })),
    );
    expect(commands).toEqual([]);
    expect(remarks[0]?.message).toContain(
      "default/a-0 => would schedule against uninitialized nodeclaim/starting, node/starting",
    );
  });

  it("ignores pods that are pending anyway", () => {
    const waiting = pod({ name: "waiting", cpu: "12" });
    const candidates = [
      candidate("a", { ...drifted(1_000), pods: ["1"] }),
      candidate("b", { conditions: {} }),
    ];
    const [command] = atOnce(
      drift.propose(roundOf(candidates, { scheduling: { pods: [waiting] } })),
    ).commands;
    expect(command?.replacements).toEqual([]);
    expect(command?.targets).toEqual(["b"]);
  });
});

describe("expiration", () => {
  it("S2-14, S3-43: replaces a node with the Expired condition", () => {
    const expired = candidate("a", {
      generation: "beta",
      conditions: { Expired: 1_000 },
      pods: ["3"],
    });
    const [command] = atOnce(expiration.propose(roundOf([expired]))).commands;
    expect(command).toMatchObject({ reason: "Expired", via: "expiration", generation: "beta" });
    expect(command?.replacements).toHaveLength(1);
  });
});
