/** `karpenter console`: a web page with the cluster, its cost and the reasons of decisions. */
import { Command, InvalidArgumentError } from "commander";
import type { ConsoleFlags } from "../console/run-console.ts";
import { withExamples } from "../program/help.ts";

/** The command `console` and its flags. */
export function consoleCommand(): Command {
  const command = new Command("console")
    .description(
      "Show the current cluster in a browser: nodes, costs, decisions, reasons. Read-only.",
    )
    .option("--port <n>", "port on 127.0.0.1; 0 = any that is free", port, 0)
    .allowExcessArguments(false)
    .action(async (flags: ConsoleFlags) => {
      // Loaded only when needed, so that help and wrong flags are answered quickly.
      const { runConsole } = await import("../console/run-console.ts");
      await runConsole(flags);
    });
  return withExamples(
    command,
    ["karpenter console", "the current kubeconfig context, whatever autoscaler runs there"],
    ["karpenter console --port 8080", "always at the same port"],
  );
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535)
    throw new InvalidArgumentError("must be a whole number from 0 to 65535.");
  return value;
}
