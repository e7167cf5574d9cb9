import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodeClaim, nodeView } from "../../testing/builders.ts";
import { NOW } from "../../testing/disruption.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import type { NodeView } from "../state/node-view.ts";
import { type Repairs, repairAnswer } from "./repair-answer.ts";

const MINUTE = 60_000;
const READY: RepairPolicy = {
  conditionType: "Ready",
  conditionStatus: "False",
  tolerationMs: 30 * MINUTE,
  priority: 0,
  action: "ReplaceNode",
};
const DISK: RepairPolicy = {
  ...READY,
  conditionType: "Disk",
  reasonRegex: { source: "Full", matches: (reason) => reason === "Full" },
  tolerationMs: 10 * MINUTE,
  terminationGracePeriodMs: 5 * MINUTE,
  action: "RebootNode",
};
const REPAIRS: Repairs = { policies: [READY, DISK], isOn: true, isLegacy: false };

interface Fault {
  readonly type?: "Ready" | "Disk";
  readonly minutes?: number;
  readonly reason?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleted?: boolean;
  readonly initialized?: boolean;
}

/** A node of pool `default`. Each node is in its own zone, so that broken nodes share no cause. */
function view(name: string, fault?: Fault): NodeView {
  const labels = {
    "karpenter.sh/nodepool": "default",
    "karpenter.sh/registered": "true",
    ...(fault?.initialized === false ? {} : { "karpenter.sh/initialized": "true" }),
    "topology.kubernetes.io/zone": name,
  };
  const { type = "Ready", minutes = 0, reason = "", annotations = {} } = fault ?? {};
  const metadata = { labels, annotations };
  const deletionTimestamp = fault?.deleted === true ? { deletionTimestamp: toRfc3339(NOW) } : {};
  const claim = nodeClaim({ name, metadata: { ...metadata, ...deletionTimestamp } });
  const built = nodeView({ node: { name, labels }, claim });
  const lastTransitionTime = toRfc3339(NOW - minutes * MINUTE);
  const status = fault === undefined ? "True" : "False";
  const conditions = [{ type, status, reason, lastTransitionTime } as const];
  return { ...built, node: { ...(built.node as Node), status: { conditions } } };
}

const well = Array.from({ length: 9 }, (_, index) => view(`well-${index}`));

function answer(fault: Fault, repairs: Partial<Repairs> = {}, others = well) {
  const node = view("broken", fault);
  const nodes = [node, ...others];
  const claim = node.claim as NonNullable<NodeView["claim"]>;
  return repairAnswer({ nodes, nowMs: NOW }, { node, claim }, { ...REPAIRS, ...repairs });
}

describe("the answer about node repair", () => {
  it("says since when the condition holds, and when the node is replaced", () => {
    expect(answer({ minutes: 10 })).toEqual({
      says: "Ready is False since 2026-01-04T23:50:00Z: node repair replaces it at 2026-01-05T00:20:00Z, if the disruption budgets for Unhealthy allow it",
      condition: "Ready",
      status: "False",
      since: "2026-01-04T23:50:00Z",
      due: "2026-01-05T00:20:00Z",
      action: "ReplaceNode",
      heldBack: false,
    });
    expect(answer({ minutes: 30 })?.says).toContain(
      "node repair replaces it now, if the disruption budgets for Unhealthy allow it",
    );
  });

  it("names the reason of the condition, the reboot, and the time of its drain", () => {
    const found = answer({ type: "Disk", reason: "Full", minutes: 10 });
    expect(found).toMatchObject({ reason: "Full", action: "RebootNode" });
    expect(found?.says).toContain(
      "node repair reboots it now, if the disruption budgets for Unhealthy allow it, with 5m0s for its drain",
    );
  });

  it("mentions no budget for a node that was never initialized, as repair needs none", () => {
    expect(answer({ minutes: 30, initialized: false })?.says).toMatch(/replaces it now$/);
  });

  it("is undefined for a healthy node, and for one that is being deleted", () => {
    const whole = view("whole");
    const claim = whole.claim as NonNullable<NodeView["claim"]>;
    const picture = { nodes: [whole], nowMs: NOW };
    expect(repairAnswer(picture, { node: whole, claim }, REPAIRS)).toBeUndefined();
    expect(answer({ minutes: 30, deleted: true })).toBeUndefined();
  });

  it("says that node repair is off, or that do-not-repair prevents it", () => {
    const off = answer({ minutes: 30 }, { isOn: false });
    expect(off?.says).toContain("node repair is off (feature gate NodeRepair)");
    expect([off?.due, off?.action, off?.heldBack]).toEqual([undefined, undefined, false]);
    const annotations = { "karpenter.sh/do-not-repair": "true" };
    expect(answer({ minutes: 30, annotations })?.says).toContain(
      "karpenter.sh/do-not-repair keeps node repair from it",
    );
  });

  it("says that the older controller terminates it, whatever annotations say", () => {
    const annotations = { "karpenter.sh/do-not-repair": "true" };
    const found = answer({ minutes: 30, annotations }, { isLegacy: true });
    expect(found?.says).toContain("node repair terminates it now");
    expect(answer({ type: "Disk", reason: "Full" }, { isLegacy: true })).toBeUndefined();
  });

  it("says that repair waits while more than 20 % of the pool's nodes are unhealthy", () => {
    const broken = [view("b1", { minutes: 1 }), view("b2", { minutes: 1 })];
    const two = answer({ minutes: 30 }, {}, [...well.slice(0, 8), ...broken.slice(0, 1)]);
    expect(two?.heldBack).toBe(false);
    const three = answer({ minutes: 30 }, {}, [...well.slice(0, 7), ...broken]);
    expect(three?.heldBack).toBe(true);
    expect(three?.says).toContain(
      "due 2026-01-05T00:00:00Z, waits while more than 20 % of the nodes are unhealthy (3 of 10)",
    );
  });
});
