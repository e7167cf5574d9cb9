import { describe, expect, it } from "vitest";
import { fromRfc3339 } from "../../base/clock.ts";
import { endsText, keptEnds } from "./brake-memory.ts";

const AT = (time: string) => fromRfc3339(time) as number;
const pool = (text: string) => ({
  metadata: { name: "a", annotations: { "karpenter.sh/involuntary-ends": text } },
});

describe("the persisted counts of the safety brake", () => {
  const ended = ["2026-01-05T08:00:10Z", "2026-01-05T08:02:00Z", "2026-01-05T08:00:59Z"].map(AT);
  const text = "2026-01-05T08:00:00Z=2,2026-01-05T08:02:00Z=1";

  it("are stored by the minute, and never read as earlier than they were", () => {
    expect(endsText(ended)).toBe(text);
    const kept = keptEnds([pool(text)]);
    expect(kept).toHaveLength(3);
    for (const [at, atMs] of [...ended].sort().entries())
      expect(kept[at]).toBeGreaterThanOrEqual(atMs);
    expect(endsText(kept)).toBe(text);
  });

  it("are counted once if two pools store the same ones", () => {
    const before = pool("2026-01-05T08:00:00Z=1");
    expect(keptEnds([before, pool(text)])).toEqual(keptEnds([pool(text)]));
    expect(keptEnds([pool(text), before])).toEqual(keptEnds([pool(text)]));
  });

  it("are ignored if they are invalid or missing", () => {
    const others = ["", "soon=1", "2026-01-05T08:00:00Z", "2026-01-05T08:00:00Z=-1", "=9999999"];
    for (const one of others)
      expect(keptEnds([pool(one), { metadata: { name: "b" } }])).toEqual([]);
  });
});
