/**
 * `karpenter simulate`: the result of assumed changes to a cluster. Exit code 0: every pod has a place at the end;
 * 2: some have none; 1: bad input.
 */
import { Command } from "commander";
import { answerOption, pictureOptions } from "../answers/picture-options.ts";
import type { SimulateFlags } from "../answers/run-simulate.ts";
import { withExamples } from "../program/help.ts";

/** The command `karpenter simulate`. */
export function simulateCommand(): Command {
  const command = new Command("simulate").description(
    "Say what would happen if nodes were removed, if NodePools, prices or workloads changed, or if time passed.",
  );
  pictureOptions(command)
    .optionsGroup("What to suppose:")
    .option("--remove-node <name...>", "suppose that these nodes are removed")
    .option("--drain-zone <zone...>", "suppose that a zone loses all nodes and can launch none")
    .option("--nodepool-file <path...>", "suppose that NodePools are as in these files")
    .option("--add <path...>", "suppose that these objects are applied: workloads, pods, NodePools")
    .option(
      "--scale <workload=replicas...>",
      "suppose that these Deployments (NAMESPACE/NAME) have so many replicas",
    )
    .option(
      "--price <type=usd...>",
      "suppose that a type costs this per hour; TYPE:spot=USD for spot",
    )
    .option(
      "--unhealthy <condition...>",
      "suppose that nodes report CONDITION[=STATUS][/REASON] (default status: False), and run node repair",
    )
    .option("--node <name...>", "the nodes that --unhealthy is about (default: all of Karpenter's)")
    .option("--consolidate", "run the disruption loop until it has nothing more to do")
    .option("--horizon <duration>", "longest time that --consolidate simulates (default: 24h)")
    .optionsGroup("Output:")
    .addOption(answerOption())
    .allowExcessArguments(false)
    .action(async (flags: SimulateFlags) => {
      // Loaded only when needed, so that help and wrong flags are answered quickly.
      const { runSimulate } = await import("../answers/run-simulate.ts");
      process.exitCode = await runSimulate(flags);
    });
  return withExamples(
    command,
    ["karpenter simulate --drain-zone us-east-1a", "a zone outage in the current cluster"],
    [
      "karpenter simulate --nodepool-file spot.yaml --consolidate",
      "what another NodePool would save in the end",
    ],
  );
}
