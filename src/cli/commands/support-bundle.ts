/** `karpenter support-bundle`: writes files with which others can help with a problem. */
import { Command } from "commander";
import type { BundleFlags } from "../bundle/run-bundle.ts";
import { withExamples } from "../program/help.ts";

/** The command `karpenter support-bundle`. */
export function supportBundleCommand(): Command {
  const command = new Command("support-bundle")
    .description(
      "Write objects, events, versions and metrics to a folder, without secrets, for whoever is to help.",
    )
    .optionsGroup("Input:")
    .option("-n, --namespace <name>", "where the controller runs", "karpenter")
    .optionsGroup("Output:")
    .option("--out <folder>", "a new folder (default: karpenter-support-TIME here)")
    .allowExcessArguments(false)
    .action(async (flags: BundleFlags) => {
      const { runBundle } = await import("../bundle/run-bundle.ts");
      await runBundle(flags);
    });
  return withExamples(
    command,
    ["karpenter support-bundle", "a folder here, whose name has the time"],
    ["karpenter support-bundle --out bundle", "then: tar czf bundle.tar.gz bundle"],
    ["karpenter support-bundle -n kube-system --out bundle", "a controller in kube-system"],
  );
}
