/** Every part of the product that reads texts from outside, and how a text gets there. One row for each part. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { answerWebhook } from "../../../src/apis/hub/admission.ts";
import { ConversionError, convertObject } from "../../../src/apis/hub/conversion.ts";
import {
  DISRUPTION_COMMAND_ANNOTATION_KEY,
  KUBELET_COMPATIBILITY_ANNOTATION_KEY,
  MOVES_ANNOTATION_KEY,
  NODECLASS_REFERENCE_ANNOTATION_KEY,
  REPACK_OUTCOME_ANNOTATION_KEY,
  REPLACEMENTS_FAILED_ANNOTATION_KEY,
  V1_ONLY_ANNOTATION_KEY,
} from "../../../src/apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../../src/apis/meta.ts";
import type { Random } from "../../../src/base/random.ts";
import { VirtualClock } from "../../../src/base/virtual-clock.ts";
import { runExplain } from "../../../src/cli/answers/run-explain.ts";
import { runSimulate } from "../../../src/cli/answers/run-simulate.ts";
import { convertCommand } from "../../../src/cli/commands/convert.ts";
import { explainCommand } from "../../../src/cli/commands/explain.ts";
import { interruptCommand } from "../../../src/cli/commands/interrupt.ts";
import { planCommand } from "../../../src/cli/commands/plan.ts";
import { sandboxCommand } from "../../../src/cli/commands/sandbox.ts";
import { simulateCommand } from "../../../src/cli/commands/simulate.ts";
import { runConvert } from "../../../src/cli/convert/run-convert.ts";
import { parseInstanceTypes } from "../../../src/cli/plan/instance-type-file.ts";
import { runPlan } from "../../../src/cli/plan/run-plan.ts";
import { CliError } from "../../../src/cli/program/cli-error.ts";
import { readScenario } from "../../../src/cli/sandbox/story-file.ts";
import { backoffOn } from "../../../src/core/disruption/failed-pools.ts";
import { movesOn } from "../../../src/core/disruption/moves.ts";
import { outcomeOn } from "../../../src/core/disruption/outcome.ts";
import { recordOf } from "../../../src/core/disruption/record.ts";
import { KubeconfigError } from "../../../src/kube/kubeconfig/entry.ts";
import { clusterAccess } from "../../../src/kube/kubeconfig/kubeconfig.ts";
import { readZapConfig } from "../../../src/operator/logging/zap-config.ts";
import { OPTIONS } from "../../../src/operator/settings/options.ts";
import { ConfigError, parseOptions } from "../../../src/operator/settings/parse-options.ts";
import { AwsError } from "../../../src/providers/aws/api/call.ts";
import { UserDataError } from "../../../src/providers/aws/errors.ts";
import { parseMessage } from "../../../src/providers/aws/interruption/messages.ts";
import { onDemandPrices } from "../../../src/providers/aws/pricing/pricing.ts";
import { userData } from "../../../src/providers/aws/userdata/user-data.ts";
import { readJsonTexts } from "../../../src/readers/json.ts";
import { LIMITS } from "../../../src/readers/limits.ts";
import { readMime } from "../../../src/readers/mime.ts";
import { ReadError } from "../../../src/readers/read-error.ts";
import { readToml } from "../../../src/readers/toml.ts";
import { writeYaml } from "../../../src/readers/write-yaml.ts";
import { readYaml } from "../../../src/readers/yaml.ts";
import { decodeUserData } from "../../../src/sandbox/ec2/boot/user-data.ts";
import { EC2_REQUESTS } from "../../../src/sandbox/ec2/wire/ec2-shapes.ts";
import { decodeQuery } from "../../../src/sandbox/ec2/wire/query.ts";
import { apiTargets } from "./api-targets.ts";
import { mutateText, mutateValue, oddValue } from "./mutate.ts";
import {
  CLUSTER,
  INSTANCE_TYPES,
  KUBECONFIG,
  MANIFESTS,
  MESSAGES,
  OBJECTS,
  OURS,
  STORIES,
  USER_DATA,
} from "./seeds.ts";
import type { Target } from "./target.ts";

const folder = mkdtempSync(join(tmpdir(), "karpenter-fuzz-"));
// A thread of a test run may end without this event, so its tests call the function themselves.
process.once("exit", removeFiles);

/** Removes the files of all targets. No target can run after that. */
export function removeFiles(): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Writes the text to a file; one file for each name, overwritten each time. */
function fileOf(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const SILENT = { out: () => undefined, err: () => undefined };
const NO_PROGRESS = { stage: () => undefined, end: () => undefined, step: () => undefined };
const instanceTypes = fileOf("types.json", JSON.stringify(INSTANCE_TYPES));

/** The value as YAML or JSON, with its structure or characters changed. */
function text(values: readonly unknown[], random: Random): string {
  const changed = random.int(3) > 0 ? values.map((one) => mutateValue(one, random)) : values;
  const write = random.int(2) === 0 ? writeYaml : JSON.stringify;
  const whole = changed.map((one) => write(one)).join("\n---\n");
  return random.int(4) === 0 ? mutateText(whole, random) : whole;
}

const manifests = (random: Random) =>
  random.int(4) === 0
    ? mutateText(random.pick(MANIFESTS), random)
    : text([random.pick(random.int(2) === 0 ? OBJECTS : OURS)], random);
const cluster = (random: Random) => text([...CLUSTER, random.pick(OBJECTS)], random);

const FAMILIES = ["AL2", "AL2023", "Bottlerocket", "Ubuntu", "Windows2022", "Custom"] as const;
const PLAN = {
  instanceTypes,
  preferencePolicy: "Respect",
  minValuesPolicy: "BestEffort",
  planner: "cost",
  plannerEffort: 1,
  plannerNodeCost: 0.02,
  plannerMinSaving: 2,
  plannerMinPods: 10,
  output: "json",
  fix: true,
} as const;
const COMMANDS = [
  convertCommand,
  explainCommand,
  interruptCommand,
  planCommand,
  sandboxCommand,
  simulateCommand,
];

const commandLines: readonly Target[] = [
  {
    name: "convert",
    quick: 60,
    draw: manifests,
    run: async (input) => {
      const flags = { filename: ["-"], recursive: false, ignoreDefaults: false } as const;
      const doors = { out: () => undefined, say: () => undefined, stdin: () => input };
      const to = input.length % 2 === 0 ? "v1" : "v1beta1";
      await runConvert({ ...flags, output: "yaml", to }, doors);
    },
    expected: [CliError],
  },
  {
    name: "plan",
    quick: 20,
    draw: cluster,
    run: async (input) => {
      const filename = [fileOf("plan.yaml", input)];
      await runPlan({ ...PLAN, filename }, SILENT, NO_PROGRESS);
    },
    expected: [CliError],
  },
  {
    name: "explain",
    quick: 20,
    draw: cluster,
    run: async (input) => {
      const filename = [fileOf("explain.yaml", input)];
      const flags = { filename, instanceTypes, namespace: "default", output: "text" } as const;
      const words = [
        ["node", "node-1"],
        ["pod", "web"],
        ["nodepool", "default"],
      ];
      await runExplain(words[input.length % 3] as string[], flags, SILENT);
    },
    expected: [CliError],
  },
  {
    name: "simulate",
    quick: 20,
    draw: cluster,
    run: async (input) => {
      const filename = [fileOf("simulate.yaml", input)];
      const what =
        input.length % 2 === 0 ? { removeNode: ["node-1"] } : { consolidate: true as const };
      await runSimulate({ filename, instanceTypes, output: "text", ...what }, SILENT);
    },
    expected: [CliError],
  },
  {
    name: "instance-types",
    quick: 60,
    draw: (random) => text(INSTANCE_TYPES, random),
    run: (input) => void parseInstanceTypes("types.json", input),
    expected: [CliError],
  },
  {
    name: "scenario",
    quick: 30,
    draw: (random) => text([random.pick(STORIES)], random),
    run: (input) => void readScenario(fileOf("story.yaml", input)),
    expected: [CliError],
  },
  {
    name: "command-line",
    quick: 60,
    draw: (random) => {
      const command = random.pick(COMMANDS)();
      const odd = oddValue(random);
      const flags = command.options.map(({ long }) => long ?? "");
      const words = Array.from({ length: random.int(6) }, () =>
        random.int(2) === 0 ? random.pick(flags) : mutateText(random.pick(flags), random),
      );
      return JSON.stringify([command.name(), ...words, ...(typeof odd === "string" ? [odd] : [])]);
    },
    run: async (input) => {
      const words = stringsIn(input);
      const program = new Command("karpenter").exitOverride();
      program.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
      for (const make of COMMANDS) {
        const command = make().action(() => undefined);
        program.addCommand(command.exitOverride().copyInheritedSettings(program));
      }
      await program.parseAsync(words, { from: "user" });
    },
    expected: [CommanderError, CliError],
  },
  {
    name: "settings",
    quick: 100,
    draw: (random) => {
      const values = Object.values(OPTIONS).map(({ flag, default: usual }) => [
        flag,
        String(usual),
      ]);
      const [flag, usual] = random.pick(values) as [string, string];
      const odd =
        random.int(2) === 0 ? mutateText(usual, random) : text([oddValue(random)], random);
      return JSON.stringify([random.pick([flag, "scheduler-config", "disruption-budgets"]), odd]);
    },
    run: (input) => {
      const [flag = "", value] = stringsIn(input);
      parseOptions({ [flag]: value }, {});
    },
    expected: [ConfigError],
  },
];

/** Shrinking removes characters, so the input may no longer be a list of texts. */
function stringsIn(input: string): string[] {
  try {
    const value: unknown = JSON.parse(input);
    return Array.isArray(value) ? value.map(String) : [];
  } catch {
    return [];
  }
}

/** Specs that are valid in v1 and in v1beta1. */
const SPECS = {
  NodeClaim: { nodeClassRef: { group: "a", kind: "b", name: "c" }, requirements: [] },
  NodePool: {
    template: { spec: { nodeClassRef: { group: "a", kind: "b", name: "c" }, requirements: [] } },
    disruption: { consolidateAfter: "1m", budgets: [{ nodes: "10%" }] },
  },
};

const REVIEW_PATHS = [
  "/default/karpenter.k8s.aws",
  "/validate/karpenter.k8s.aws",
  "/validate/karpenter.sh",
  "/validate/config.karpenter.sh",
  "/conversion/karpenter.sh",
  "/conversion/karpenter.k8s.aws",
];
const WEBHOOK = { clusterName: "c", acceptMinusOne: true, defaultInstanceProfile: undefined };

const clusterTexts: readonly Target[] = [
  {
    name: "reviews",
    quick: 150,
    draw: (random) => {
      const object = random.pick(OURS);
      const version = random.pick([
        "karpenter.sh/v1",
        "karpenter.sh/v1beta1",
        "karpenter.k8s.aws/v1",
      ]);
      const request = { uid: "1", object, objects: [object], desiredAPIVersion: version };
      return JSON.stringify(mutateValue({ kind: "ConversionReview", request }, random));
    },
    run: (input) => {
      const review = jsonIn(input);
      const answers = REVIEW_PATHS.map((path) => answerWebhook(path, review, WEBHOOK));
      return answers.every((answer) => JSON.stringify(answer) !== undefined)
        ? undefined
        : "no answer";
    },
    expected: [ReadError],
  },
  {
    name: "kubeconfig",
    quick: 60,
    draw: (random) => text([KUBECONFIG], random),
    run: (input) => void clusterAccess(fileOf("kubeconfig", input), {}, new VirtualClock()),
    expected: [KubeconfigError],
  },
  {
    name: "user-data",
    quick: 100,
    draw: (random) => {
      const sound = random.pick(USER_DATA);
      const custom = random.int(6) === 0 ? sound : mutateText(sound, random);
      return `${random.pick(FAMILIES)}\n${custom}`;
    },
    run: (input) => {
      const family = FAMILIES.find((one) => input.startsWith(`${one}\n`)) ?? "AL2023";
      const custom = input.slice(input.indexOf("\n") + 1);
      const bootstrap = {
        generation: "v1",
        clusterName: "c",
        clusterEndpoint: "https://x",
        clusterCidr: "10.0.0.0/16",
        dnsIp: "10.0.0.10",
        maxPods: 10,
      } as const;
      const others = { caBundle: "YQ==", kubelet: {}, labels: {}, taints: [], raid0: false };
      const made = userData(family, { ...bootstrap, ...others, custom });
      // The instance must be able to read what the product writes, or report an error.
      decodeUserData(family, Buffer.from(made).toString("base64"));
      decodeUserData(family, Buffer.from(custom).toString("base64"));
    },
    expected: [UserDataError],
  },
  {
    name: "readers",
    quick: 100,
    draw: (random) =>
      mutateText(random.int(2) === 0 ? random.pick(MANIFESTS) : random.pick(USER_DATA), random),
    run: (input) => {
      const from = { source: "input", limits: LIMITS.manifests };
      for (const read of [readYaml, readToml, readJsonTexts, readMime]) {
        try {
          read(input, from);
        } catch (error) {
          if (!(error instanceof ReadError)) throw error;
          if (/\n/.test(error.message) || error.message.length > 400)
            return `long: ${error.message}`;
        }
      }
    },
    expected: [],
  },
];

const FORM =
  "Action=RunInstances&MaxCount=1&MinCount=1&ImageId=ami-1&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=a&TagSpecification.1.Tag.1.Value=b";
const PRODUCT = {
  product: { attributes: { instanceType: "m5.large" } },
  terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: { USD: "0.1" } } } } } },
};

/** Valid texts of annotations and of the ConfigMap that record earlier decisions. */
const NOTES: readonly (readonly [string, unknown])[] = [
  [MOVES_ANNOTATION_KEY, [{ pod: "default/web", at: "2026-01-01T00:00:00Z" }]],
  [REPLACEMENTS_FAILED_ANNOTATION_KEY, { failures: 3, until: "2026-01-01T00:00:00Z" }],
  [
    DISRUPTION_COMMAND_ANNOTATION_KEY,
    { id: "1", reason: "drifted", since: "2026-01-01T00:00:00Z" },
  ],
  [REPACK_OUTCOME_ANNOTATION_KEY, { savedMicroUsd: 5, since: "2026-01-01T00:00:00Z" }],
  [V1_ONLY_ANNOTATION_KEY, { budgets: [{ nodes: "10%", reasons: ["Empty"] }], replicas: 1 }],
  [KUBELET_COMPATIBILITY_ANNOTATION_KEY, { maxPods: 5 }],
  [NODECLASS_REFERENCE_ANNOTATION_KEY, { apiVersion: "a/v1", kind: "b", name: "c" }],
  ["zap-logger-config", { level: "info", encoding: "json", encoderConfig: { timeKey: "t" } }],
];

const notes: Target = {
  name: "annotations",
  quick: 100,
  draw: (random) => {
    const [key, sound] = random.pick(NOTES);
    const text = JSON.stringify(mutateValue(sound, random));
    return `${key}\n${random.int(3) === 0 ? mutateText(text, random) : text}`;
  },
  run: (input) => {
    const at = input.indexOf("\n");
    const [key, text] = [input.slice(0, at), input.slice(at + 1)];
    const metadata = { name: "a", annotations: { [key]: text } };
    const object = { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", metadata } as NodeClaim;
    for (const read of [movesOn, recordOf, outcomeOn]) read(object);
    backoffOn(object, 0);
    readZapConfig(text);
    for (const [kind, spec] of Object.entries(SPECS)) {
      const versions = ["karpenter.sh/v1", "karpenter.sh/v1beta1"] as const;
      convertObject({ ...object, kind, spec, apiVersion: versions[0] } as KubeObject, versions[1]);
      convertObject({ ...object, kind, spec, apiVersion: versions[1] } as KubeObject, versions[0]);
    }
  },
  expected: [ConversionError],
};

const awsTexts: readonly Target[] = [
  {
    name: "queue-message",
    quick: 100,
    draw: (random) => text([random.pick(MESSAGES)], random),
    run: (input) => {
      const { kind, instanceIds } = parseMessage(input);
      const isSound = typeof kind === "string" && instanceIds.every((id) => typeof id === "string");
      return isSound ? undefined : "no message";
    },
    expected: [],
  },
  {
    name: "prices",
    quick: 60,
    draw: (random) => text([PRODUCT], random),
    run: (input) => {
      const prices = [...onDemandPrices([input], "USD")];
      return prices.every(
        ([type, price]) => typeof type === "string" && Number.isSafeInteger(price),
      )
        ? undefined
        : "a price that is none";
    },
    expected: [],
  },
  {
    name: "aws-form",
    quick: 60,
    draw: (random) => mutateText(FORM, random),
    run: (input) =>
      void decodeQuery(new URLSearchParams(input), EC2_REQUESTS, "RunInstancesRequest", ""),
    expected: [AwsError],
  },
];

/** A review is parsed by the listener, which limits nesting. */
function jsonIn(input: string): unknown {
  const [value] = readJsonTexts(input, { source: "review", limits: LIMITS.apiBody }) ?? [];
  return value;
}

export const TARGETS: readonly Target[] = [
  notes,
  ...commandLines,
  ...clusterTexts,
  ...awsTexts,
  ...apiTargets,
];
