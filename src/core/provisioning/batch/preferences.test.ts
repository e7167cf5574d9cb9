import { describe, expect, it } from "vitest";
import type { PodSpec } from "../../../apis/core/pod.ts";
import { deepFreeze } from "../../../base/json.ts";
import { requiredAlternatives } from "../../scheduling/pod-requirements.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { nodeRequirements, relax, type Wishes, wishesOf } from "./preferences.ts";

const KNOWN: readonly string[] = ["example.com/disk"];

function spec(key: string): PodSpec {
  const preference = { matchExpressions: [{ key, operator: "DoesNotExist" as const }] };
  const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference }];
  return {
    containers: [{ name: "main" }],
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } },
  };
}

describe("preferences of pods of one template", () => {
  it("are cached by template, preference policy and known labels", () => {
    const template = deepFreeze(spec("example.com/disk"));
    const first = wishesOf(template, "Respect", KNOWN);
    expect(first.preferred).toHaveLength(1);
    expect(wishesOf({ ...template }, "Respect", KNOWN)).not.toBe(first);
    expect(wishesOf(Object.freeze({ ...template, nodeName: "a" }), "Respect", KNOWN)).toBe(first);
    expect(wishesOf(template, "Ignore", KNOWN).preferred).toEqual([]);
    expect(wishesOf(template, "Respect", KNOWN).preferred).toHaveLength(1);
    const foreign = deepFreeze(spec("karpenter.k8s.aws/no-such"));
    expect(wishesOf(foreign, "Respect", KNOWN).preferred).toEqual([]);
    const all = ["karpenter.k8s.aws/no-such"];
    expect(wishesOf(foreign, "Respect", all).preferred).toHaveLength(1);
  });
});

describe("a pod that fits nowhere", () => {
  const needing = (...zones: readonly string[]) =>
    zones.map((zone) => ({
      matchExpressions: [{ key: "zone", operator: "In" as const, values: [zone] }],
    }));
  const weighed = <T>(key: string, of: (weight: number) => T) =>
    [1, 9].map((weight) => ({ weight, [key]: of(weight) }));
  const near = (weight: number) => ({ topologyKey: `near-${weight}`, labelSelector: {} });
  const spread = (whenUnsatisfiable: string, topologyKey: string) =>
    ({ whenUnsatisfiable, topologyKey, maxSkew: 1 }) as never;
  const everything = {
    containers: [{ name: "main" }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: needing("a", "b") },
        preferredDuringSchedulingIgnoredDuringExecution: weighed("preference", (weight) => ({
          matchExpressions: [{ key: "rank", operator: "In" as const, values: [`${weight}`] }],
        })),
      },
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [near(0)],
        preferredDuringSchedulingIgnoredDuringExecution: weighed("podAffinityTerm", near),
      },
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [near(0)],
        preferredDuringSchedulingIgnoredDuringExecution: weighed("podAffinityTerm", near),
      },
    },
    topologySpreadConstraints: [
      spread("DoNotSchedule", "kept"),
      spread("ScheduleAnyway", "first"),
      spread("ScheduleAnyway", "second"),
    ],
    tolerations: [{ key: "own" }],
  } as unknown as PodSpec;

  /** The value that is required of `zone`, and how many preferences of each kind are left. */
  const left = (wishes: Wishes) => [
    nodeRequirements(wishes).strict.get("zone").values.join(),
    wishes.preferredAffinity.length,
    wishes.preferredAntiAffinity.length,
    wishes.preferred.length,
    wishes.spreads.length,
    wishes.tolerations.length,
  ];
  const steps = (wishes: Wishes, canTolerate: boolean): (readonly (string | number)[])[] => {
    const next = relax(wishes, canTolerate);
    return [left(wishes), ...(next === undefined ? [] : steps(next, canTolerate))];
  };

  it("drops one preference at a time, in upstream's order, the heaviest first", () => {
    const wishes = wishesOf(everything, "Respect", []);
    expect(wishes.preferredAffinity.map(({ weight }) => weight)).toEqual([9, 1]);
    const asked = nodeRequirements(wishes).all.get("rank").values;
    expect([asked, nodeRequirements(wishes).strict.has("rank")]).toEqual([["9"], false]);
    const untilTolerated = [
      ["a", 2, 2, 2, 3, 1],
      ["b", 2, 2, 2, 3, 1],
      ["b", 1, 2, 2, 3, 1],
      ["b", 0, 2, 2, 3, 1],
      ["b", 0, 1, 2, 3, 1],
      ["b", 0, 0, 2, 3, 1],
      ["b", 0, 0, 1, 3, 1],
      ["b", 0, 0, 0, 3, 1],
      ["b", 0, 0, 0, 2, 1],
      ["b", 0, 0, 0, 1, 1],
    ];
    expect(steps(wishes, false)).toEqual([...untilTolerated, ["a", 0, 0, 0, 1, 1]]);
    expect(steps(wishes, true)).toEqual([
      ...untilTolerated,
      ["b", 0, 0, 0, 1, 2],
      ["a", 0, 0, 0, 1, 2],
    ]);
  });

  it("has no preferences under policy Ignore, but keeps its requirements", () => {
    const wishes = wishesOf(everything, "Ignore", []);
    expect(left(wishes)).toEqual(["a", 0, 0, 0, 1, 1]);
    expect([wishes.affinity.length, wishes.antiAffinity.length]).toEqual([1, 1]);
    expect(steps(wishesOf({ containers: [] }, "Respect", []), false)).toHaveLength(1);
  });

  it("counts nodes of any required node affinity term, or of its node selector", () => {
    const zones = (spec: PodSpec) =>
      requiredAlternatives(spec).map((one) => one.get("zone").values.join());
    expect(zones(everything)).toEqual(["a", "b"]);
    expect(zones({ containers: [], nodeSelector: { zone: "c" } })).toEqual(["c"]);
    expect(requiredAlternatives({ containers: [] }).map((one) => one.size)).toEqual([
      Requirements.NONE.size,
    ]);
  });
});
