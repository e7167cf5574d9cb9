/** `karpenter top`: the fleet at one glance, live. */
import { Command, Option } from "commander";
import { outputOption, pictureOptions } from "../answers/picture-options.ts";
import { withExamples } from "../program/help.ts";
import type { TopFlags } from "../top/run-top.ts";
import { SORTS } from "../top/view.ts";

export function topCommand(): Command {
  const command = new Command("top").description(
    "Show nodes, what is requested of them, what they cost and what happens to them, live.",
  );
  pictureOptions(command)
    .optionsGroup("What to show:")
    .addOption(new Option("--sort <by>", "order of the nodes").choices(SORTS).default("pool"))
    .option("--filter <text>", "nodes whose name, pool, type, zone or state contains it")
    .option("--interval <duration>", "time between two readings", "5s")
    .optionsGroup("Output:")
    .option("--once", "print one picture and end; so it is without a terminal, too")
    .option("--ascii", "bars and marks of ASCII characters")
    .addOption(outputOption())
    .allowExcessArguments(false)
    .action(async (flags: TopFlags) => {
      // Loaded when wanted, so that help and refused flags answer at once.
      const { runTop } = await import("../top/run-top.ts");
      await runTop(flags);
    });
  return withExamples(
    command,
    ["karpenter top", "the current cluster, whatever autoscaler runs there; q ends it"],
    ["karpenter top --once --sort price", "one picture for a log, the dearest nodes first"],
  );
}
