import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodeClaim } from "../../testing/builders.ts";
import { type RebootFacts, rebootStep } from "./reboot-step.ts";

const NOW = Date.UTC(2026, 0, 5);
const MINUTE_MS = 60_000;
const GRACE = "karpenter.sh/reboot-termination-grace-period";
const BOOT = "karpenter.sh/reboot-pre-boot-id";

function claim(options: {
  askedMinutes: number;
  issuedMinutes?: number;
  annotations?: Record<string, string>;
}): NodeClaim {
  const { askedMinutes, issuedMinutes, annotations = {} } = options;
  const ago = (minutes: number) => toRfc3339(NOW - minutes * MINUTE_MS);
  const isIssued = issuedMinutes !== undefined;
  return nodeClaim({
    name: "a",
    metadata: { annotations },
    status: {
      conditions: [
        {
          type: "Rebooting",
          status: "True",
          reason: isIssued ? "RebootIssued" : "RebootRequested",
          lastTransitionTime: ago(askedMinutes),
        },
        ...(isIssued
          ? [
              {
                type: "Initialized",
                status: "Unknown" as const,
                reason: "Rebooting",
                lastTransitionTime: ago(issuedMinutes),
              },
            ]
          : []),
      ],
    },
  });
}

const node = (bootID: string, ready: "True" | "False" = "True"): Node => ({
  metadata: { name: "a" },
  status: { nodeInfo: { bootID }, conditions: [{ type: "Ready", status: ready }] },
});

const step = (given: NodeClaim, facts: Partial<RebootFacts> = {}) =>
  rebootStep({
    claim: given,
    node: node("old"),
    podsToEvict: 0,
    askedMs: undefined,
    nowMs: NOW,
    ...facts,
  });

describe("a requested reboot", () => {
  it("drains for at least five seconds and at most the grace period", () => {
    const within = (minutes: number) =>
      claim({ askedMinutes: minutes, annotations: { [GRACE]: "5m" } });
    const endMs = NOW + 4 * MINUTE_MS;
    expect(step(within(1), { podsToEvict: 1 })).toEqual({ do: "drain", endMs, afterMs: 1_000 });
    expect(step(within(1))).toEqual({ do: "ask", preBootId: "old" });
    expect(step(within(0.05))).toMatchObject({ do: "drain" });
    expect(step(within(5), { podsToEvict: 1 })).toEqual({ do: "ask", preBootId: "old" });
  });

  it("fails if the Node has no bootID, because the reboot could not be detected", () => {
    const asked = claim({ askedMinutes: 1 });
    expect(step(asked, { node: node("") })).toMatchObject({ do: "end", result: "provider_error" });
  });

  it("drains without a deadline if there is no grace period, and not at all if it is 0", () => {
    const unbound = claim({ askedMinutes: 600 });
    expect(step(unbound, { podsToEvict: 1 })).toMatchObject({ do: "drain", endMs: undefined });
    const none = claim({ askedMinutes: 0, annotations: { [GRACE]: "0s" } });
    expect(step(none, { podsToEvict: 1 })).toEqual({ do: "ask", preBootId: "old" });
  });

  it("is refused if its annotation is invalid", () => {
    const wrong = claim({ askedMinutes: 0, annotations: { [GRACE]: "soon" } });
    expect(step(wrong)).toEqual({
      do: "end",
      result: "invalid_request",
      message: `annotation ${GRACE} is "soon"; write a duration such as 5m`,
    });
  });

  it("waits five minutes for a missing Node, and retries a refused request for as long", () => {
    const gone = (minutes: number) => step(claim({ askedMinutes: minutes }), { node: undefined });
    expect(gone(4)).toMatchObject({ do: "wait" });
    expect(gone(5)).toMatchObject({ do: "end", result: "provider_error" });
    const asked = (minutes: number) =>
      step(claim({ askedMinutes: 9, annotations: { [BOOT]: "old" } }), {
        askedMs: NOW - minutes * MINUTE_MS,
      });
    expect(asked(4)).toEqual({ do: "ask", preBootId: "old" });
    expect(asked(5)).toMatchObject({ do: "end", result: "provider_error" });
  });

  it("is not requested again if another process requested it but did not record it", () => {
    const noted = claim({ askedMinutes: 2, annotations: { [BOOT]: "old" } });
    expect(step(noted, { node: node("new") })).toEqual({ do: "note" });
  });
});

describe("a reboot that the cloud has accepted", () => {
  const issued = (minutes: number) =>
    claim({ askedMinutes: 30, issuedMinutes: minutes, annotations: { [BOOT]: "old" } });

  it("uncordons the node after it has booted, and succeeds once it is Ready", () => {
    expect(step(issued(1))).toEqual({ do: "wait", afterMs: 15_000 });
    const booted = node("new", "False");
    expect(step(issued(1), { node: booted })).toEqual({ do: "open", afterMs: 15_000 });
    expect(step(issued(1), { node: node("new") })).toMatchObject({ result: "succeeded" });
  });

  it("fails after twenty minutes, also if the Node is missing", () => {
    const late = (given: Node | undefined) => {
      const found = step(issued(20), { node: given });
      return found.do === "end" ? [found.result, found.message] : found;
    };
    const why = (what: string) => [
      "recovery_timeout",
      `the node ${what} within 20m after the cloud took the reboot`,
    ];
    expect(late(node("old"))).toEqual(why("did not boot"));
    expect(late(node("new", "False"))).toEqual(why("did not become Ready"));
    expect(late(undefined)).toEqual(why("did not boot"));
    expect(step(issued(19.9), { node: undefined })).toMatchObject({ do: "wait" });
  });
});
