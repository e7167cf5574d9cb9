import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { type PodOptions, pod } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import { leavingHolds } from "./leaving.ts";

const DEADLINE = "2026-01-05T01:00:00Z";
const SINCE = `being deleted since ${toRfc3339(NOW)}: `;
type Condition = readonly [type: string, status: "True" | "False" | "Unknown", forMs: number];

/** The holds of a node that is being deleted, each as text: `block: text | until`. */
function held(pods: readonly Pod[], conditions: readonly Condition[] = [], bounded = true) {
  const base = candidate("n");
  const annotations: Record<string, string> = bounded
    ? { "karpenter.sh/nodeclaim-termination-timestamp": DEADLINE }
    : {};
  const metadata = { ...base.claim.metadata, annotations, deletionTimestamp: toRfc3339(NOW) };
  const status = {
    ...base.claim.status,
    conditions: conditions.map(([type, is, forMs]) => ({
      ...{ type, status: is, lastTransitionTime: toRfc3339(NOW - forMs) },
    })),
  };
  const claim: NodeClaim = { ...base.claim, metadata, status };
  const node = { ...base.node, claim, pods };
  const restraint = {
    ...{ minSavingsPercent: 0, maxPaybackMs: 0, replacementRestMs: 0, maxMovesPerPodHour: 4 },
  };
  const { picture } = quietModel({ pools: [], nodes: [node], restraint });
  const { pool } = base;
  return leavingHolds(picture, { node, claim, pool, candidate: base }, ["Empty"]).map(
    ({ block, says, until = "-" }) => `${block}: ${says.replace(SINCE, "")} | ${until}`,
  );
}

const on = (name: string, options: PodOptions = {}) => pod({ name, nodeName: "n", ...options });

describe("a node that is being deleted", () => {
  it("waits for the eviction of its pods until its deadline, and names three of them", () => {
    expect(held([on("b"), on("a")])).toEqual([
      `leaving: waiting for eviction: 2 pods (default/a, default/b) | ${DEADLINE}`,
    ]);
    expect(held([on("a")], [], false)).toEqual([
      "leaving: waiting for eviction: 1 pod (default/a) | -",
    ]);
    expect(held(["a", "b", "c", "d"].map((name) => on(name)))[0]).toContain(
      "4 pods (default/a, default/b, default/c, …)",
    );
  });

  it("names pods with do-not-disrupt that block the drain", () => {
    const kept = on("kept", { annotations: { "karpenter.sh/do-not-disrupt": "true" } });
    const [, guard, ...others] = held([kept, on("other")]);
    expect(others).toEqual([]);
    expect(guard).toMatch(/^pod: .*kept.* \| 2026-01-05T01:00:00Z$/);
  });

  it("waits for volumes to detach, then for its instance to terminate", () => {
    const volumes = ["VolumesDetached", "Unknown", 0] as const;
    expect(held([], [volumes])).toEqual([
      `leaving: volumes are still attached (the Node's event AwaitingVolumeDetachment names them) | ${DEADLINE}`,
    ]);
    expect(held([], [volumes, ["InstanceTerminating", "True", 5_000]])).toEqual([
      "leaving: its instance is being terminated since 2026-01-04T23:59:55Z | -",
    ]);
    expect(held([], [["VolumesDetached", "True", 0]])[0]).toContain("terminated next");
  });

  it("is overdue if its instance is not terminated within a minute after the drain", () => {
    const next = "leaving: its pods are gone; its instance is terminated next | -";
    expect(held([])).toEqual([next]);
    expect(held([], [["Drained", "True", 59_000]])).toEqual([next]);
    expect(held([], [["Drained", "Unknown", 99_000]])).toEqual([next]);
    expect(held([], [["Drained", "True", 60_000]])[0]).toContain(
      "its pods are gone since 2026-01-04T23:59:00Z, but its instance is not terminated yet",
    );
  });
});
