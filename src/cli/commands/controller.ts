/** `karpenter controller`: the operator for an existing cluster. */
import { Command, Option } from "commander";
import type { OptionDefinition } from "../../operator/settings/option-definition.ts";
import { OPTION_GROUPS, optionGroup } from "../../operator/settings/option-groups.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { meaningOf } from "../../operator/settings/settings-page.ts";
import { withExamples } from "../program/help.ts";

/** The command `karpenter controller`. */
export function controllerCommand(): Command {
  const command = new Command("controller")
    .description(
      "Run the controllers against a cluster: KUBECONFIG, the pod's own service account, or ~/.kube/config.",
    )
    .addOption(
      new Option("--provider <name>", "which cloud").choices(["aws", "kwok"]).default("aws"),
    )
    .allowExcessArguments(false);
  const options = Object.values<OptionDefinition>(OPTIONS);
  for (const group of OPTION_GROUPS) {
    command.optionsGroup(`${group}:`);
    for (const option of options.filter((one) => optionGroup(one) === group)) {
      const fallback =
        option.default === "" ? "" : ` (default: ${option.default.replaceAll(",", ", ")})`;
      command.option(
        `--${option.flag} <${option.type}>`,
        `${meaningOf(option)} Also ${option.env}.${fallback}`,
      );
    }
  }
  withExamples(
    command,
    [
      "karpenter controller --cluster-name prod --interruption-queue prod",
      "on AWS, with the cluster that KUBECONFIG names",
    ],
    [
      "karpenter controller --provider kwok --log-level debug",
      "with nodes that kwok simulates, and debug logs",
    ],
  );
  return command.action(async (flags: Readonly<Record<string, string>>) => {
    // Loaded only when needed, so that help and wrong flags are answered quickly.
    const { runController } = await import("../controller/run-controller.ts");
    await runController(flags["provider"] === "kwok" ? "kwok" : "aws", byFlagName(flags));
  });
}

/** Converts commander's camel-case keys to the flag names in the table of settings. */
function byFlagName(flags: Readonly<Record<string, string>>): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { flag } of Object.values<OptionDefinition>(OPTIONS)) {
    const value = flags[flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) given[flag] = value;
  }
  return given;
}
