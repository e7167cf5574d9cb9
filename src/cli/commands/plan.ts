/**
 * `karpenter plan`: the engine without a cluster. Reads manifests, says what would be launched and
 * why. Exit code 0: every pod has a place; 2: some have none; 1: the input is at fault.
 */
import { Command, Option } from "commander";
import type { PlanFlags } from "../run-plan.ts";

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
      // Loaded when wanted, so that help and refused flags answer at once.
      const { runPlan } = await import("../run-plan.ts");
      process.exitCode = await runPlan(flags);
    });
}
