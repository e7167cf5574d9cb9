/**
 * `karpenter sandbox`: a simulated cluster on this machine's clock, for kubectl; or with `--scenario` a scripted
 * scenario on virtual time.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { isAwsRegion } from "../program/aws-region.ts";
import { CliError } from "../program/cli-error.ts";
import { withExamples } from "../program/help.ts";
import { DEFAULT_KUBECONFIG, type SandboxFlags } from "../sandbox/sandbox-flags.ts";

/** The command `karpenter sandbox`. */
export function sandboxCommand(): Command {
  const command = new Command("sandbox")
    .description(
      "Run a cluster in a box: Kubernetes API, scheduler, kubelets, EC2 and Karpenter in one process.",
    )
    .optionsGroup("Where it answers:")
    .option("--kubeconfig <file>", "where to write the kubeconfig", DEFAULT_KUBECONFIG)
    .option(
      "--port <n>",
      "port of the Kubernetes API on 127.0.0.1; 0 = any free port",
      wholeNumber(0, 65_535),
      0,
    )
    .optionsGroup("Time and chance:")
    .option(
      "--speed <n>",
      "simulated seconds per real second; 1 gives the timings a user would see (a node is ready about 35 s after launch)",
      speed,
      1,
    )
    .option(
      "--seed <n>",
      "seed of names, prices and spot pools",
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
      1,
    )
    .optionsGroup("The cluster:")
    .addOption(
      new Option("--provider <name>", "which cloud").choices(["aws", "kwok"]).default("aws"),
    )
    .option("--cluster-name <name>", "name of the cluster", name, "karpenter-demo")
    .option("--region <name>", "AWS region", region, "us-west-2")
    .option(
      "--kubernetes-version <version>",
      "what the API reports, from 1.26 to 1.37; AMI paths follow it",
      kubernetesVersion,
      "1.34",
    )
    .addOption(
      new Option(
        "--generations <which>",
        "kinds to serve: all, or all but v1alpha5 (as from v0.33 on)",
      )
        .choices(["all", "beta-only"])
        .default("all"),
    )
    .option(
      "--dra",
      "machines publish their GPUs and EFA interfaces as ResourceSlices, for pods with ResourceClaims",
    )
    .option(
      "--kube-scheduler-config <file>",
      "configuration of the simulated kube-scheduler: profiles by schedulerName, default topology spread",
    )
    .allowExcessArguments(false)
    .action(sandbox);
  return withExamples(
    storyOptions(command),
    ["karpenter sandbox --speed 10", "a cluster for kubectl, at ten times real speed"],
    ["karpenter sandbox --scenario story.yaml --seed 7", "a scripted story, on virtual time"],
  );
}

function storyOptions(command: Command): Command {
  return command
    .optionsGroup("What runs in it, and what is printed:")
    .option(
      "--scenario <file>",
      "play a story on virtual time; exit code 0 = all its checks passed, 1 = some failed",
    )
    .option("--html <file>", "write the played story as a page with a slider through its time")
    .option(
      "--setting <name=value...>",
      "settings of the controller by flag name, such as consolidation-repack=false",
    )
    .addOption(
      new Option("--output <format>", "text, or one line of JSON for each event")
        .choices(["text", "json"])
        .default("text"),
    )
    .addOption(
      new Option(
        "--log-level <level>",
        "level of Karpenter's log (kubectl -n karpenter logs karpenter-0)",
      )
        .choices(["debug", "info", "error"])
        .default("debug"),
    );
}

/** Loaded only when needed, so that help and wrong flags are answered quickly. */
async function sandbox(flags: SandboxFlags): Promise<void> {
  if (flags.scenario === undefined) {
    if (flags.html !== undefined)
      throw new CliError("--html: writes the page of a story, and needs --scenario FILE");
    const { runSandbox } = await import("../sandbox/run-sandbox.ts");
    await runSandbox(flags);
  } else {
    const { playScenario } = await import("../sandbox/play-scenario.ts");
    process.exitCode = await playScenario({ ...flags, scenario: flags.scenario });
  }
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

function speed(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 10_000))
    throw new InvalidArgumentError("must be above 0, at most 10000.");
  return value;
}

function name(text: string): string {
  if (!/^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$/.test(text)) {
    throw new InvalidArgumentError(
      "must be letters, digits, - or _, beginning with a letter or digit.",
    );
  }
  return text;
}

function region(text: string): string {
  if (!isAwsRegion(text))
    throw new InvalidArgumentError("must be a region of AWS such as eu-west-1.");
  return text;
}

/** What upstream's AWS provider supports (pkg/providers/version, v1.15): minor versions of Kubernetes 1. */
const LEAST_MINOR = 26;
const MOST_MINOR = 37;

function kubernetesVersion(text: string): string {
  const minor = Number(/^v?1\.(\d{1,2})(?:\.\d+)?$/.exec(text)?.[1] ?? "0");
  if (minor < LEAST_MINOR || minor > MOST_MINOR)
    throw new InvalidArgumentError(
      `must be a version from 1.${LEAST_MINOR} to 1.${MOST_MINOR}, such as 1.34.`,
    );
  return `1.${minor}`;
}
