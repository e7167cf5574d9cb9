/**
 * `karpenter plan`: the engine without a cluster. Reads manifests, says what would be launched and
 * why. Exit code 0: every pod has a place; 2: some have none; 1: the input is at fault.
 */
import { Command, Option } from "commander";
import { stringify } from "yaml";
import { SystemClock } from "../../base/system-clock.ts";
import { solve } from "../../core/provisioning/solve.ts";
import { CliError } from "../cli-error.ts";
import { awsCatalogue, type Cloud } from "../plan/aws-catalogue.ts";
import { readDocuments, readText } from "../plan/documents.ts";
import { parseInstanceTypes } from "../plan/instance-type-file.ts";
import { type Manifests, sortManifests } from "../plan/manifests.ts";
import { planOf } from "../plan/plan.ts";
import { planText } from "../plan/plan-text.ts";
import { planningInput, regionOf } from "../plan/planning-input.ts";

interface PlanFlags {
  readonly filename?: readonly string[];
  readonly instanceTypes?: string;
  readonly nodepoolOnly?: readonly string[];
  readonly region?: string;
  readonly preferencePolicy: "Respect" | "Ignore";
  readonly minValuesPolicy: "Strict" | "BestEffort";
  readonly output: "text" | "json" | "yaml";
  readonly cluster?: true;
}

export function planCommand(): Command {
  return new Command("plan")
    .description("Say what would be launched for the pods of some manifests, and why.")
    .option("-f, --filename <path...>", "manifests: files, folders, or - for standard input")
    .option("--instance-types <file>", "what can be launched, as JSON; default: AWS")
    .option("--nodepool-only <name...>", "use only these NodePools of the input")
    .option("--region <name>", "AWS region; default: what zones in the input say, else us-east-1")
    .addOption(
      new Option("--preference-policy <policy>", "what preferred terms of pods are worth")
        .choices(["Respect", "Ignore"])
        .default("Respect"),
    )
    .addOption(
      new Option("--min-values-policy <policy>", "whether minValues may be given up")
        .choices(["Strict", "BestEffort"])
        .default("Strict"),
    )
    .addOption(
      new Option("-o, --output <format>", "for people or for programs")
        .choices(["text", "json", "yaml"])
        .default("text"),
    )
    .option("--cluster", "read the current cluster instead of files (not there yet)")
    .allowExcessArguments(false)
    .action(async (flags: PlanFlags) => {
      process.exitCode = await plan(flags);
    });
}

async function plan(flags: PlanFlags): Promise<number> {
  if (flags.cluster === true) {
    throw new CliError(
      "--cluster cannot be used yet; export what matters: kubectl get nodes,pods,nodepools,nodeclaims -A -o yaml | karpenter plan -f -",
    );
  }
  if (flags.filename === undefined) throw new CliError("missing the manifests: use -f FILE");
  const clock = new SystemClock();
  const startMs = performance.now();
  const manifests = sortManifests(readDocuments(flags.filename));
  const cloud = await cloudOf(flags, manifests);
  const poolNames = flags.nodepoolOnly ?? [];
  const settings = { ...flags, poolNames };
  const { input, notes } = await planningInput(manifests, cloud, settings, clock.now());
  const parsedMs = performance.now();
  const result = solve(input);
  const timings = {
    parseMs: rounded(parsedMs - startMs),
    solveMs: rounded(performance.now() - parsedMs),
  };
  const found = planOf(result, input.pods.length, timings);
  if (flags.output === "text") process.stdout.write(planText(found, notes));
  else {
    for (const note of notes) process.stderr.write(`karpenter: note: ${note}\n`);
    process.stdout.write(
      flags.output === "json" ? `${JSON.stringify(found, null, 2)}\n` : stringify(found),
    );
  }
  return found.unschedulable.length === 0 ? 0 : 2;
}

async function cloudOf(flags: PlanFlags, manifests: Manifests): Promise<Cloud> {
  if (flags.instanceTypes === undefined) {
    return awsCatalogue(flags.region ?? regionOf(manifests) ?? "us-east-1", manifests);
  }
  const path = flags.instanceTypes;
  const { instanceTypes, wellKnownLabels } = parseInstanceTypes(path, readText(path));
  return { wellKnownLabels, typesOf: async () => instanceTypes, notes: [] };
}

/** Milliseconds with one decimal. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
