/**
 * `karpenter plan`: planning without a cluster. It reads manifests and prints what would be launched and why. Exit
 * code 0: every pod has a place; 2: some have none; 1: bad input; 3: no pod needs a place.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { OPTIONS } from "../../operator/settings/options.ts";
import type { PlanFlags } from "../plan/run-plan.ts";
import { withExamples } from "../program/help.ts";
import { colourOption } from "../program/terminal.ts";
import { REPORT_FORMATS } from "../report/format-names.ts";

/** The command `karpenter plan`. */
export function planCommand(): Command {
  const command = new Command("plan")
    .summary("Say which nodes would be launched for the pods of your manifests, and why.")
    .description(
      "Say which nodes would be launched for the pods of your manifests, what they cost, and why. " +
        "Exit code: 0 = all pods are placed, 2 = some are not, 1 = bad input, 3 = nothing to plan.",
    )
    .optionsGroup("Input:")
    .option("-f, --filename <path...>", "manifests: files, folders, or - for standard input")
    .option("--cluster", "read the current cluster of KUBECONFIG; files are added to it")
    .optionsGroup("What can be launched:")
    .option("--nodepool-only <name...>", "use only these NodePools of the input")
    .option("--instance-types <file>", "instance types as JSON; default: AWS's catalogue")
    .option(
      "--region <name>",
      "AWS region; default: that of a running Karpenter, else of zones in the input, else us-east-1; has no effect with --instance-types",
    )
    .optionsGroup("Output:")
    .addOption(
      new Option(
        "-o, --output <format>",
        "text: at most 100 columns; wide: all columns; json, yaml: for programs; markdown: a comment; html: a page in one file; svg: its picture",
      )
        .choices(["text", "wide", "json", "yaml", ...REPORT_FORMATS])
        .default("text"),
    )
    .addOption(colourOption())
    .option("--lower-bound", "print a lower bound: no plan for these pods can cost less")
    .option("--no-fix", "do not search for changes that would place the remaining pods")
    .allowExcessArguments(false)
    .action(async (flags: PlanFlags) => {
      // Loaded only when needed, so that help and wrong flags are answered quickly.
      const { runPlan } = await import("../plan/run-plan.ts");
      process.exitCode = await runPlan(flags);
    });
  return withExamples(
    planningOptions(command),
    [
      "karpenter plan -f nodepool.yaml -f deployment.yaml",
      "the nodes of these pods, and their cost",
    ],
    [
      "kubectl kustomize overlays/prod | karpenter plan --cluster -f - -o json",
      "what would be launched in the current cluster, as JSON",
    ],
  );
}

function planningOptions(command: Command): Command {
  return command
    .optionsGroup("How it is planned:")
    .addOption(
      new Option(
        "--preference-policy <policy>",
        "whether preferred affinities and spreads are respected or ignored",
      )
        .choices(["Respect", "Ignore"])
        .default("Respect"),
    )
    .addOption(
      new Option("--min-values-policy <policy>", "whether minValues is strict or may be relaxed")
        .choices(["Strict", "BestEffort"])
        .default("Strict"),
    )
    .option(
      "--scheduler-config <file>",
      "default topology spread, in the form that the controller reads",
    )
    .option(
      "--read-vpa-recommendations",
      "give new pods what VerticalPodAutoscalers recommend; default: as a running Karpenter does, else not",
    )
    .addOption(
      new Option(
        "--planner <policy>",
        "cost: the cheapest plan of several plan sources; greedy: one greedy plan, nearly as upstream's",
      )
        .choices(["cost", "greedy"])
        .default("cost"),
    )
    .addOption(
      new Option(
        "--planner-effort <times>",
        "budget of the planner's search, as a multiple of the default",
      )
        .argParser(amount)
        .default(Number(OPTIONS.plannerEffort.default)),
    )
    .addOption(
      new Option("--planner-node-cost <usd>", "cost of a node in $/h beyond its instance")
        .argParser(amount)
        .default(Number(OPTIONS.plannerNodeCost.default)),
    )
    .addOption(
      new Option(
        "--planner-min-saving <percent>",
        "percent that most plans must save to replace the best one so far",
      )
        .argParser(percent)
        .default(Number(OPTIONS.plannerMinSaving.default)),
    )
    .addOption(
      new Option("--planner-min-pods <pods>", "smallest batch for which packing is tried")
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
