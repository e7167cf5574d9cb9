/** `karpenter doctor`: what is wrong with this installation. */
import { Command, Option } from "commander";
import type { DoctorFlags } from "../doctor/run-doctor.ts";
import { withExamples } from "../program/help.ts";

/** `karpenter doctor`. Exit code 0: nothing to do; 2: something is; 1: bad input. */
export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description(
      "Check rights, definitions, clocks, lease, webhooks, readiness and reachability, and say what to do. It changes nothing.",
    )
    .optionsGroup("Input:")
    .addOption(
      new Option(
        "--provider <name>",
        "which cloud; default: that of the controller that runs, else aws",
      ).choices(["aws", "kwok"]),
    )
    .option("-n, --namespace <name>", "where the controller runs", "karpenter")
    .option(
      "--service-account <namespace/name>",
      "ask for the rights of this account, not for your own",
    )
    .option("--interruption-queue <name>", "SQS queue to look for; also INTERRUPTION_QUEUE")
    .optionsGroup("Output:")
    .addOption(
      new Option("-o, --output <format>", "text for people; json for programs")
        .choices(["text", "json"])
        .default("text"),
    )
    .allowExcessArguments(false)
    .action(async (flags: DoctorFlags) => {
      const { runDoctor } = await import("../doctor/run-doctor.ts");
      process.exitCode = await runDoctor(flags);
    });
  return withExamples(
    command,
    ["karpenter doctor -n kube-system", "from a laptop, with your own rights"],
    [
      "karpenter doctor --service-account karpenter/karpenter -o json",
      "with the rights of the controller's account",
    ],
  );
}
