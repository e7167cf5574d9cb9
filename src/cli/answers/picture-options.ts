/** The flags of commands that look at a cluster, live or in files, without changing it. */
import { type Command, Option } from "commander";

export function pictureOptions(command: Command): Command {
  return command
    .optionsGroup("Input:")
    .option("-f, --filename <path...>", "objects: files, folders, or - for standard input")
    .option(
      "--cluster",
      "read the current cluster, of KUBECONFIG, as without files; with files they come on top",
    )
    .optionsGroup("What Karpenter knows:")
    .option("--instance-types <file>", "what can be launched, as JSON; default: AWS")
    .option(
      "--region <name>",
      "AWS region; default: that of a running Karpenter, or what zones in the input say, else us-east-1; counts for nothing with --instance-types",
    )
    .option("--setting <name=value...>", "settings as the controller has them, by flag name")
    .option("--at <time>", "as if it were then (RFC 3339); default: now, of the cluster if asked");
}

export function outputOption(): Option {
  return new Option("-o, --output <format>", "for people or for programs")
    .choices(["text", "json", "yaml"])
    .default("text");
}
