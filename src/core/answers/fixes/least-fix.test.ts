import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { atOnce } from "../../../base/steps.ts";
import { pod } from "../../../testing/builders.ts";
import type { Edit } from "./edits.ts";
import { leastFix as leastFixInSteps } from "./least-fix.ts";

const leastFix = (
  edits: readonly Edit[],
  one: Pod,
  isEnough: (tried: readonly Edit[]) => boolean,
): readonly Edit[] =>
  atOnce(
    // biome-ignore lint/correctness/useYield: these checks have no steps.
    leastFixInSteps(edits, one, function* (tried) {
      return isEnough(tried);
    }),
  );

const limit = (to: number) =>
  ({ on: "pool", poolId: "p", change: "limit", resource: "nodes", from: 1, to }) as const;
const allow = { on: "pool", poolId: "p", change: "allow", key: "k", value: "v" } as const;

const limitOf = (edits: readonly Edit[]) =>
  edits.find((one) => one.change === "limit") as ReturnType<typeof limit> | undefined;

describe("leastFix", () => {
  it("drops unneeded edits, and raises a limit as little as possible", () => {
    const isEnough = (edits: readonly Edit[]) => (limitOf(edits)?.to ?? 0) >= 4;
    expect(leastFix([allow, limit(10)], pod(), isEnough)).toEqual([limit(4)]);
  });

  it("drops an edit that only the higher limit needed", () => {
    const isEnough = (edits: readonly Edit[]) => {
      const to = limitOf(edits)?.to ?? 0;
      return to === 4 || (to > 4 && edits.includes(allow));
    };
    expect(leastFix([allow, limit(10)], pod(), isEnough)).toEqual([limit(4)]);
  });

  it("finds a single sufficient edit even if no pair of edits is sufficient", () => {
    const minValues = {
      on: "pool",
      poolId: "p",
      change: "minValues",
      key: "k",
      from: 2,
      to: 1,
    } as const;
    const isEnough = (edits: readonly Edit[]) =>
      edits.length === 3 || (edits.length === 1 && edits[0] === allow);
    expect(leastFix([limit(2), minValues, allow], pod(), isEnough)).toEqual([allow]);
  });

  it("continues as long as one reduced amount lets another be reduced", () => {
    const cpu = (to: number) => ({ ...limit(to * 1_000), resource: "cpu", from: 1_000 }) as const;
    const amounts = (edits: readonly Edit[]) =>
      ["cpu", "nodes"].map(
        (name) =>
          (edits as readonly ReturnType<typeof cpu>[]).find(
            ({ resource }) => (resource as string) === name,
          )?.to ?? 0,
      );
    // Fewer nodes also need less of the other limit.
    const isEnough = (edits: readonly Edit[]) => {
      const [cores = 0, nodes = 0] = amounts(edits);
      return nodes >= 2 && cores >= 4_000 * nodes;
    };
    expect(leastFix([cpu(90), limit(10)], pod(), isEnough)).toEqual([cpu(8), limit(2)]);
  });

  it.each([2 ** 53, 2 ** 63, 1e22])(
    "ends even if floating-point numbers have gaps, as at %d",
    (least) => {
      const far = { ...limit(4 * least), from: 1 };
      const near = { ...limit(least + 4 * (least / 2 ** 52)), from: least };
      const isEnough = (edits: readonly Edit[]) => (limitOf(edits)?.to ?? 0) > least;
      for (const one of [far, near]) {
        const [found] = leastFix([one], pod(), isEnough) as readonly (typeof far)[];
        expect(found?.to).toBeGreaterThan(least);
        expect(found?.to).toBeLessThanOrEqual(one.to);
      }
      const cpu = `${least * 4}`;
      const one = pod({
        spec: { containers: [{ name: "main", resources: { requests: { cpu } } }] },
      });
      const from = least * 4_000;
      const lowered = (to: number) =>
        ({ on: "pod", change: "request", resource: "cpu", container: "main", from, to }) as const;
      const fits = (edits: readonly Edit[]) =>
        edits.some((edit) => edit.change === "request" && edit.to <= least);
      expect(leastFix([lowered(least)], one, fits)).toMatchObject([{ change: "request" }]);
    },
  );

  it("lowers a container's request no further than the init containers need anyway", () => {
    const of = (name: string, cpu: string) => ({ name, resources: { requests: { cpu } } });
    const one = pod({ spec: { containers: [of("main", "7")], initContainers: [of("init", "2")] } });
    const lowered = (to: number) =>
      ({
        on: "pod",
        change: "request",
        resource: "cpu",
        container: "main",
        from: 7_000,
        to,
      }) as const;
    const isEnough = (edits: readonly Edit[]) =>
      edits.some((edit) => edit.change === "request" && edit.to <= 2_000);
    expect(leastFix([lowered(1)], one, isEnough)).toEqual([lowered(2_000)]);
  });

  it("finds a limit by binary search if the amounts are far apart", () => {
    let asked = 0;
    const isEnough = (edits: readonly Edit[]) => {
      asked++;
      return (limitOf(edits)?.to ?? 0) >= 700;
    };
    expect(leastFix([limit(1_000)], pod(), isEnough)).toEqual([limit(700)]);
    expect(asked).toBeLessThan(15);
  });
});
