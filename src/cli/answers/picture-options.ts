/** Flags of commands that read a cluster, live or from files, without changing it. */
import { type Command, Option } from "commander";
import { REPORT_FORMATS, type ReportFormat } from "../report/format-names.ts";

/** Adds the options that say where objects, settings and prices come from. */
export function pictureOptions(command: Command): Command {
  return command
    .optionsGroup("Input:")
    .option("-f, --filename <path...>", "objects: files, folders, or - for standard input")
    .option(
      "--cluster",
      "read the current cluster of KUBECONFIG, the default without files; files are added to it",
    )
    .optionsGroup("What Karpenter knows:")
    .option("--instance-types <file>", "instance types as JSON; default: AWS's catalogue")
    .option(
      "--region <name>",
      "AWS region; default: that of a running Karpenter, else of zones in the input, else us-east-1; has no effect with --instance-types",
    )
    .option("--setting <name=value...>", "settings of the controller, by flag name")
    .option(
      "--at <time>",
      "answer as of this time (RFC 3339); default: now, by the cluster's clock with --cluster",
    );
}

/** The output formats of answers. */
export type AnswerFormat = "text" | "json" | "yaml" | ReportFormat;

/** The option `-o` of `explain` and `simulate`. */
export function answerOption(): Option {
  return new Option(
    "-o, --output <format>",
    "text; json, yaml: for programs; markdown: a comment; html: a page in one file; svg: its picture",
  )
    .choices(["text", "json", "yaml", ...REPORT_FORMATS])
    .default("text");
}

/** The option `-o` of `karpenter top`. */
export function outputOption(): Option {
  return new Option("-o, --output <format>", "text for people; json or yaml for programs")
    .choices(["text", "json", "yaml"])
    .default("text");
}
