import { describe, expect, it } from "vitest";
import { OPTIONS } from "./options.ts";
import { isAwsGateOn, isGateOn, parseOptions, unknownGates } from "./parse-options.ts";

describe("options", () => {
  it("have defaults, and flags take precedence over environment variables", () => {
    const options = parseOptions(
      { "batch-max-duration": "5s" },
      { BATCH_MAX_DURATION: "20s", LOG_LEVEL: "debug" },
    );
    expect(options.batchMaxDuration).toBe(5_000);
    expect(options.batchIdleDuration).toBe(1_000);
    expect(options.logLevel).toBe("debug");
    expect(options.changed).toEqual(["logLevel", "batchMaxDuration"]);
  });

  it("take an empty name of an object as not given, and other empty texts as they are", () => {
    const names = { FACTS_NAME: "", CONFIG_LOGGING_NAME: "", LEADER_ELECTION_NAME: "" };
    const given = parseOptions({}, { ...names, LOG_LEVEL: "" });
    const { factsName, configLoggingName, leaderElectionName, logLevel } = given;
    expect({ factsName, configLoggingName, leaderElectionName, logLevel }).toEqual({
      factsName: "karpenter-facts",
      configLoggingName: "config-logging",
      leaderElectionName: "karpenter-leader-election",
      logLevel: "",
    });
    expect(given.changed).toEqual(["logLevel"]);
    expect(parseOptions({ "facts-name": "" }, { FACTS_NAME: "mine" }).factsName).toBe("mine");
  });

  it("refuse all invalid values in one error that names setting, value and what is legal", () => {
    expect(() =>
      parseOptions(
        { "preference-policy": "Maybe" },
        { METRICS_PORT: "x", DISABLE_LEADER_ELECTION: "yes", BATCH_IDLE_DURATION: "10ms" },
      ),
    ).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: validating cli flags / env vars, invalid METRICS_PORT "x": must be a number, invalid DISABLE_LEADER_ELECTION "yes": must be true or false, invalid BATCH_IDLE_DURATION "10ms": must not be below 1s, invalid --preference-policy "Maybe": must be one of "Respect", "Ignore"]`,
    );
  });

  it.each([
    [
      "security-group-refresh-interval",
      "59s",
      "security-group-refresh-interval must be at least 1m",
    ],
    ["metrics-port", "65536", "must not be above 65535"],
    ["consolidation-min-savings", "101", "must not be above 100"],
    ["disruption-budgets", "[{", "not valid YAML: line 1, column 3: unexpected end of the stream"],
  ])("refuse --%s=%s with an error of one line: %s", (flag, value, why) => {
    expect(() => parseOptions({ [flag]: value }, {})).toThrow(why);
    expect(() => parseOptions({ [flag]: value }, {})).toThrow(/^.*[^:]$/);
  });

  it.each([
    ["disruption-budgets", "DISRUPTION_BUDGETS", "[{nodes: few}]", "budgets[0].nodes: "],
    ["scheduler-config", "SCHEDULER_CONFIG", "podTopologySpread: {x: 1}", "podTopologySpread.x: "],
  ])(
    "name --%s, %s or the ConfigMap as the place of an invalid value, and the field in it",
    (flag, env, text, place) => {
      expect(() => parseOptions({ [flag]: text }, {})).toThrow(`invalid --${flag}: ${place}`);
      expect(() => parseOptions({}, { [env]: text })).toThrow(`invalid ${env}: ${place}`);
      const ofConfigMap = `invalid ${flag} of karpenter-global-settings: ${place}`;
      expect(() => parseOptions({}, {}, { [flag]: text })).toThrow(ofConfigMap);
    },
  );

  it.each([
    ["512", 'invalid --memory-limit "512": is 512 bytes and must not be below 128Mi: give a unit'],
    ["1Mi", "is 1048576 bytes and must not be below 128Mi: give a unit, such as 512Mi"],
    ["512MB", "must be a number of bytes or a quantity such as 512Mi"],
    ["", "must be a number of bytes or a quantity such as 512Mi"],
  ])("refuse the memory limit %j: %s", (value, why) => {
    expect(() => parseOptions({ "memory-limit": value }, {})).toThrow(why);
  });

  it.each([
    ["-1", -1],
    ["0", 0],
    ["134217728", 134_217_728],
    ["512Mi", 536_870_912],
    ["4000000000", 4_000_000_000],
  ])("accept the memory limit %s", (value, bytes) => {
    expect(parseOptions({ "memory-limit": value }, {}).memoryLimit).toBe(bytes);
  });

  it("read feature gates: those not named have their defaults, and malformed ones are refused", () => {
    const gates = parseOptions(
      { "feature-gates": "SpotToSpotConsolidation=true, Nonsense=true" },
      {},
    );
    expect(isGateOn(gates, "SpotToSpotConsolidation")).toBe(true);
    expect(isGateOn(gates, "Drift")).toBe(true);
    expect(isGateOn(parseOptions({}, { FEATURE_GATES: "Drift=false" }), "Drift")).toBe(false);
    expect(isGateOn(parseOptions({}, {}), "NodeRepair")).toBe(false);
    expect(isGateOn(gates, "ReservedCapacity")).toBe(true);
    const aws = parseOptions({ "aws-feature-gates": "NodeClassCEL=true" }, {});
    expect([isAwsGateOn(gates, "NodeClassCEL"), isAwsGateOn(aws, "NodeClassCEL")]).toEqual([
      false,
      true,
    ]);
    expect(() => parseOptions({ "aws-feature-gates": "NodeClassCEL=1" }, {})).toThrow(
      'invalid feature gate "NodeClassCEL"',
    );
    expect(() => parseOptions({ "feature-gates": "Drift=yes" }, {})).toThrow(
      'invalid feature gate "Drift": must be Drift=true or Drift=false',
    );
    for (const [flags, env, which] of [
      [{ "feature-gates": "NodeRepair=true,Drift" }, {}, '--feature-gates "NodeRepair=true,Drift"'],
      [{}, { AWS_FEATURE_GATES: "Drift=1" }, 'AWS_FEATURE_GATES "Drift=1"'],
    ] as const)
      expect(() => parseOptions(flags, env)).toThrow(
        `invalid ${which}: invalid feature gate "Drift"`,
      );
  });

  it("name unknown feature gates, and the one that was probably meant", () => {
    const flags = {
      "feature-gates": "NodeRepiar=true,DRAEFA=true,Sparkle=true",
      "aws-feature-gates": "dranvidiagpu=true",
    };
    expect(unknownGates(parseOptions(flags, {}))).toEqual([
      '--feature-gates has no gate "NodeRepiar": did you mean NodeRepair?',
      '--feature-gates has no gate "DRAEFA": it is one of --aws-feature-gates',
      expect.stringMatching(/^--feature-gates has no gate "Sparkle": known are NodeRepair, /),
      '--aws-feature-gates has no gate "dranvidiagpu": did you mean DRANVIDIAGPU?',
    ]);
    expect(unknownGates(parseOptions({}, {}))).toEqual([]);
  });

  it("accept a quoted cluster endpoint and refuse one that is no URL (S1-25)", () => {
    expect(parseOptions({}, { CLUSTER_ENDPOINT: '"https://x"' }).clusterEndpoint).toBe("https://x");
    expect(() => parseOptions({}, { CLUSTER_ENDPOINT: "foo" })).toThrow(
      '"foo" is not a valid CLUSTER_ENDPOINT URL: must be https://host',
    );
  });

  it("have a flag and a variable of its own for each setting", () => {
    const definitions = Object.values(OPTIONS);
    expect(new Set(definitions.map((definition) => definition.flag)).size).toBe(definitions.length);
    expect(new Set(definitions.map((definition) => definition.env)).size).toBe(definitions.length);
  });

  it("refuse a very long invalid value with a short error", () => {
    const gates = Array.from({ length: 20_000 }, (_, at) => `Gate${at}=perhaps`).join();
    let told = "";
    try {
      parseOptions({ "cluster-name": "test", "feature-gates": gates }, {});
    } catch (error) {
      told = (error as Error).message;
    }
    expect(told).toMatch(/^validating cli flags/);
    expect(told.length).toBeLessThan(50_000);
  });
});
