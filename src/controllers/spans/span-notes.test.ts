import { describe, expect, it } from "vitest";
import {
  DISRUPTION_COMMAND_ANNOTATION_KEY,
  REPLACEMENT_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { CommandRecord } from "../../core/disruption/record.ts";
import type { TraceSpan } from "../../core/spans/span.ts";
import { pod } from "../../testing/builders.ts";
import { SpanNotes } from "./span-notes.ts";

const T = Date.parse("2026-01-01T00:00:00Z");

function notes() {
  let nowMs = T;
  const sent: TraceSpan[] = [];
  const taken = new SpanNotes({ send: (spans) => sent.push(...spans) }, { now: () => nowMs });
  const names = () => sent.map(({ name, problem }) => (problem === undefined ? name : `${name}!`));
  return {
    taken,
    sent,
    names,
    pass: (seconds: number) => {
      nowMs += seconds * 1_000;
    },
  };
}

function claim(
  name: string,
  conditions: readonly string[],
  annotations: Readonly<Record<string, string>> = {},
): NodeClaim {
  return {
    metadata: { name, uid: `uid-${name}`, creationTimestamp: toRfc3339(T), annotations },
    spec: {
      requirements: [],
      nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
    },
    status: {
      nodeName: `node-${name}`,
      conditions: conditions.map((type) => ({
        type,
        status: "True" as const,
        reason: type,
        message: "",
        lastTransitionTime: toRfc3339(T),
      })),
    },
  };
}

const USABLE = ["Launched", "Registered", "Initialized"];

describe("trace spans of a NodeClaim", () => {
  it("are sent when its pods are bound, and its pods are awaited until then", () => {
    const { taken, names, sent } = notes();
    const waiting = pod({ name: "p", namespace: "x" });
    taken.planned(claim("a", []), [waiting]);
    expect(taken.awaits("x/p")).toBe(true);
    taken.saw("a", claim("a", USABLE));
    taken.sawPod("x/p", waiting);
    expect(names()).toEqual([]);
    taken.sawPod("x/p", { ...waiting, spec: { ...waiting.spec, nodeName: "node-a" } });
    expect(names()).toEqual(["provision node", "launch", "register", "initialize", "bind pod"]);
    expect(sent[0]?.attributes["karpenter.pods.bound"]).toBe(1);
    expect(taken.awaits("x/p")).toBe(false);
  });

  it("count a pod only for the NodeClaim that was planned for it last", () => {
    const { taken, sent } = notes();
    const waiting = pod({ name: "p", namespace: "x" });
    taken.planned(claim("a", []), [waiting]);
    taken.planned(claim("b", []), [waiting]);
    taken.saw("a", claim("a", USABLE));
    expect(sent[0]?.attributes).toMatchObject({
      "karpenter.nodeclaim.name": "a",
      "karpenter.pods": 0,
    });
    expect(taken.awaits("x/p")).toBe(true);
  });

  it("are sent when a pod is not bound for ten minutes", () => {
    const { taken, names, pass } = notes();
    taken.planned(claim("a", []), [pod({ name: "p", namespace: "x" })]);
    expect(taken.saw("a", claim("a", USABLE))).toBe(600_000);
    pass(600);
    expect(taken.saw("a", claim("a", USABLE))).toBeUndefined();
    expect(names().at(-1)).toBe("bind pod!");
    expect(taken.awaits("x/p")).toBe(false);
  });

  it("are not sent if it was initialized when this process began", () => {
    const { taken, names } = notes();
    expect(taken.saw("a", claim("a", USABLE))).toBeUndefined();
    taken.saw("a", undefined);
    expect(names()).toEqual([]);
  });

  it("are marked as failed if it was deleted before its launch", () => {
    const { taken, names } = notes();
    taken.saw("a", claim("a", []));
    taken.saw("a", undefined);
    expect(names()).toEqual(["provision node!", "launch!"]);
  });

  it("are kept for a limited number of NodeClaims: the oldest are dropped", () => {
    const { taken, names } = notes();
    taken.planned(claim("first", []), [pod({ name: "p", namespace: "x" })]);
    for (let at = 0; at < 5_000; at++) taken.saw(`c${at}`, claim(`c${at}`, []));
    expect(taken.awaits("x/p")).toBe(false);
    taken.saw("first", undefined);
    expect(names()).toEqual([]);
  });
});

describe("trace spans of a disruption command", () => {
  const record: CommandRecord = {
    id: "ff697bb7-260e-4eb2-9de9-ce86805fcc40",
    reason: "Underutilized",
    consolidationType: "multi",
    startedAt: toRfc3339(T),
    nodes: ["node-a", "node-b"],
    replacements: 1,
  };
  const marked = { [DISRUPTION_COMMAND_ANNOTATION_KEY]: JSON.stringify(record) };

  it("are sent when all its nodes are gone, with a link to the replacement's span", () => {
    const { taken, sent, names, pass } = notes();
    taken.started(record.id, {
      waitedMs: 0,
      decision: "replace",
      method: "consolidation",
      pods: 2,
      savesMicroUsdPerHour: 1,
    });
    for (const name of ["a", "b"]) taken.saw(name, claim(name, USABLE, marked));
    const fresh = claim("new", [], { [REPLACEMENT_ANNOTATION_KEY]: record.id });
    taken.saw("new", fresh);
    taken.saw("new", { ...fresh, status: claim("new", USABLE).status ?? {} });
    expect(names()).toEqual(["provision node", "launch", "register", "initialize"]);
    sent.length = 0;
    pass(30);
    taken.saw("a", undefined);
    expect(names()).toEqual([]);
    taken.saw("b", undefined);
    expect(names()).toEqual([
      "disrupt nodes",
      "launch replacements",
      "end node",
      "end instance",
      "end node",
      "end instance",
    ]);
    expect(sent[0]?.links).toHaveLength(1);
  });

  it("say that it was rolled back", () => {
    const { taken, sent } = notes();
    for (const name of ["a", "b"]) taken.saw(name, claim(name, USABLE, marked));
    for (const name of ["a", "b"]) taken.saw(name, claim(name, USABLE));
    expect(sent[0]?.problem).toBe("taken back from 2 of 2 nodes");
  });
});
