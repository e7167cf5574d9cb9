/** A preset changes defaults and nothing else, and each value of the table is valid for its setting. */
import { describe, expect, it } from "vitest";
import { settingsOf } from "../create-operator.ts";
import type { OptionDefinition } from "./option-definition.ts";
import { OPTIONS } from "./options.ts";
import { parseOptions } from "./parse-options.ts";
import { PRESET_ROWS } from "./presets.ts";

const of = (preset: string, flags: Readonly<Record<string, string>> = {}) =>
  settingsOf(parseOptions({ preset, ...flags }, {}));

describe("presets", () => {
  it(`are "balanced" by default, which has each setting's default`, () => {
    expect(of("balanced")).toEqual(settingsOf(parseOptions({}, {})));
  });

  it(`turn off everything that upstream lacks with "upstream-compatible"`, () => {
    expect(of("upstream-compatible")).toMatchObject({
      planner: { policy: "greedy" },
      repack: undefined,
      splits: false,
      forSpot: "nothing",
      restraint: { minSavingsPercent: 0, maxPaybackMs: 0, replacementRestMs: 0 },
      expiry: { spreadPercent: 0, respectsBudgets: false },
      initializationTimeoutMs: 0,
      surgeTimeoutMs: 0,
      involuntaryLimit: { nodes: 0, percent: 100 },
      clusterBudgets: [],
      pauseDisruption: false,
    });
  });

  it(`allow more disruption for smaller savings with "frugal" than with "balanced"`, () => {
    const [frugal, balanced] = [of("frugal"), of("balanced")];
    expect(frugal.repack).toBeDefined();
    expect(frugal.restraint.minSavingsPercent).toBeLessThan(balanced.restraint.minSavingsPercent);
    expect(frugal.restraint.maxPaybackMs).toBeGreaterThan(balanced.restraint.maxPaybackMs);
    expect(frugal.planner.baseWork).toBeGreaterThan(balanced.planner.baseWork);
  });

  it.each(PRESET_ROWS.map((row) => [OPTIONS[row.setting].flag, row] as const))(
    "are overridden by --%s, its environment variable and the ConfigMap",
    (flag, { setting, upstreamCompatible, frugal }) => {
      const { default: own, env }: OptionDefinition = OPTIONS[setting];
      const other = [own, upstreamCompatible, frugal].find((one) => one !== upstreamCompatible);
      // Prefers a value other than the preset's. If there is none, the default is given, which must also replace the
      // preset's value.
      const given = other ?? own;
      const wanted = parseOptions({ [flag]: given }, {})[setting];
      const preset = "upstream-compatible";
      expect(parseOptions({ preset, [flag]: given }, {})[setting]).toEqual(wanted);
      expect(parseOptions({ preset }, { [env]: given })[setting]).toEqual(wanted);
      expect(parseOptions({ preset }, {}, { [flag]: given })[setting]).toEqual(wanted);
      const alone = parseOptions({ [flag]: upstreamCompatible }, {})[setting];
      expect(parseOptions({ preset }, {})[setting]).toEqual(alone);
    },
  );

  it("are set by flag or environment variable, and an unknown one is refused with the known ones", () => {
    expect(parseOptions({}, { PRESET: "frugal" }).plannerEffort).toBe(4);
    expect(() => parseOptions({ preset: "cheap" }, {})).toThrow(
      'invalid --preset "cheap": must be one of "upstream-compatible", "balanced", "frugal"',
    );
  });

  it("are the only changed setting, so that there are no warnings about what they set", () => {
    expect(parseOptions({ preset: "frugal" }, {}).changed).toEqual(["preset"]);
  });

  it(`have a row for each "karpenter-ts only" setting, except five`, () => {
    const without = [
      "awsFeatureGates",
      "disruptionBudgets",
      "surgeNamespaces",
      "pauseDisruption",
      "readVpaRecommendations",
    ];
    const ours = Object.entries<OptionDefinition>(OPTIONS)
      .filter(([, { help }]) => help.includes("karpenter-ts only") && !help.includes("presets"))
      .map(([name]) => name);
    const listed: readonly string[] = PRESET_ROWS.map(({ setting }) => setting);
    expect(ours.filter((name) => !listed.includes(name)).sort()).toEqual(without.sort());
  });
});
