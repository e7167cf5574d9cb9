/** `karpenter explain`: why a node is here and stays, why a pod waits, what a pool may lose and when. */
import { Command } from "commander";
import { outputOption, pictureOptions } from "../answers/picture-options.ts";
import type { ExplainFlags } from "../answers/run-explain.ts";

export function explainCommand(): Command {
  const command = new Command("explain")
    .description("Say why a node is here and is not removed, why a pod waits, what a pool allows.")
    .argument("<kind>", "node, nodeclaim, pod or nodepool; or kind/name")
    .argument("[name]", "name of the object")
    .option("-n, --namespace <name>", "namespace of a pod", "default");
  return pictureOptions(command)
    .addOption(outputOption())
    .allowExcessArguments(false)
    .action(async (kind: string, name: string | undefined, flags: ExplainFlags) => {
      // Loaded when wanted, so that help and refused flags answer at once.
      const { runExplain } = await import("../answers/run-explain.ts");
      await runExplain(name === undefined ? [kind] : [kind, name], flags);
    });
}
