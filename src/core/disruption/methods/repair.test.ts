import { describe, expect, it } from "vitest";
import type { Node } from "../../../apis/core/node.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, nodeClaim, nodeView, pod, pool } from "../../../testing/builders.ts";
import { type CandidateOptions, candidate, NOW, roundOf } from "../../../testing/disruption.ts";
import type { RepairPolicy } from "../../cloudprovider/repair-policy.ts";
import { withReboot } from "../../repair/reboots.ts";
import { dueConditions, isRepairForbidden } from "../broken-nodes.ts";
import { type Candidate, findCandidates } from "../candidates.ts";
import { type Command, decisionOf } from "../command.ts";
import type { Proposal } from "./method.ts";
import { repair } from "./repair.ts";

const MINUTE_MS = 60_000;
const ANY = { source: ".*", matches: () => true };

const POLICIES: readonly RepairPolicy[] = [
  {
    conditionType: "Ready",
    conditionStatus: "False",
    tolerationMs: 10 * MINUTE_MS,
    priority: 0,
    action: "ReplaceNode",
  },
  {
    conditionType: "Gpu",
    conditionStatus: "False",
    reasonRegex: ANY,
    tolerationMs: 10 * MINUTE_MS,
    terminationGracePeriodMs: 5 * MINUTE_MS,
    priority: 10,
    action: "RebootNode",
  },
  {
    conditionType: "Disk",
    conditionStatus: "False",
    reasonRegex: ANY,
    tolerationMs: 10 * MINUTE_MS,
    terminationGracePeriodMs: 5 * MINUTE_MS,
    priority: 5,
    action: "ReplaceNode",
  },
];
const RULES = { policies: POLICIES };

interface BrokenOptions extends CandidateOptions {
  readonly ails?: string;
  readonly forMinutes?: number;
  readonly initialized?: boolean;
  readonly claim?: (claim: NodeClaim) => NodeClaim;
  readonly blocking?: string;
}

/** A broken node: its condition `ails` has been False for `forMinutes`. */
function broken(name: string, options: BrokenOptions = {}): Candidate {
  const { ails = "Disk", forMinutes = 20, initialized = true } = options;
  const well = candidate(name, options);
  const ofNode = [
    {
      type: ails,
      status: "False" as const,
      lastTransitionTime: toRfc3339(NOW - forMinutes * MINUTE_MS),
    },
  ];
  const node = { ...(well.node.node as Node), status: { conditions: ofNode } };
  const claim = (options.claim ?? ((one) => one))(well.claim);
  const view = { ...well.node, node, claim, initialized };
  const conditions = dueConditions(view, { repair: RULES, nowMs: NOW });
  const isForbidden = isRepairForbidden(claim, node);
  return {
    ...well,
    claim,
    node: view,
    broken: { conditions, isForbidden, blocking: options.blocking },
  };
}

const healthy = (count: number) =>
  Array.from({ length: count }, (_, index) => candidate(`well-${index}`).node);

function proposed(
  candidates: readonly Candidate[],
  {
    nodes = healthy(10),
    ...options
  }: { nodes?: ReturnType<typeof healthy> } & Parameters<typeof roundOf>[1] = {},
): Proposal {
  const round = roundOf(candidates, { repair: RULES, scheduling: { nodes }, ...options });
  return atOnce(repair.propose(round));
}

const namesOf = ({ commands }: Proposal) =>
  commands.flatMap(({ candidates }) => candidates.map(({ node }) => node.name));
const said = ({ remarks }: Proposal) =>
  remarks.map(({ candidate: one, about, message }) => [one.node.name, about, message]);

describe("repair", () => {
  it("replaces the most urgent node, with the shorter grace period of policy and NodeClaim", () => {
    const grace = (text: string) => (claim: NodeClaim) => ({
      ...claim,
      spec: { ...claim.spec, terminationGracePeriod: text },
    });
    const late = broken("late", { forMinutes: 15, pods: ["3"] });
    const long = broken("long", { forMinutes: 100, pods: ["3"], claim: grace("1h") });
    const { commands } = proposed([late, long]);
    expect(namesOf({ commands, remarks: [] })).toEqual(["long"]);
    const [command] = commands as [Command];
    expect(command.repair).toMatchObject({ action: "ReplaceNode", graceMs: 5 * MINUTE_MS });
    expect(command.replacements.length + command.targets.length).toBe(1);
    const [short] = proposed([broken("a", { claim: grace("1m") })]).commands as [Command];
    expect(short.repair?.graceMs).toBe(MINUTE_MS);
  });

  it("is blocked for a NodePool in which more than 20 % of the nodes are unhealthy", () => {
    const three = ["a", "b", "c"].map((name) => broken(name));
    const blocked = proposed(three, { nodes: healthy(7) });
    const why = 'more than 20% of nodes in nodepool "default" are unhealthy';
    expect(said(blocked)).toEqual(["a", "b", "c"].map((name) => [name, "repairBlocked", why]));
    expect(blocked.commands).toEqual([]);
    // The result is not cached, so repair is tried again soon. A recovered node does not change the results of other
    // methods.
    expect(blocked.hasSimulated).toBeUndefined();
    expect(proposed(three, { nodes: healthy(8) }).commands).toHaveLength(1);
  });

  it("is blocked if unhealthy nodes share a likely cause, and names it", () => {
    const nodes = [
      ...healthy(20),
      ...healthy(5).map((node) => ({ ...node, name: `${node.name}x` })),
    ];
    const type = { type: "m-8x" };
    const three = ["a", "b", "c"].map((name) => broken(name, type));
    const stopped = proposed(three, { nodes });
    expect(stopped.commands).toEqual([]);
    expect(said(stopped)[0]).toEqual([
      "a",
      "repairBlocked",
      expect.stringMatching(/^3 of 3 nodes with instance type m-8x are unhealthy, .* likely cause/),
    ]);
    expect(namesOf(proposed(three.slice(0, 2), { nodes }))).toEqual(["a"]);
  });

  it("counts nodes as unhealthy before their repair is due", () => {
    const young = ["b", "c"].map((name) => broken(name, { forMinutes: 1 }).node);
    const nodes = [...healthy(7), ...young];
    expect(proposed([broken("a")], { nodes }).commands).toEqual([]);
  });

  it("respects budgets, except for nodes that are not initialized", () => {
    expect(proposed([broken("a")], { allowed: 0 }).commands).toEqual([]);
    const raw = broken("raw", { initialized: false });
    expect(namesOf(proposed([broken("a"), raw], { allowed: 0 }))).toEqual(["raw"]);
  });

  it("skips a node with do-not-repair on its Node or NodeClaim", () => {
    const key = "karpenter.sh/do-not-repair";
    const byNode = broken("a", { annotations: { [key]: "true" } });
    const byClaim = broken("b", {
      claim: (one) => ({
        ...one,
        metadata: { ...one.metadata, annotations: { [key]: "true" } },
      }),
    });
    const other = broken("c", { annotations: { [key]: "false" } });
    const answer = proposed([byNode, byClaim, other]);
    const why = `repair is blocked through the "${key}" annotation`;
    expect(said(answer)).toEqual([
      ["a", "blocked", why],
      ["b", "blocked", why],
    ]);
    expect(namesOf(answer)).toEqual(["c"]);
    expect([byNode, byClaim, other].map((one) => repair.isEligible(one, NOW))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("bypasses a PodDisruptionBudget only if the drain has a termination grace period", () => {
    const blocking = "pdb prevents pod evictions";
    const unbound = proposed([broken("a", { ails: "Ready", blocking })]);
    expect(said(unbound)).toEqual([
      ["a", "blocked", "repair requires a termination grace period to bypass blocking pods"],
    ]);
    expect(namesOf(proposed([broken("a", { blocking })]))).toEqual(["a"]);
  });

  it("reboots a node if the policy says so, and replaces it after two reboots within a day", () => {
    const rebooted =
      (...hoursAgo: number[]) =>
      (claim: NodeClaim) =>
        hoursAgo.reduce((one, hours) => withReboot(one, NOW - hours * 60 * MINUTE_MS), claim);
    const actionAfter = (...hoursAgo: number[]) => {
      const one = broken("a", { ails: "Gpu", pods: ["1"], claim: rebooted(...hoursAgo) });
      const [command] = proposed([one]).commands as [Command];
      return [command.repair?.action, command.repair?.isEscalated, command.replacements.length];
    };
    expect(actionAfter()).toEqual(["RebootNode", false, 0]);
    expect(actionAfter(30, 20)).toEqual(["RebootNode", false, 0]);
    expect(actionAfter(20, 2).slice(0, 2)).toEqual(["ReplaceNode", true]);
  });

  it("says why the pods of a node have no place, and continues with the next node", () => {
    const types = [] as const;
    const big = broken("big", { type: "m-16x", pods: ["15"], forMinutes: 60 });
    const small = broken("small", { pods: ["1"] });
    const answer = proposed([big, small], { types });
    expect(said(answer)[0]?.[2]).toMatch(/^not all pods would schedule, default\/big-0 => /);
    expect(namesOf(answer)).toEqual(["small"]);
    const only = proposed([big], { types });
    expect([only.commands, only.hasSimulated]).toEqual([[], true]);
  });

  it("repairs nothing while the safety brake is on, or if repair is off", () => {
    const held = proposed([broken("a")], { repair: { ...RULES, braked: "Too many." } });
    expect(said(held)).toEqual([["a", "blocked", "Too many."]]);
    expect(proposed([broken("a")], { repair: undefined }).commands).toEqual([]);
  });

  it("replaces a node of a static pool if limits.nodes leaves room", () => {
    const at = (limit?: string) => {
      const limits = limit === undefined ? {} : { nodes: Number(limit) };
      const own = { replicas: 2, limits };
      const other = candidate("b", { pool: own }).node;
      return proposed([broken("a", { pool: own, pods: ["1"] })], {
        nodes: [...healthy(10).map((one) => ({ ...one, poolId: "nodepool/x" })), other],
      });
    };
    const [command] = at().commands as [Command];
    expect([command.replacements.length, command.replacements[0]?.pods]).toEqual([1, []]);
    expect(said(at("2"))).toEqual([
      ["a", "blocked", "static NodePool is at its node limit and cannot stage a replacement"],
    ]);
  });
});

describe("repair that terminates first", () => {
  const open = { terminateFirst: { drift: false, repair: true } };

  it("removes a node of a static pool at limits.nodes before it is replaced", () => {
    const own = { replicas: 2, limits: { nodes: 2 } };
    const nodes = [
      ...healthy(10).map((one) => ({ ...one, poolId: "nodepool/x" })),
      candidate("b", { pool: own }).node,
    ];
    const [command] = proposed([broken("a", { pool: own })], { nodes, ...open }).commands as [
      Command,
    ];
    expect([command.terminateFirst, command.replacements, decisionOf(command)]).toEqual([
      "static-at-limit",
      [],
      "terminate-first",
    ]);
  });

  it("removes a reserved node whose pods need its own slot, if the feature gate is on", () => {
    const key = "karpenter.k8s.aws/capacity-reservation-id";
    const type = instanceType({ cpu: 4 });
    const reserved = {
      zone: "zone-a",
      capacityType: "reserved" as const,
      priceMicroUsd: 0,
      available: true,
      reservationCapacity: 0,
      labels: { [key]: "cr-1" },
    };
    const types = [
      {
        ...type,
        labels: { ...type.labels, "karpenter.sh/capacity-type": ["reserved"], [key]: ["cr-1"] },
        offerings: [reserved],
      },
    ];
    const one = broken("a", { pods: ["3"] });
    const held = (id: string) => {
      const labels = { ...one.node.labels, "karpenter.sh/capacity-type": "reserved", [key]: id };
      return { ...one, node: { ...one.node, labels } } as Candidate;
    };
    const nodes = healthy(5).map((node) => ({ ...node, poolId: "x", available: {} }));
    const more = candidate("well", { pods: ["4"] }).node;
    const at = (id: string, options = {}) =>
      proposed([held(id)], { types, nodes: [...nodes, more], ...options });
    expect(at("cr-1").commands).toEqual([]);
    expect(at("cr-1", open).commands.map(({ terminateFirst }) => terminateFirst)).toEqual([
      "no-reserved-capacity",
    ]);
    expect(at("cr-gone", open).commands).toEqual([]);
  });
});

describe("candidates of repair", () => {
  const labels = { "karpenter.sh/nodepool": "default", "karpenter.sh/registered": "true" };
  const found = (options: {
    status?: "True" | "False";
    rebooting?: boolean;
    registered?: boolean;
    pooled?: boolean;
  }) => {
    const { status = "False", rebooting = false, registered = true, pooled = true } = options;
    const owner = pooled ? labels : { "karpenter.sh/registered": "true" };
    const given = registered ? owner : { "karpenter.sh/nodepool": "default" };
    const at = toRfc3339(NOW - 20 * MINUTE_MS);
    const claim = nodeClaim({
      name: "a",
      metadata: { labels: owner },
      status: {
        providerID: "test://a",
        conditions: rebooting
          ? [{ type: "Rebooting", status: "True", lastTransitionTime: at }]
          : [],
      },
    });
    const view = nodeView({
      node: {
        name: "a",
        labels: given,
        annotations: { "karpenter.sh/do-not-disrupt": "true" },
      },
      claim,
      pods: [pod({ name: "p", nodeName: "a", cpu: "1" })],
    });
    const node = {
      ...(view.node as Node),
      status: { conditions: [{ type: "Disk", status, lastTransitionTime: at }] },
    };
    return atOnce(
      findCandidates({
        nowMs: NOW,
        nodes: [{ ...view, node }],
        pools: [{ pool: pool(), instanceTypes: [] }],
        pdbs: [],
        queued: new Set(),
        disruptionClass: "repair",
        repair: RULES,
        paused: () => ({ kind: "paused", message: "paused" }),
      }),
    );
  };
  const whyNot = (options: Parameters<typeof found>[0]) =>
    found(options).blocked.map(({ message }) => message);

  it("are unhealthy registered nodes of a NodePool, also with do-not-disrupt or if paused", () => {
    expect(found({}).candidates.map(({ node }) => node.name)).toEqual(["a"]);
    expect(found({ status: "True" })).toEqual({ candidates: [], blocked: [] });
    expect(whyNot({ rebooting: true })).toEqual(["node is rebooting"]);
    expect(whyNot({ registered: false })).toEqual(["node isn't initialized nor registered"]);
    expect(whyNot({ pooled: false })).toEqual([
      "repair requires a NodePool to construct and budget a safe replacement",
    ]);
  });
});
