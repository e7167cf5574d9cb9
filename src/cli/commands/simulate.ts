/**
 * `karpenter simulate`: what would happen if. Exit code 0: every pod has a place at the end; 2: some have
 * none; 1: the input is at fault.
 */
import { Command } from "commander";
import { outputOption, pictureOptions } from "../answers/picture-options.ts";
import type { SimulateFlags } from "../answers/run-simulate.ts";
import { withExamples } from "../program/help.ts";

export function simulateCommand(): Command {
  const command = new Command("simulate").description(
    "Say what would happen if nodes went, pools, prices or workloads were others, or time passed.",
  );
  pictureOptions(command)
    .optionsGroup("What to suppose:")
    .option("--remove-node <name...>", "suppose these nodes went")
    .option(
      "--drain-zone <zone...>",
      "suppose all nodes of a zone went, and none could be had there",
    )
    .option("--nodepool-file <path...>", "suppose these NodePools were as these files say")
    .option("--add <path...>", "suppose these objects were applied: workloads, pods, pools")
    .option("--price <type=usd...>", "suppose a type cost this an hour; TYPE:spot=USD for spot")
    .option("--consolidate", "go on with the disruption loop until it has nothing more to do")
    .option("--horizon <duration>", "how far ahead --consolidate looks at most (default: 24h)")
    .optionsGroup("Output:")
    .addOption(outputOption())
    .allowExcessArguments(false)
    .action(async (flags: SimulateFlags) => {
      // Loaded when wanted, so that help and refused flags answer at once.
      const { runSimulate } = await import("../answers/run-simulate.ts");
      process.exitCode = await runSimulate(flags);
    });
  return withExamples(
    command,
    ["karpenter simulate --drain-zone us-east-1a", "an outage of a zone of the current cluster"],
    [
      "karpenter simulate --nodepool-file spot.yaml --consolidate",
      "what another NodePool would save, played to the end",
    ],
  );
}
