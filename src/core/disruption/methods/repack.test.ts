import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { pod } from "../../../testing/builders.ts";
import {
  answered,
  type CandidateOptions,
  candidate,
  NOW,
  type RoundOptions,
  roundOf,
  validated,
  withFacts,
} from "../../../testing/disruption.ts";
import { DEFAULT_PLANNER, type PlannerOptions } from "../../planner/planner-options.ts";
import { rule } from "../arbiter.ts";
import type { Candidate } from "../candidates.ts";
import { type Command, savingsMicroUsd } from "../command.ts";
import { poolGroups } from "../repack/groups.ts";
import { asGoodMicroUsd } from "../repack/search.ts";
import { RepackTurns } from "../repack-turns.ts";
import type { RoundFacts } from "../round.ts";
import type { Method, Proposal } from "./method.ts";
import { multiNodeConsolidation } from "./multi-node-consolidation.ts";
import { poolsLeftToRepack, repack } from "./repack.ts";
import { singleNodeConsolidation } from "./single-node-consolidation.ts";

const values = ["on-demand"];
const ON_DEMAND = { key: "karpenter.sh/capacity-type", operator: "In" as const, values };
const REPACK = { planner: DEFAULT_PLANNER, minSavingsPercent: 5 };

/** A node of eight cores with a pod of five cores. Three such pods fit on one node of sixteen cores. */
const sparse = (name: string, options: CandidateOptions = {}) =>
  candidate(name, {
    type: "m-8x",
    pods: ["5"],
    ...options,
    pool: { requirements: [ON_DEMAND], ...options.pool },
  });
/** A node without free room. */
const full = (name: string) => sparse(name, { type: "m-4x", pods: ["4"] });
const input = (candidates: readonly Candidate[], options: RoundOptions = {}) =>
  roundOf(candidates, { repack: REPACK, allowed: 1_000, ...options });
const beside = (one: Candidate) => [
  one,
  ...["b", "c", "d", "e", "f", "g", "h"].map((name) => sparse(name)),
];
const untils = ({ deferred: later = [] }: Proposal) => later.map(({ until }) => until);
const names = ({ candidates }: Command) => candidates.map(({ node }) => node.name).sort();
const types = ({ replacements }: Command) =>
  replacements.map(({ cheapest }) => cheapest.instanceType).sort();

const propose = (candidates: readonly Candidate[], options?: RoundOptions) =>
  atOnce(repack.propose(input(candidates, options)));

describe("repack", () => {
  it("replaces many nodes by fewer ones that are cheaper together, after validation", () => {
    const six = ["a", "b", "c", "d", "e", "f"];
    const { commands } = propose(six.map((name) => sparse(name)));
    const [command] = commands as [Command];
    expect(names(command)).toEqual(six);
    expect(types(command)).toEqual(["m-16x", "m-16x"]);
    expect(savingsMicroUsd(command)).toBe(800_000);
    expect(command).toMatchObject({ reason: "Underutilized", validateAfterMs: 15_000 });
  });

  it("goes before multi-node consolidation if that would save less", () => {
    const empty = (name: string) => sparse(name, { pods: ["500m"] });
    const nodes = beside(empty("a"));
    const multi = (among: readonly Candidate[], options?: RoundOptions) =>
      atOnce(multiNodeConsolidation.propose(input(among, options))).commands;
    const [alone] = multi(nodes, { repack: undefined }) as [Command];
    const [repacked] = propose(nodes).commands as [Command];
    expect([alone, repacked].map(savingsMicroUsd)).toEqual([800_000, 1_200_000]);
    expect(multi(nodes)).toEqual([]);
    expect(untils(atOnce(multiNodeConsolidation.propose(input(nodes))))).toEqual(["repacked"]);
    expect(multi(["a", "b"].map(empty))).toHaveLength(1);
  });

  it("gives the planner more work than it gets for a batch of pending pods", () => {
    const one = input(beside(sparse("a")));
    const given: { readonly pods: number; readonly planner: PlannerOptions }[] = [];
    const simulator: RoundFacts["simulator"] = {
      ...one.facts.simulator,
      withoutInSteps: (candidates, terms) => {
        const pods = candidates.flatMap(({ reschedulablePods }) => reschedulablePods).length;
        if (terms?.packed !== undefined) given.push({ pods, planner: terms.packed.planner });
        return one.facts.simulator.withoutInSteps(candidates, terms);
      },
    };
    atOnce(repack.propose(withFacts(one, { simulator })));
    expect(given.length).toBeGreaterThan(0);
    const { baseWork, workPerPod, dualPriceOrders = 1 } = DEFAULT_PLANNER;
    for (const { pods, planner } of given) {
      expect(planner.baseWork).toBe(20 * (baseWork + workPerPod * pods));
      expect(planner.dualPriceOrders).toBeGreaterThan(dualPriceOrders);
    }
  });

  it("makes its plans once a round, however many methods ask", () => {
    const nodes = beside(sparse("a", { pods: ["500m"] }));
    const planned = (methods: readonly Method[]) => {
      const one = input(nodes);
      let plans = 0;
      const simulator: RoundFacts["simulator"] = {
        ...one.facts.simulator,
        withoutInSteps: (candidates, terms) => {
          if (terms?.packed !== undefined) plans++;
          return one.facts.simulator.withoutInSteps(candidates, terms);
        },
      };
      const ask = (method: Method) =>
        atOnce(method.propose(withFacts(one, { simulator }))).commands;
      return [methods.map((method) => ask(method).length), plans];
    };
    const [, alone] = planned([repack]);
    expect(alone).toBeGreaterThan(0);
    expect(planned([multiNodeConsolidation, singleNodeConsolidation, repack])).toEqual([
      [0, 0, 1],
      alone,
    ]);
  });

  it("waits for nodes that pods have just been moved to, unless budgets allow no more nodes anyway", () => {
    const nodes = beside(sparse("a", { pods: ["500m"] }));
    const options = { isSettling: () => answered(true) };
    const [soon] = propose(nodes).commands as [Command];
    const { commands, deferred: later = [] } = atOnce(repack.propose(input(nodes, options)));
    expect([commands, later.map(({ command }) => names(command as Command))]).toEqual([
      [],
      [names(soon)],
    ]);
    expect(atOnce(multiNodeConsolidation.propose(input(nodes, options)))).toMatchObject({
      commands: [],
      deferred: [{ until: "repacked" }],
    });
    // Budgets allow only as many nodes as the first command removes.
    expect(atOnce(repack.propose(input(nodes, { allowed: 4, ...options }))).commands).toHaveLength(
      1,
    );
  });

  describe("with nodes that had pod events less than consolidateAfter ago", () => {
    const noisy = (name: string, leftMs: number, options: CandidateOptions = {}) =>
      sparse(name, {
        conditions: { Initialized: 30_000 - leftMs },
        disruption: { consolidateAfter: 30_000 },
        ...options,
      });
    const six = ["a", "b", "c", "d", "e", "f"].map((name) => sparse(name));
    const ask = (nodes: readonly Candidate[], options: RoundOptions = {}) => {
      const { commands, deferred: later = [] } = propose(nodes, options);
      return [
        commands.map(names),
        later.map(({ until, command }) => [until, names(command as Command)]),
      ];
    };
    const all = six.map(({ node }) => node.name);

    it.each<[string, readonly Candidate[], RoundOptions]>([
      ["where there are none", [], {}],
      ["that may go too late", [noisy("x", 31_000)], {}],
      ["that bring nothing", [noisy("x", 10_000, { type: "m-4x", pods: ["4"] })], {}],
      ["that rest", [noisy("x", 10_000)], { fromRepack: ({ node }) => node.name === "x" }],
      ["that are empty", [noisy("x", 10_000, { pods: [] })], {}],
      ["that were waited for", [noisy("x", 10_000)], { turns: { waitLeftMs: () => 0 } }],
      [
        "that may go later than those are waited for",
        [noisy("x", 10_000)],
        { turns: { waitLeftMs: () => 9_000 } },
      ],
    ])("continues %s", (_, others, options) => {
      expect(ask([...six, ...others], options)).toEqual([[all], []]);
    });

    it("waits for nodes that will be consolidatable in a moment", () => {
      const nodes = [...six, noisy("x", 10_000), noisy("y", 20_000)];
      expect(ask(nodes)).toEqual([[], [["quiet", all]]]);
    });

    it("waits only for a bounded time if pod events never stop", () => {
      const turns = new RepackTurns();
      const waited: number[] = [];
      for (let second = 0; second <= 600; second += 10) {
        const nowMs = NOW + second * 1_000;
        // At every second, there is one node that would be quiet ten seconds later.
        const nodes = [...six, noisy("x", 10_000 + second * 1_000)];
        const proposal = propose(nodes, { nowMs, turns });
        if (proposal.commands.length === 0) waited.push(second);
        turns.note(rule(repack, proposal, { pending: [] }), nowMs);
      }
      expect(waited).toEqual([0, 10, 20, 300, 310, 320, 600]);
    });

    it("does not delay a deletion of nodes, only a replacement", () => {
      const nodes = [...six, noisy("x", 10_000)];
      const one = input(nodes);
      const [command] = propose(six).commands as [Command];
      const left = (replacements: Command["replacements"]) =>
        atOnce(poolsLeftToRepack({ ...command, candidates: six.slice(0, 1), replacements }, one));
      expect(left([])).toEqual([]);
      expect(left(command.replacements.slice(0, 1))).toEqual(["nodepool/default"]);
    });
  });

  describe("of pools that share no pods", () => {
    const ids = ["a", "b", "c"].map((name) => `nodepool/${name}`);
    const nodes = ["a", "b", "c"].flatMap((name) =>
      [0, 1, 2].map((index) =>
        sparse(`${name}-${index}`, { pool: { id: `nodepool/${name}`, name } }),
      ),
    );
    const ask = (options: RoundOptions = {}) => {
      const one = input(nodes, options);
      const simulator = { ...one.facts.simulator, openTo: () => ids.map((id) => [id]) };
      return atOnce(repack.propose(withFacts(one, { simulator })));
    };
    const pools = ({ commands }: Proposal) =>
      commands.map(({ candidates: [one] }) => one?.pool.name);

    it("makes one command for each pool in a round", () => {
      expect(pools(ask())).toEqual(["a", "b", "c"]);
      expect(ask().servedPools?.map((poolIds) => [...poolIds])).toEqual(ids.map((id) => [id]));
    });

    it("makes no more commands than cluster budgets and PodDisruptionBudgets allow together", () => {
      expect(pools(ask({ allowedInAll: 6 }))).toEqual(["a", "b"]);
      const pdb = {
        metadata: { name: "db", namespace: "default" },
        spec: { selector: {} },
        status: { disruptionsAllowed: 3 },
      };
      expect(pools(ask({ pdbs: [pdb] }))).toEqual(["a"]);
    });

    it("makes no further command that would bring the round above 50 nodes", () => {
      const many = ["a", "b", "c"].flatMap((name) =>
        Array.from({ length: 21 }, (_, index) =>
          sparse(`${name}-${index}`, { pool: { id: `nodepool/${name}`, name } }),
        ),
      );
      const one = input(many);
      const simulator = { ...one.facts.simulator, openTo: () => ids.map((id) => [id]) };
      const { commands } = atOnce(repack.propose(withFacts(one, { simulator })));
      expect(commands.map(({ candidates }) => candidates.length)).toEqual([21, 21]);
    });

    it("does not charge a cluster budget for pools that are not repacked", () => {
      const of = (name: string, count: number, app: string) =>
        Array.from({ length: count }, (_, index) =>
          sparse(`${name}-${index}`, {
            pool: { id: `nodepool/${name}`, name },
            podLabels: { app },
            ...(count === 1 ? { type: "m-16x", pods: ["4", "4", "2"] } : {}),
          }),
        );
      const pdb = {
        metadata: { name: "db", namespace: "default" },
        spec: { selector: { matchLabels: { app: "db" } } },
        status: { disruptionsAllowed: 3 },
      };
      const among = [...of("a", 3, "db"), ...of("b", 3, "db"), ...of("c", 1, "web")];
      const going = (allowedInAll: number, pdbs: RoundOptions["pdbs"] = []) => {
        const one = input(among, { allowedInAll, pdbs });
        const simulator = { ...one.facts.simulator, openTo: () => ids.map((id) => [id]) };
        return pools(atOnce(repack.propose(withFacts(one, { simulator }))));
      };
      expect(going(7)).toEqual(["a", "b", "c"]);
      // The budget allows only two of b's three nodes, so b is not repacked.
      expect(going(5)).toEqual(["a", "c"]);
      // The PodDisruptionBudget protects the nodes of b.
      expect(going(6, [pdb])).toEqual(["a", "c"]);
    });

    it("serves the pools in turns, the one that waited longest first", () => {
      const turns = new RepackTurns();
      const order: (string | undefined)[] = [];
      for (let round = 0; round < 6; round++) {
        const proposal = ask({
          allowedInAll: 3,
          turns: { lastMs: (poolIds) => turns.lastMs(poolIds) },
        });
        turns.note(rule(repack, proposal, { pending: [] }), NOW + round);
        order.push(...pools(proposal));
      }
      expect(order).toEqual(["a", "b", "c", "a", "b", "c"]);
    });
  });

  it("does not wait for pools whose pods cannot use the pools of the command", () => {
    const of = (name: string, count: number, options: CandidateOptions = {}) =>
      Array.from({ length: count }, (_, index) =>
        sparse(`${name}-${index}`, { pool: { id: `nodepool/${name}`, name }, ...options }),
      );
    const [many, few] = [of("a", 9), of("b", 3)];
    const isSettling = (poolIds: ReadonlySet<string>) => answered(poolIds.has("nodepool/a"));
    const one = input([...many, ...few], { isSettling });
    const simulator = { ...one.facts.simulator, openTo: () => [["nodepool/a"], ["nodepool/b"]] };
    const proposal = atOnce(repack.propose(withFacts(one, { simulator })));
    const [command] = proposal.commands as [Command];
    expect(names(command)).toEqual(["b-0", "b-1", "b-2"]);
    expect(proposal.deferred?.map(({ poolIds }) => [...poolIds])).toEqual([["nodepool/a"]]);

    const sooner = [
      sparse("a-x", { pods: ["500m"], pool: { id: "nodepool/a", name: "a" } }),
      ...many,
    ];
    const large = of("b", 1, { type: "m-16x", pods: ["500m"] });
    const both = input([...sooner, ...large], { isSettling });
    const apart = withFacts(both, {
      simulator: { ...both.facts.simulator, openTo: simulator.openTo },
    });
    const [single] = atOnce(singleNodeConsolidation.propose(apart)).commands as [Command];
    expect(names(single)).toEqual(["b-0"]);

    const restless = input([...many, ...few], { isSettling: () => answered(true) });
    const settling = withFacts(restless, { simulator: { ...simulator } });
    const left = (candidates: readonly Candidate[]) => {
      const { pool } = candidates[0] as Candidate;
      const replacements = command.replacements.map((plan) => ({ ...plan, pool }));
      return atOnce(poolsLeftToRepack({ ...command, candidates, replacements }, settling));
    };
    expect([left(few), left(many.slice(0, 3))]).toEqual([[], ["nodepool/a"]]);
  });

  it("is compared with consolidation separately for each group of pools", () => {
    const of = (name: string, nodes: readonly Candidate[]) =>
      nodes.map(({ node }, index) =>
        sparse(`${name}-${node.name}`, {
          pods: index === 0 ? ["500m"] : ["5"],
          pool: { id: `nodepool/${name}`, name },
        }),
      );
    const eight = beside(sparse("a"));
    const one = input([...of("x", eight), ...of("y", eight.slice(0, 2))]);
    const openTo = () => [["nodepool/x"], ["nodepool/y"]];
    const apart = withFacts(one, { simulator: { ...one.facts.simulator, openTo } });
    const proposal = atOnce(multiNodeConsolidation.propose(apart));
    expect([proposal.commands.map(names), untils(proposal)]).toEqual([
      [["y-a", "y-b"]],
      ["repacked"],
    ]);
  });

  it("accepts fewer savings for more nodes only as a share of the price that remains", () => {
    const [price, wanted] = [10_000_000, 0.05];
    expect(asGoodMicroUsd(500_000, price, wanted)).toBe(475_000);
    expect(asGoodMicroUsd(9_000_000, price, wanted)).toBe(8_995_000);
  });

  it("splits one large node into several small ones", () => {
    const large = sparse("a", { type: "m-16x", pods: ["4", "4", "2"] });
    const [command] = propose([large]).commands as [Command];
    expect(types(command)).toEqual(["m-2x", "m-8x"]);
  });

  it("finds a saving anywhere among many full nodes", () => {
    const many = Array.from({ length: 150 }, (_, index) => full(`full-${index}`));
    const { commands } = propose([...many, sparse("x"), sparse("y"), sparse("z")]);
    expect(commands.map(names)).toEqual([["x", "y", "z"]]);
  });

  it("proposes nothing if every command is held off", () => {
    const nodes = ["a", "b", "c"].map((name) => sparse(name));
    expect(propose(nodes, { holdOff: () => ({ message: "not now" }) }).commands).toEqual([]);
  });

  it("makes the same commands whatever other pods are pending", () => {
    const nodes = [sparse("a"), sparse("b"), sparse("c"), full("d")];
    const elsewhere = { nodeSelector: { "example.com/disk": "fast" } };
    const waiting = [
      pod({ name: "too-large", cpu: "500" }),
      pod({ name: "elsewhere", spec: elsewhere }),
    ];
    const alone = propose(nodes).commands;
    const beside = propose(nodes, { scheduling: { pods: waiting } }).commands;
    const told = (commands: readonly Command[]) => commands.map((one) => [names(one), types(one)]);
    expect(told(alone)).toEqual([[["a", "b", "c"], ["m-16x"]]]);
    expect(told(beside)).toEqual(told(alone));
  });

  it("takes no more nodes in one command than budgets allow", () => {
    const nodes = ["a", "b", "c", "d", "e", "f"].map((name) => sparse(name));
    const [command] = propose(nodes, { allowed: 4 }).commands as [Command];
    expect(names(command)).toEqual(["a", "b", "c"]);
    expect(propose(nodes, { allowed: 2 }).commands).toEqual([]);
    expect(propose(nodes, { allowed: 0 }).commands).toEqual([]);
  });

  it("counts PodDisruptionBudgets over all nodes of the command", () => {
    const guarded = { podLabels: { app: "db" } };
    const pdb = {
      metadata: { name: "db", namespace: "default" },
      spec: { selector: { matchLabels: { app: "db" } } },
      status: { disruptionsAllowed: 1 },
    };
    const nodes = [sparse("a", guarded), sparse("b", guarded), sparse("c"), sparse("d")];
    const [command] = propose(nodes, { pdbs: [pdb] }).commands as [Command];
    expect(names(command)).toEqual(["a", "c", "d"]);
  });

  it.each([
    ["repack is off", { repack: undefined }],
    ["the nodes or their pool are held off", { fromRepack: () => true }],
    ["the saving is below the share required after an overrun", { minRepackShare: () => 0.6 }],
    ["it would save too little", { repack: { ...REPACK, minSavingsPercent: 60 } }],
    [
      "new nodes of their pool have just failed",
      { backingOff: new Map([["nodepool/default", 60_000]]) },
    ],
  ])("leaves nodes when %s", (_, options) => {
    const nodes = ["a", "b", "c"].map((name) => sparse(name));
    expect(propose(nodes).commands).toHaveLength(1);
    expect(propose(nodes, options).commands).toEqual([]);
  });

  it("leaves nodes of older generations, which support one replacement only", () => {
    const nodes = ["a", "b", "c"].map((name) => sparse(name, { generation: "beta" }));
    expect(propose(nodes).commands).toEqual([]);
  });

  it("replaces spot by spot only behind the gate", () => {
    const pool = { requirements: [] };
    const nodes = ["a", "b", "c"].map((name) => sparse(name, { capacityType: "spot", pool }));
    expect(propose(nodes).commands).toEqual([]);
    const [command] = propose(nodes, { forSpot: "spot" }).commands as [Command];
    expect(command.replacements.map(({ cheapest }) => cheapest.capacityType)).toEqual(["spot"]);
  });

  it("validates the command after the wait, and gives up if it no longer holds", () => {
    const nodes = ["a", "b", "c"].map((name) => sparse(name));
    const [command] = propose(nodes).commands as [Command];
    const still = validated(repack, command, input(nodes)) as Command;
    expect(names(still)).toEqual(["a", "b", "c"]);
    expect(still.validateAfterMs).toBe(0);
    expect(validated(repack, command, input(nodes.slice(1)))).toBe("churn");
    expect(validated(repack, command, input(nodes, { allowed: 2 }))).toBe("budget");
    const busier = nodes.map(({ node }) => sparse(node.name, { pods: ["5", "3"] }));
    expect(validated(repack, command, input(busier))).toBe("scheduling");
  });

  it("plans no pods onto a node that has just become empty, also at validation", () => {
    const nodes = ["a", "b", "c"].map((name) => sparse(name));
    const emptied = (conditions: Readonly<Record<string, number>>, pods: readonly string[] = []) =>
      sparse("emptied", { conditions, pods });
    const among = (other: Candidate) => ({ scheduling: { nodes: [other.node] } });
    const [command] = propose(nodes, among(emptied({}))).commands as [Command];
    expect([types(command), command.targets]).toEqual([["m-16x"], []]);
    const [later, used] = [emptied({ Consolidatable: 0 }), emptied({ Consolidatable: 0 }, ["2"])];
    const still = validated(repack, command, input(nodes, among(later))) as Command;
    expect([types(still), still.targets]).toEqual([["m-16x"], []]);
    const onto = validated(repack, command, input(nodes, among(used))) as Command;
    expect(onto.targets).toEqual(["emptied"]);
  });
});

describe("groups of pools", () => {
  it("join pools that share pods, directly or through other pools", () => {
    const of = (name: string) => candidate(name, { pool: { id: `nodepool/${name}`, name } });
    const openTo = [["b", "c"], ["a", "b"], ["d"], []];
    const groups = atOnce(
      poolGroups(
        ["d", "a", "b", "c", "x"].map(of),
        openTo.map((list) => list.map((name) => `nodepool/${name}`)),
      ),
    );
    expect(groups.map((one) => one.candidates.map(({ node }) => node.name))).toEqual([
      ["a", "b", "c"],
      ["d"],
    ]);
  });
});
