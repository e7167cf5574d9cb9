/** Every name that upstream offers exists here, or scripts/parity/lacks.ts has a reason why not. */
import { describe, expect, it } from "vitest";
import { LACKS, type Lack } from "../scripts/parity/lacks.ts";
import { ourFacts } from "../scripts/parity/ours.ts";
import { compare } from "../scripts/parity/parity-page.ts";
import { upstreamFacts } from "../scripts/parity/upstream-facts.ts";

const theirs = upstreamFacts();
const compared = compare(theirs, ourFacts());

describe("parity with upstream", () => {
  it.each(compared)("explains each lack: $title", ({ lacks }) => {
    expect(lacks.filter(({ lack }) => lack === undefined).map(({ name }) => name)).toEqual([]);
  });

  it("lists nothing as lacking that is here, or that upstream has not", () => {
    const used = new Set<Lack | undefined>(
      compared.flatMap(({ lacks }) => lacks.map(({ lack }) => lack)),
    );
    expect(LACKS.filter((one) => !used.has(one)).map(({ names }) => names.source)).toEqual([]);
  });

  it("has recorded every area of upstream", () => {
    for (const { title, same } of compared) expect(same.length, title).toBeGreaterThan(5);
  });

  it("would notice a name that upstream adds", () => {
    const withMore = { ...theirs, metrics: [...theirs.metrics, "karpenter_new_total"] };
    const metrics = compare(withMore, ourFacts()).find(({ area }) => area === "metrics");
    expect(metrics?.lacks).toContainEqual({ name: "karpenter_new_total", lack: undefined });
  });

  it("would notice a flag that is taken away here", () => {
    const { flags, ...rest } = ourFacts();
    const fewer = { ...rest, flags: flags.filter((name) => name !== "log-level") };
    const found = compare(theirs, fewer).find(({ area }) => area === "flags");
    expect(found?.lacks).toContainEqual({ name: "log-level", lack: undefined });
  });
});
