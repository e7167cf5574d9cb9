import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WELL_KNOWN_LABELS } from "../../../apis/karpenter/labels.ts";
import { instanceType, pod, poolInput } from "../../../testing/builders.ts";
import { bitIndices, noBits, setBit } from "../../scheduling/bits.ts";
import { oneOf } from "../../scheduling/requirement.ts";
import { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { createTemplate } from "../pools/pool-template.ts";
import { filterTypes, whyNotOffered } from "./filter-types.ts";

const ARCH = "kubernetes.io/arch";

const types = fc.array(
  fc.record({
    cpu: fc.constantFrom(1, 2, 4, 8),
    arch: fc.constantFrom("amd64", "arm64"),
    available: fc.boolean(),
    isAsked: fc.boolean(),
  }),
  { minLength: 1, maxLength: 70 },
);

describe("instance types that a pod cannot use", () => {
  it("are counted by the first reason that excludes each, in the order of the types", () => {
    fc.assert(
      fc.property(types, fc.integer({ min: 0, max: 9_000 }), fc.boolean(), (drawn, cpu, daemon) => {
        const all = drawn.map(({ cpu: cores, arch, available }, at) => {
          const offered = { zone: "zone-a", capacityType: "spot" as const, priceMicroUsd: 1 };
          const name = `t-${String(at).padStart(2, "0")}`;
          return instanceType({ name, cpu: cores, arch, offerings: [{ ...offered, available }] });
        });
        const space = new RequirementSpace(new Set(WELL_KNOWN_LABELS));
        const daemons = daemon ? [pod({ cpu: "1500m" })] : [];
        const template = createTemplate(poolInput({}, all), 0, space, daemons);
        const { table } = template;
        const wanted = Requirements.of([oneOf(ARCH, ["arm64"])]);
        const set = space.join(template.set, space.intern(wanted)) as number;
        const among = noBits(table.size);
        for (const [at, { isAsked }] of drawn.entries()) if (isAsked) setBit(among, at);
        const rejected: Record<string, number> = {};
        const left: number[] = [];
        for (const at of bitIndices(among)) {
          const free = (drawn[at]?.cpu as number) * 1_000 - (daemon ? 1_500 : 0);
          const meets = drawn[at]?.arch === "arm64";
          const holds = free >= cpu && free >= 0;
          const reason = !meets ? "requirements" : !holds ? "resources" : "offerings";
          if (meets && holds && drawn[at]?.available) left.push(at);
          else rejected[reason] = (rejected[reason] ?? 0) + 1;
        }
        const found = filterTypes(template, { cpu }, set, among);
        expect(Object.entries(found.rejected)).toEqual(Object.entries(rejected));
        expect(bitIndices(found.left)).toEqual(left);
        expect(found.text === undefined).toBe(left.length > 0);
      }),
    );
  });
});

describe("the message for a pod without a possible instance type", () => {
  /**
   * Upstream's sentence for these types. The letters of a type: `m` it meets the requirements, `h` it holds the
   * requests, `o` it has an offering.
   */
  function sentence(kinds: readonly string[], cpu = 4_000): string | undefined {
    const all = kinds.map((kind, at) =>
      instanceType({
        name: `t-${at}`,
        cpu: kind.includes("h") ? 8 : 2,
        arch: kind.includes("m") ? "arm64" : "amd64",
        offerings: [
          {
            zone: "zone-a",
            capacityType: "spot",
            priceMicroUsd: 1,
            available: kind.includes("o"),
          },
        ],
      }),
    );
    const space = new RequirementSpace(new Set(WELL_KNOWN_LABELS));
    const template = createTemplate(poolInput({}, all), 0, space, []);
    const set = space.join(template.set, space.intern(Requirements.of([oneOf(ARCH, ["arm64"])])));
    const among = noBits(template.table.size);
    for (const at of all.keys()) setBit(among, at);
    return filterTypes(template, { cpu }, set as number, among).text;
  }

  it.each<[string, ...string[]]>([
    [
      "no instance type met the scheduling requirements or had enough resources or had a required offering",
      "",
    ],
    ["no instance type met the scheduling requirements or had enough resources", "o"],
    ["no instance type met the scheduling requirements or had a required offering", "h"],
    ["no instance type had enough resources or had a required offering", "m"],
    ["no instance type met all requirements", "ho"],
    ["no instance type has enough resources", "mo"],
    ["no instance type has the required offering", "mh"],
    [
      "no instance type which met the scheduling requirements and had enough resources, had a required offering",
      "mh",
      "o",
    ],
    [
      "no instance type which had enough resources and the required offering met the scheduling requirements",
      "ho",
      "m",
    ],
    [
      "no instance type which met the scheduling requirements and the required offering had the required resources",
      "mo",
      "h",
    ],
    ["no instance type met the requirements/resources/offering tuple", "m", "h", "o"],
  ])("is: %s", (text, ...kinds) => {
    expect(sentence(kinds)).toBe(text);
  });

  it("hints at a CPU request in cores that was meant in millicores", () => {
    const hint = "no instance type has enough resources (CPU request >= 1 Million, m vs M typo?)";
    expect(sentence(["mo"], 1_000_000_000)).toBe(hint);
  });
});

it("the reasons of the provider why no type can be launched are three at most, in order", () => {
  const offered = { zone: "zone-a", capacityType: "spot" as const, priceMicroUsd: 1 };
  const why = (...reasons: readonly string[]) => {
    const types = reasons.map((unavailableBecause, at) =>
      instanceType({
        name: `t-${at}`,
        cpu: 4,
        offerings: [{ ...offered, available: false, unavailableBecause }],
      }),
    );
    const space = new RequirementSpace(new Set(WELL_KNOWN_LABELS));
    const { table, set } = createTemplate(poolInput({}, types), 0, space, []);
    return whyNotOffered(table, { cpu: 1_000 }, { set, requirements: Requirements.NONE });
  };
  expect(why("d", "b", "a", "c", "b")).toBe("a; b; c");
  expect(why("b", "a")).toBe("a; b");
  expect(why()).toBeUndefined();
});
