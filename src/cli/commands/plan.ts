/**
 * `karpenter plan`: the engine without a cluster. Reads manifests, says what would be launched and
 * why. Exit code 0: every pod has a place; 2: some have none; 1: the input is at fault; 3: no pod needs a place.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { OPTIONS } from "../../operator/settings/options.ts";
import type { PlanFlags } from "../plan/run-plan.ts";
import { withExamples } from "../program/help.ts";
import { colourOption } from "../program/terminal.ts";
import { REPORT_FORMATS } from "../report/format-names.ts";

export function planCommand(): Command {
  const command = new Command("plan")
    .summary("Say what would be launched for the pods of some manifests, and why.")
    .description(
      "Say what would be launched for the pods of some manifests, what it costs, and why. " +
        "Exit code: 0 all pods placed, 2 some not, 1 bad input, 3 nothing to plan.",
    )
    .optionsGroup("Input:")
    .option("-f, --filename <path...>", "manifests: files, folders, or - for standard input")
    .option("--cluster", "read the current cluster, of KUBECONFIG; files come on top")
    .optionsGroup("What can be launched:")
    .option("--nodepool-only <name...>", "use only these NodePools of the input")
    .option("--instance-types <file>", "what can be launched, as JSON; default: AWS")
    .option(
      "--region <name>",
      "AWS region; default: that of a running Karpenter, or what zones in the input say, else us-east-1; counts for nothing with --instance-types",
    )
    .optionsGroup("Output:")
    .addOption(
      new Option(
        "-o, --output <format>",
        "text for people, of at most 100 columns; wide: with all columns; json or yaml for programs; markdown for a comment, html: a page in one file, svg: its picture",
      )
        .choices(["text", "wide", "json", "yaml", ...REPORT_FORMATS])
        .default("text"),
    )
    .addOption(colourOption())
    .option("--lower-bound", "add a proven bound: no plan for these pods costs less")
    .option("--no-fix", "do not search for what would place the pods that are left")
    .allowExcessArguments(false)
    .action(async (flags: PlanFlags) => {
      // Loaded when wanted, so that help and refused flags answer at once.
      const { runPlan } = await import("../plan/run-plan.ts");
      process.exitCode = await runPlan(flags);
    });
  return withExamples(
    planningOptions(command),
    [
      "karpenter plan -f nodepool.yaml -f deployment.yaml",
      "what these pods would run on, and what it costs",
    ],
    [
      "kubectl kustomize overlays/prod | karpenter plan --cluster -f - -o json",
      "what changes in the current cluster, for a program",
    ],
  );
}

function planningOptions(command: Command): Command {
  return command
    .optionsGroup("How it is planned:")
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
    .option("--scheduler-config <file>", "default topology spread, as the controller takes it")
    .addOption(
      new Option(
        "--planner <policy>",
        "the cheaper of upstream's rules and a packing by price, or the rules alone",
      )
        .choices(["cost", "greedy"])
        .default("cost"),
    )
    .addOption(
      new Option("--planner-effort <times>", "how long the planner searches, as a multiple")
        .argParser(amount)
        .default(Number(OPTIONS.plannerEffort.default)),
    )
    .addOption(
      new Option(
        "--planner-node-cost <usd>",
        "dollars an hour that a node costs beyond its machine",
      )
        .argParser(amount)
        .default(Number(OPTIONS.plannerNodeCost.default)),
    )
    .addOption(
      new Option(
        "--planner-min-saving <percent>",
        "what a packing must save over the rules to be taken",
      )
        .argParser(percent)
        .default(Number(OPTIONS.plannerMinSaving.default)),
    )
    .addOption(
      new Option("--planner-min-pods <pods>", "fewer pods than this follow the rules alone")
        .argParser(count)
        .default(Number(OPTIONS.plannerMinPods.default)),
    );
}

function amount(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError("Wanted: a number, 0 or more.");
}

function percent(text: string): number {
  const value = amount(text);
  if (value <= 100) return value;
  throw new InvalidArgumentError("Wanted: a number from 0 to 100.");
}

function count(text: string): number {
  const value = amount(text);
  if (Number.isInteger(value)) return value;
  throw new InvalidArgumentError("Wanted: a whole number, 0 or more.");
}
