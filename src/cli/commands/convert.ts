/**
 * `karpenter convert`, also installed as `karpenter-convert` with that tool's flags. It converts Provisioners and
 * AWSNodeTemplates in files to NodePools and EC2NodeClasses. It needs no cluster.
 */
import { Command, Option } from "commander";
import type { ConvertFlags } from "../convert/run-convert.ts";
import { withExamples } from "../program/help.ts";

/** `karpenter convert`, also the program `karpenter-convert`. */
export function convertCommand(name = "convert"): Command {
  const command = new Command(name)
    .description(
      "Convert v1alpha5 Provisioner and v1alpha1 AWSNodeTemplate manifests to v1beta1, or with --to v1 to v1; YAML on standard output.",
    )
    .optionsGroup("Input:")
    .option("-f, --filename <file...>", "file, directory, URL or - (standard input)")
    .option("-R, --recursive", "descend into directories", false)
    .optionsGroup("Output:")
    .option("--ignore-defaults", "do not add the requirements that v1alpha5 adds by default", false)
    .addOption(
      new Option("-o, --output <format>", "how to print")
        .choices(["yaml", "json", "name"])
        .default("yaml"),
    )
    .addOption(
      new Option(
        "--to <version>",
        "API version to write; with v1, v1beta1 manifests are accepted too",
      )
        .choices(["v1beta1", "v1"])
        .default("v1beta1"),
    )
    .allowExcessArguments(false)
    .action(async (flags: ConvertFlags) => {
      const { runConvert } = await import("../convert/run-convert.ts");
      await runConvert(flags);
    });
  const called = name === "convert" ? "karpenter convert" : name;
  return withExamples(
    command,
    [`${called} -f provisioner.yaml > nodepool.yaml`, "v1alpha5 to v1beta1"],
    [`${called} -R -f manifests/ --to v1`, "a folder of v1alpha5 and v1beta1 to v1"],
  );
}
