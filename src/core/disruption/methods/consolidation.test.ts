import { describe, expect, it } from "vitest";
import type { PodDisruptionBudget } from "../../../apis/policy/kinds.ts";
import { atOnce } from "../../../base/steps.ts";
import { instanceType } from "../../../testing/builders.ts";
import {
  type CandidateOptions,
  candidate,
  NOW,
  type RoundOptions,
  roundOf,
  validated,
  withFacts,
} from "../../../testing/disruption.ts";
import { rule } from "../arbiter.ts";
import type { Candidate } from "../candidates.ts";
import type { ForSpot } from "../cheaper.ts";
import { type Command, describeCommand, describeOlder } from "../command.ts";
import { RepackTurns } from "../repack-turns.ts";
import { METHODS } from "./all.ts";
import type { Remark } from "./method.ts";
import { multiNodeConsolidation as multi } from "./multi-node-consolidation.ts";
import { singleNodeConsolidation as single } from "./single-node-consolidation.ts";

const names = (candidates: readonly Candidate[]) => candidates.map(({ node }) => node.name).sort();
const propose = (method: typeof single, candidates: readonly Candidate[], options?: RoundOptions) =>
  atOnce(method.propose(roundOf(candidates, options)));
/** A node with pods of these cpu requests. All nodes save equally much, so candidates are ordered by name. */
const used = (name: string, pods: readonly string[], options: CandidateOptions = {}) =>
  candidate(name, { pods, ...options });
const capacityTypes = (...values: readonly string[]) => ({
  key: "karpenter.sh/capacity-type",
  operator: "In" as const,
  values,
});

describe("methods", () => {
  it("are tried in upstream's order, with ours after it", () => {
    expect(METHODS.map(({ name }) => name)).toEqual([
      "repair",
      "expiration",
      "emptiness",
      "static drift",
      "drift",
      "return to preferred",
      "multi-node consolidation",
      "single-node consolidation",
      "repack",
    ]);
  });
});

describe("single-node consolidation", () => {
  it("S3-41: deletes a node whose pods fit elsewhere, after validation", () => {
    const { commands } = propose(single, [used("a", ["1"]), used("b", ["2"])]);
    expect(commands).toHaveLength(1);
    const [command] = commands as [Command];
    expect(names(command.candidates)).toEqual(["a"]);
    expect(command).toMatchObject({ replacements: [], targets: ["b"], validateAfterMs: 15_000 });
    expect(describeCommand(command, "id")).toBe(
      "Underutilized/id: delete: nodepools=[default]: [a] (savings: $0.20)",
    );
  });

  it("moves no pods to a node with pod events within consolidateAfter (A#7146)", () => {
    const restless = { conditions: { Initialized: 0 } };
    const { commands, remarks } = propose(single, [used("a", ["1"]), used("b", [], restless)]);
    expect(commands).toEqual([]);
    expect(remarks.map(({ message }) => message)).toContain(
      `Pods would move to node "b", where pods came or went within its NodePool's consolidateAfter`,
    );
  });

  it("moves pods to a consolidatable node, not to one with recent pod events", () => {
    const restless = { conditions: { Initialized: 0 } };
    const nodes = [used("a", ["1"]), used("b", ["1"], restless), used("c", ["2"])];
    const { commands } = propose(single, nodes);
    expect(commands).toMatchObject([{ replacements: [], targets: ["c"] }]);
    const [command] = commands as [Command];
    expect(names(command.candidates)).toEqual(["a"]);
    // The validation simulates under the same terms, so it confirms the command.
    const confirmed = validated(single, command, roundOf(nodes));
    expect(confirmed).toMatchObject({ targets: ["c"], validateAfterMs: 0 });
  });

  it("replaces a node by a cheaper one, as spot if spot is available", () => {
    const { commands } = propose(single, [used("a", ["3"], { type: "m-16x" })]);
    const [plan] = commands[0]?.replacements ?? [];
    // 16 on-demand cpu cost 0.80; as spot, 16 cpu cost 0.56.
    expect(plan?.instanceTypes.map(({ name }) => name)).toEqual(["m-4x", "m-8x", "m-16x"]);
    expect(plan?.requirements).toContainEqual({
      key: "karpenter.sh/capacity-type",
      operator: "In",
      values: ["spot"],
    });
    expect(plan?.cheapest).toMatchObject({ capacityType: "spot", priceMicroUsd: 140_000 });
  });

  it("keeps on-demand if the pool requires it, and says that no cheaper node exists", () => {
    const pool = { requirements: [capacityTypes("on-demand")] };
    const fits = propose(single, [used("a", ["3"], { type: "m-16x", pool })]);
    const [plan] = fits.commands[0]?.replacements ?? [];
    expect(plan?.instanceTypes.map(({ name }) => name)).toEqual(["m-4x", "m-8x"]);
    const full = propose(single, [used("a", ["3"], { pool })]);
    expect(full.commands).toEqual([]);
    expect(full.remarks.map(({ message }) => message)).toEqual([
      "Can't replace with a cheaper node",
    ]);
  });

  it("replaces spot by spot only with the feature gate on and fifteen cheaper types", () => {
    const types = Array.from({ length: 20 }, (_, index) =>
      instanceType({ name: `t-${String(index).padStart(2, "0")}`, priceMicroUsd: 10_000 + index }),
    );
    const at = (type: string, forSpot: ForSpot) =>
      propose(single, [used("a", ["1"], { types, type, capacityType: "spot" })], {
        types,
        forSpot,
      });
    expect(at("t-19", "onDemand").remarks[0]?.message).toBe(
      "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
    );
    expect(at("t-05", "spot").remarks[0]?.message).toBe(
      "SpotToSpotConsolidation requires 15 cheaper instance type options than the current candidate to consolidate, got 5",
    );
    const [plan] = at("t-19", "spot").commands[0]?.replacements ?? [];
    expect(plan?.instanceTypes).toHaveLength(15);
    expect(plan?.instanceTypes[0]?.name).toBe("t-00");
  });

  it("replaces spot by on-demand at half the price, if spot-to-spot consolidation is off", () => {
    const spot: CandidateOptions = { type: "m-16x", capacityType: "spot" };
    const onDemand = propose(single, [used("a", ["3"], spot)]);
    const [plan] = onDemand.commands[0]?.replacements ?? [];
    // 16 spot cpu cost 0.56. On demand, 4 cpu cost 0.20 and 8 cpu cost 0.40.
    expect(plan?.instanceTypes.map(({ name }) => name)).toEqual(["m-4x"]);
    expect(plan?.cheapest).toMatchObject({ capacityType: "on-demand", priceMicroUsd: 200_000 });
    const ofOnDemand = plan?.requirements.find(({ key }) => key === "karpenter.sh/capacity-type");
    expect(ofOnDemand).toMatchObject({ operator: "In", values: ["on-demand"] });

    const stays = [
      used("a", ["3"], { ...spot, type: "m-8x" }),
      used("a", ["3"], { ...spot, generation: "beta" }),
      used("a", ["3"], { ...spot, pool: { requirements: [capacityTypes("spot")] } }),
    ];
    const remarks = [
      ...stays.map((one) => propose(single, [one]).remarks),
      propose(single, [used("a", ["3"], spot)], { forSpot: "nothing" }).remarks,
    ];
    for (const [{ message }] of remarks as [Remark][])
      expect(message).toBe(
        "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
      );
  });

  it.each([
    [
      "the policy is about empty nodes",
      { disruption: { policy: "WhenEmpty" } },
      "consolidation policy WhenEmpty, but node is not empty",
    ],
    [
      "a Provisioner is about empty nodes",
      { generation: "alpha", disruption: { policy: "WhenEmpty" } },
      'Provisioner "default" has consolidation disabled',
    ],
    [
      "consolidation is off",
      { disruption: { consolidateAfter: "Never" } },
      "has consolidation disabled",
    ],
    ["its type is not known any more", { type: "m-99x" }, 'Instance Type "m-99x" not found'],
    [
      "an older pool's node is annotated",
      { generation: "beta", annotations: { "karpenter.sh/do-not-consolidate": "true" } },
      "do-not-consolidate",
    ],
  ] as const)("leaves a node when %s", (_, options, text) => {
    const one = used("a", ["100m"], options as CandidateOptions);
    const { commands, remarks } = propose(single, [one, used("b", ["1"], { conditions: {} })]);
    expect(commands).toEqual([]);
    expect(remarks.map(({ message }) => message)).toEqual([expect.stringContaining(text)]);
  });

  it("leaves nodes that are not consolidatable, or whose pool's budget is used up", () => {
    const quiet = () => [
      used("a", ["1"], { conditions: {} }),
      used("b", ["1"], { conditions: {} }),
    ];
    expect(propose(single, quiet()).commands).toEqual([]);
    const ready = [used("a", ["1"]), used("b", ["1"])];
    expect(propose(single, ready, { allowed: 0 }).commands).toEqual([]);
  });

  it("splits a large node into cheaper small ones, but not in older generations", () => {
    const types = [
      instanceType({ name: "small", cpu: 2, priceMicroUsd: 100_000, capacityTypes: ["on-demand"] }),
      instanceType({
        name: "large",
        cpu: 16,
        priceMicroUsd: 900_000,
        capacityTypes: ["on-demand"],
      }),
    ];
    const at = (generation: "beta" | "v1") =>
      propose(
        single,
        [used("a", ["1500m", "1500m", "1500m"], { types, type: "large", generation })],
        {
          types,
        },
      );
    const [command] = at("v1").commands;
    expect(command?.replacements.map(({ cheapest }) => cheapest.instanceType)).toEqual([
      "small",
      "small",
      "small",
    ]);
    // All replacements together are cheaper than the removed nodes, whichever of the plan's types are launched.
    expect(
      command?.replacements.flatMap((plan) => plan.instanceTypes.map(({ name }) => name)),
    ).toEqual(["small", "small", "small"]);
    expect(at("beta").remarks.map(({ message }) => message)).toEqual([
      "Can't replace with a cheaper node",
    ]);
  });

  it("splits a node only if that saves more than the additional nodes cost beyond their instances", () => {
    const small = { name: "small", cpu: 2, priceMicroUsd: 100_000 };
    const splits = (priceMicroUsd: number) => {
      const large = { name: "large", cpu: 16, priceMicroUsd };
      const types = [small, large].map((one) =>
        instanceType({ ...one, capacityTypes: ["on-demand"] }),
      );
      const nodes = [used("a", ["1500m", "1500m", "1500m"], { types, type: "large" })];
      return propose(single, nodes, { types }).commands.length;
    };
    // Two additional nodes at $0.02 an hour (--planner-node-cost).
    expect([splits(340_000), splits(350_000)]).toEqual([0, 1]);
  });

  it("launches at most one replacement if splits are off, as upstream does", () => {
    const types = [
      instanceType({ name: "small", cpu: 2, priceMicroUsd: 100_000, capacityTypes: ["on-demand"] }),
      instanceType({
        name: "large",
        cpu: 16,
        priceMicroUsd: 900_000,
        capacityTypes: ["on-demand"],
      }),
    ];
    const large = () => [used("a", ["1500m", "1500m", "1500m"], { types, type: "large" })];
    expect(propose(single, large(), { types }).commands[0]?.replacements.length).toBe(3);
    const without = propose(single, large(), { types, splits: false });
    expect(without.commands).toEqual([]);
    expect(without.remarks.map(({ message }) => message)).toEqual([
      "Can't replace with a cheaper node",
    ]);
  });

  it("visits candidates of different pools in turns", () => {
    const small = { pool: { name: "small", id: "nodepool/small" } };
    const { remarks } = propose(
      single,
      [used("a", ["3"]), used("b", ["3"]), used("c", ["3"], small)],
      { types: [instanceType({ capacityTypes: ["on-demand"] })] },
    );
    expect(remarks.map(({ candidate: one }) => one.node.name)).toEqual(["a", "c", "b"]);
  });

  describe("of pools that share no pods", () => {
    const of = (name: string, from: readonly string[]) =>
      from.map((index) =>
        used(`${name}-${index}`, ["3"], {
          type: "m-16x",
          pool: { name, id: `nodepool/${name}` },
        }),
      );
    const nodes = ["a", "b", "c"].flatMap((name) => of(name, ["0", "1"]));
    const ask = (openTo: readonly (readonly string[])[], options: RoundOptions = {}) => {
      const one = roundOf(nodes, options);
      const simulator = { ...one.facts.simulator, openTo: () => openTo };
      const proposal = atOnce(single.propose(withFacts(one, { simulator })));
      return { ...proposal, names: proposal.commands.map((command) => names(command.candidates)) };
    };
    const apart = ["a", "b", "c"].map((name) => [`nodepool/${name}`]);

    it("makes one command for each such pool, but only one for pools that share pods", () => {
      expect(ask(apart).names).toEqual([["a-0"], ["b-0"], ["c-0"]]);
      expect(ask([apart.flat()]).names).toEqual([["a-0"]]);
      expect(ask([]).names).toEqual([["a-0"]]);
    });

    it("makes no more commands than cluster budgets and PodDisruptionBudgets allow together", () => {
      expect(ask(apart, { allowedInAll: 2 }).names).toEqual([["a-0"], ["b-0"]]);
      const pdb: PodDisruptionBudget = {
        metadata: { name: "one", namespace: "default" },
        spec: { selector: {} },
        status: { disruptionsAllowed: 1 },
      };
      expect(ask(apart, { pdbs: [pdb] }).names).toEqual([["a-0"]]);
    });

    it("gives pools of an older generation no more turns than other pools", () => {
      const turns = new RepackTurns();
      const older = nodes.map(
        (one): Candidate => (one.pool.name === "a" ? { ...one, generation: "beta" } : one),
      );
      const order = [0, 1, 2, 3].map((round) => {
        const one = roundOf(older, { turns });
        const simulator = { ...one.facts.simulator, openTo: () => apart };
        const proposal = atOnce(single.propose(withFacts(one, { simulator })));
        turns.note(rule(single, proposal, { pending: [] }), NOW + round);
        return proposal.commands.map(({ candidates: [first] }) => first?.pool.name);
      });
      expect(order).toEqual([["a"], ["b", "c", "a"], ["a"], ["b", "c", "a"]]);
    });

    it("starts with the pools that have waited longest", () => {
      const turns = new RepackTurns();
      const order: string[][] = [];
      for (let round = 0; round < 4; round++) {
        const proposal = ask(apart, { allowedInAll: 2, turns });
        turns.note(rule(single, proposal, { pending: [] }), NOW + round);
        order.push(proposal.names.map(([name = ""]) => name));
      }
      expect(order).toEqual([
        ["a-0", "b-0"],
        ["c-0", "a-0"],
        ["b-0", "a-0"],
        ["c-0", "a-0"],
      ]);
    });
  });
});

describe("multi-node consolidation", () => {
  it("removes as many nodes as possible together for one cheaper replacement", () => {
    const nodes = ["a", "b", "c"].map((name) => used(name, ["2"]));
    const [command] = propose(multi, nodes).commands;
    expect(names(command?.candidates ?? [])).toEqual(["a", "b", "c"]);
    expect(command?.replacements[0]?.instanceTypes.map(({ name }) => name)).toEqual([
      "m-8x",
      "m-16x",
    ]);
    expect(describeOlder({ ...(command as Command), generation: "alpha" })).toContain(
      "replace, terminating 3 machines ",
    );
  });

  it("finds nodes that can be removed together, wherever they are in the order", () => {
    // The first node cannot be removed, because its pod fits nowhere else.
    const large = used("a", ["3500m"], { type: "m-16x" });
    const others = ["b", "c", "d", "e"].map((name) => used(name, ["1"]));
    const types = [instanceType({ cpu: 4, capacityTypes: ["on-demand"] })];
    const [command] = propose(multi, [large, ...others], { types }).commands;
    expect(command?.replacements).toEqual([]);
    expect(names(command?.candidates ?? [])).toEqual(["b", "c", "d", "e"]);
    expect(command?.targets).toEqual(["a"]);
  });

  it("removes two nodes together whose pods fit on a third node", () => {
    const [command] = propose(multi, [used("a", ["1"]), used("b", ["1"]), used("c", [])]).commands;
    expect(names(command?.candidates ?? [])).toEqual(["a", "b"]);
    expect(command).toMatchObject({ replacements: [], targets: ["c"] });
  });

  it("needs at least two nodes, and takes no more than budgets allow", () => {
    expect(propose(multi, [used("a", ["1"])]).commands).toEqual([]);
    const nodes = ["a", "b", "c"].map((name) => used(name, ["1"]));
    const [command] = propose(multi, nodes, { allowed: 2 }).commands;
    expect(names(command?.candidates ?? [])).toEqual(["a", "b"]);
  });

  it("does not replace nodes by the same type at the same price", () => {
    const spot = { types: [instanceType()], capacityType: "spot" };
    const nodes = ["a", "b"].map((name) => used(name, ["1"], { ...spot, type: "m-4x" }));
    const options = { types: [instanceType()], forSpot: "spot" as const };
    // Only one of the two nodes may be removed, so this is left to the single-node method.
    expect(propose(multi, nodes, options).commands).toEqual([]);
    expect(propose(single, nodes, options).commands).toHaveLength(1);
  });

  it("replaces several spot nodes by on-demand at half their price", () => {
    const spot: CandidateOptions = { type: "m-16x", capacityType: "spot" };
    const nodes = ["a", "b", "c"].map((name) => used(name, ["2"], spot));
    const [command] = propose(multi, nodes).commands;
    expect(names(command?.candidates ?? [])).toEqual(["a", "b", "c"]);
    const [plan] = command?.replacements ?? [];
    expect(plan?.instanceTypes.map(({ name }) => name)).toEqual(["m-8x"]);
    expect(plan?.cheapest).toMatchObject({ capacityType: "on-demand", priceMicroUsd: 400_000 });
    // If spot nodes are only deleted, one of the three nodes must be kept.
    const [deletion] = propose(multi, nodes, { forSpot: "nothing" }).commands;
    expect(names(deletion?.candidates ?? [])).toEqual(["a", "b"]);
    expect(deletion?.replacements).toEqual([]);
  });

  it("counts a PodDisruptionBudget over all nodes of the command", () => {
    const guard = (disruptionsAllowed: number): PodDisruptionBudget => ({
      metadata: { name: "guard", namespace: "default" },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed },
    });
    const nodes = ["a", "b", "c", "d"].map((name) =>
      used(name, ["500m"], { podLabels: { app: "web" } }),
    );
    const at = (allowed: number) =>
      propose(multi, nodes, { pdbs: [guard(allowed)] }).commands[0]?.candidates ?? [];
    expect(names(at(2))).toEqual(["a", "b"]);
    expect(names(at(3))).toEqual(["a", "b", "c"]);
    expect(at(1)).toEqual([]);
  });

  it("skips a node that a PodDisruptionBudget protects and takes the next candidate", () => {
    const guard: PodDisruptionBudget = {
      metadata: { name: "guard", namespace: "default" },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed: 1 },
    };
    const guarded = { generation: "beta", podLabels: { app: "web" } } as const;
    const nodes = [
      used("a", ["500m"], guarded),
      used("b", ["500m"], guarded),
      used("c", ["500m"], { generation: "beta" }),
    ];
    const [command] = propose(multi, nodes, { pdbs: [guard], allowed: 2 }).commands;
    expect(names(command?.candidates ?? [])).toEqual(["a", "c"]);
  });
});

describe("validation of a consolidation", () => {
  const nodes = () => [used("a", ["1"]), used("b", ["2"])];
  const command = () => propose(single, nodes()).commands[0] as Command;

  it("confirms a command if the cluster has not changed", () => {
    expect(validated(single, command(), roundOf(nodes()))).toMatchObject({ validateAfterMs: 0 });
  });

  it("fails if a PodDisruptionBudget no longer allows all nodes of the command", () => {
    const guard = (disruptionsAllowed: number): PodDisruptionBudget => ({
      metadata: { name: "guard", namespace: "default" },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed },
    });
    const all = ["a", "b", "c", "d"].map((name) =>
      used(name, ["500m"], { podLabels: { app: "web" } }),
    );
    const [three] = propose(multi, all, { pdbs: [guard(3)] }).commands as [Command];
    expect(names(three.candidates)).toEqual(["a", "b", "c"]);
    const looked = (allowed: number) =>
      validated(multi, three, roundOf(all, { pdbs: [guard(allowed)] }));
    expect(looked(3)).toMatchObject({ validateAfterMs: 0 });
    expect(looked(2)).toBe("churn");
  });

  it("fails if a node is no longer a candidate, or a budget is used up", () => {
    expect(validated(single, command(), roundOf([used("b", ["2"])]))).toBe("churn");
    expect(validated(single, command(), roundOf(nodes(), { allowed: 0 }))).toBe("budget");
  });

  it("fails if the pods of the node no longer fit elsewhere", () => {
    const fuller = [used("a", ["1"]), used("b", ["3500m"])];
    expect(validated(single, command(), roundOf(fuller))).toBe("scheduling");
  });
});
