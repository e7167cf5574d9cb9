/**
 * `karpenter explain`: why a node exists and is kept, why a pod is pending, and which nodes of a pool may be
 * disrupted when.
 */
import { Argument, Command } from "commander";
import { answerOption, pictureOptions } from "../answers/picture-options.ts";
import type { ExplainFlags } from "../answers/run-explain.ts";
import { suggesting } from "../program/completion.ts";
import { withExamples } from "../program/help.ts";

/** The command `karpenter explain`. */
export function explainCommand(): Command {
  const command = new Command("explain")
    .description(
      "Say why a node exists and is not removed, why a pod waits, and what a NodePool allows.",
    )
    .addArgument(
      suggesting(new Argument("<kind>", "node, nodeclaim, pod or nodepool; or kind/name"), [
        "node",
        "nodeclaim",
        "pod",
        "nodepool",
      ]),
    )
    .argument("[name]", "name of the object; without a name: all NodePools, one line each")
    .option("-n, --namespace <name>", "namespace of a pod", "default");
  pictureOptions(command)
    .optionsGroup("Output:")
    .addOption(answerOption())
    .allowExcessArguments(false)
    .action(async (kind: string, name: string | undefined, flags: ExplainFlags) => {
      // Loaded only when needed, so that help and wrong flags are answered quickly.
      const { runExplain } = await import("../answers/run-explain.ts");
      await runExplain(name === undefined ? [kind] : [kind, name], flags);
    });
  return withExamples(
    command,
    ["karpenter explain node ip-10-0-1-2.ec2.internal", "why it was launched, and why it stays"],
    [
      "karpenter explain pod web-7d9c5 -n shop",
      "why it waits; the first letters of a name list the pods",
    ],
    ["karpenter explain nodepool", "all NodePools, one line each"],
  );
}
