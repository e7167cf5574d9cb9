import { describe, expect, it } from "vitest";
import { settingsOf } from "../../operator/create-operator.ts";
import type { OptionDefinition } from "../../operator/settings/option-definition.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { parseOptions } from "../../operator/settings/parse-options.ts";
import { awsSettingsOf } from "./providers.ts";
import { requestLimits, webhookPlace } from "./run-controller.ts";

/**
 * Settings that only the program itself reads. Other tests check their effects: endpoints, log outputs, standby, the
 * bundle.
 */
const OF_THE_PROCESS = [
  "disable-webhook metrics-port console-port health-probe-port log-level log-output-paths log-error-output-paths",
  "observe-only disable-leader-election leader-elect leader-election-name leader-election-namespace",
  "disable-cluster-state-observability",
  "enable-profiling",
  "memory-limit config-logging-name facts-name",
].flatMap((line) => line.split(" "));

/** Values that differ from the default, for settings whose type does not imply one. */
const OTHER: Readonly<Record<string, string>> = {
  "preference-policy": "Ignore",
  "min-values-policy": "BestEffort",
  "planner-policy": "greedy",
  preset: "frugal",
  "disruption-budgets": '[{nodes: "1"}]',
  "involuntary-disruption-limit": "3,20%",
  "scheduler-config":
    "{podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}}",
  "cluster-endpoint": "https://other.example",
  "webhook-url": "https://192.0.2.10:8443",
  "aws-feature-gates": "NodeClassCEL=true",
  "aws-tags": '{"team":"a"}',
};

function other({ flag, type, default: usual }: OptionDefinition): string {
  if (OTHER[flag] !== undefined) return OTHER[flag];
  if (type === "boolean") return usual === "true" ? "false" : "true";
  if (type === "duration") return "17m";
  if (type === "integer") return "7";
  if (type === "number") return "0.5";
  return "another";
}

function meaning(flags: Readonly<Record<string, string>>): string {
  const options = parseOptions(flags, {});
  return JSON.stringify([
    settingsOf(options),
    awsSettingsOf(options, "us-west-2"),
    webhookPlace(options),
    requestLimits(options),
  ]);
}

describe("settings of the controller", () => {
  const usual = meaning({});
  const acted = Object.values(OPTIONS as Readonly<Record<string, OptionDefinition>>).filter(
    ({ flag, notActedOn }) => notActedOn === undefined && !OF_THE_PROCESS.includes(flag),
  );

  it.each(acted.map((option) => [option.flag, other(option)]))(
    "--%s=%s reaches the controllers, the cloud or the way to the API server",
    (flag, value) => {
      expect(meaning({ [flag]: value })).not.toBe(usual);
    },
  );

  it.each([
    "NodeRepair=true",
    "ReservedCapacity=false",
    "SpotToSpotConsolidation=true",
    "NodeOverlay=true",
    "StaticCapacity=true",
    "TerminateFirstDrift=true",
    "TerminateFirstRepair=true",
    "PodDeletionCostManagement=true",
    "Drift=false",
  ])("--feature-gates=%s reaches the controllers or the cloud provider", (gate) => {
    expect(meaning({ "feature-gates": gate })).not.toBe(usual);
  });

  it.each([
    ["DRANVIDIAGPU", { nvidiaGpu: true, efa: false, neuron: false }],
    ["DRAEFA", { nvidiaGpu: false, efa: true, neuron: false }],
    ["DRANeuron", { nvidiaGpu: false, efa: false, neuron: true }],
  ])(
    "--aws-feature-gates=%s=true has an effect if resource claims are not ignored",
    (gate, devices) => {
      const devicesOf = (flags: Readonly<Record<string, string>>) =>
        awsSettingsOf(parseOptions({ "aws-feature-gates": `${gate}=true`, ...flags }, {}), "r")
          .devices;
      expect(devicesOf({})).toBeUndefined();
      expect(devicesOf({ "ignore-dra-requests": "false" })).toEqual(devices);
    },
  );

  it("that only the program itself reads are in the table of settings", () => {
    const known = new Set(Object.values(OPTIONS).map(({ flag }) => flag as string));
    expect(OF_THE_PROCESS.filter((flag) => !known.has(flag))).toEqual([]);
  });
});
