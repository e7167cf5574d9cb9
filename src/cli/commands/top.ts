/** `karpenter top`: a live overview of all nodes. */
import { Command, Option } from "commander";
import { outputOption, pictureOptions } from "../answers/picture-options.ts";
import { withExamples } from "../program/help.ts";
import type { TopFlags } from "../top/run-top.ts";
import { SORTS } from "../top/view.ts";

/** The command `karpenter top`. */
export function topCommand(): Command {
  const command = new Command("top").description("Show nodes live: requests, cost and state.");
  pictureOptions(command)
    .optionsGroup("What to show:")
    .addOption(new Option("--sort <by>", "order of the nodes").choices(SORTS).default("pool"))
    .option("--filter <text>", "nodes whose name, pool, type, zone or state contains it")
    .option("--interval <duration>", "time between two readings", "5s")
    .optionsGroup("Output:")
    .option("--once", "print one picture and end; the default without a terminal")
    .option("--ascii", "bars and marks of ASCII characters")
    .addOption(outputOption())
    .allowExcessArguments(false)
    .action(async (flags: TopFlags) => {
      // Loaded only when needed, so that help and wrong flags are answered quickly.
      const { runTop } = await import("../top/run-top.ts");
      await runTop(flags);
    });
  return withExamples(
    command,
    ["karpenter top", "the current cluster, with any autoscaler; press q to end"],
    ["karpenter top --once --sort price", "one picture for a log, the most expensive nodes first"],
  );
}
