import { expect, it } from "vitest";
import type { Event } from "../apis/core/kinds.ts";
import { decisionLines } from "./decision-lines.ts";
import { decisionsView } from "./views/decisions.ts";
import { patchText, written } from "./views/view.ts";

const event = (name: string, at: string, count: number): Event => ({
  metadata: { name, namespace: "default", uid: `u-${name}` },
  involvedObject: { kind: "Node", name: "n-1" },
  reason: "Evicted",
  message: "two\nlines",
  type: "Warning",
  source: { component: "karpenter" },
  lastTimestamp: at,
  count,
});

it("the stream of decisions has one line for each decision, in order of time, and repeats a repeated event", () => {
  const before = written(
    decisionsView([event("b", "2026-01-05T08:01:00Z", 1), event("a", "2026-01-05T08:00:00Z", 1)]),
  );
  const first = decisionLines(patchText(undefined, before) ?? "");
  expect(first.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      schema: "karpenter-ts/decision/v1",
      id: "u-a",
      at: "2026-01-05T08:00:00Z",
      reason: "Evicted",
      message: "two\nlines",
      type: "Warning",
      count: 1,
      object: { kind: "Node", name: "n-1" },
    },
    expect.objectContaining({ id: "u-b" }),
  ]);
  expect(first.every((line) => !line.includes("\n"))).toBe(true);
  const after = written(
    decisionsView([event("b", "2026-01-05T08:01:00Z", 1), event("a", "2026-01-05T08:02:00Z", 2)]),
  );
  const again = decisionLines(patchText(before, after) ?? "");
  expect(again.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ id: "u-a", count: 2 }),
  ]);
});
