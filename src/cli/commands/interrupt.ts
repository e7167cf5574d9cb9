/**
 * `karpenter interrupt`, also installed as `ec2-spot-interrupter` with that tool's flags. It interrupts spot
 * instances: a rebalance recommendation first, the notice after a delay, and the end two minutes later.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { durationHint, parseDuration } from "../../base/duration.ts";
import type { InterruptFlags } from "../interrupt/run-interrupt.ts";
import { withExamples } from "../program/help.ts";

/** `karpenter interrupt`, also the program `ec2-spot-interrupter`. */
export function interruptCommand(name = "interrupt"): Command {
  const command = new Command(name)
    .description("Interrupt spot instances of a sandbox, as EC2 does: two minutes after a notice.")
    .optionsGroup("Which instances, and when:")
    .addOption(
      new Option(
        "--instance-ids <ids...>",
        "spot instances, separated by comma or space",
      ).argParser(idList),
    )
    .addOption(
      new Option("-d, --delay <duration>", "from the rebalance recommendation to the notice")
        .argParser(delay)
        .default(15_000, "15s"),
    )
    .option("-i, --interactive", "choose the instances from a list", false)
    .addOption(
      new Option("-c, --clean [bool]", "delete the experiment's template afterwards")
        .choices(["true", "false"])
        .preset("true")
        .default("true"),
    )
    .optionsGroup("Where:")
    .addHelpOption(new Option("-h, --help", "display help for command").helpGroup("Where:"))
    .option("-r, --region <name>", "AWS region", process.env["AWS_DEFAULT_REGION"] ?? "us-west-2")
    .option(
      "--endpoint-url <url>",
      "where the sandbox's AWS answers; default: AWS_ENDPOINT_URL",
      process.env["AWS_ENDPOINT_URL"] ?? "",
    )
    .optionsGroup("Accepted, but not acted on:")
    .option("-p, --profile <name>", "accepted for scripts; a sandbox asks for no credentials")
    .allowExcessArguments(false)
    .action(async (flags: InterruptFlags) => {
      const { runInterrupt } = await import("../interrupt/run-interrupt.ts");
      await runInterrupt(flags);
    });
  const called = name === "interrupt" ? "karpenter interrupt" : name;
  return withExamples(
    command,
    [
      `${called} --instance-ids i-0123456789abcdef0`,
      "interrupt this instance, with the notice after 15 s",
    ],
    [`${called} --interactive --delay 2m`, "choose from a list, with the notice after 2 minutes"],
  );
}

/** Joins ids from several arguments and repeated flags. */
function idList(text: string, before: readonly string[] = []): readonly string[] {
  const ids = text.split(/[,\s]+/).filter((id) => id !== "");
  const wrong = ids.find((id) => !/^i-[0-9a-f]{8,17}$/.test(id));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(
      `${JSON.stringify(wrong)} is not an instance id: give ids like i-0123456789abcdef0, from \`aws ec2 describe-instances\`, or choose with -i.`,
    );
  }
  return [...new Set([...before, ...ids])];
}

/** Longest delay in milliseconds. FIS allows 2 to 15 minutes in total, and the last two are the notice. */
const LONGEST_DELAY_MS = 780_000;

function delay(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 0 || ms > LONGEST_DELAY_MS || ms % 1_000 !== 0) {
    throw new InvalidArgumentError(
      durationHint(text) ?? "must be whole seconds from 0s to 13m, such as 15s.",
    );
  }
  return ms;
}
