/** `karpenter controller`: the operator against a cluster that it did not bring itself. */
import { Command, Option } from "commander";
import { OPTIONS, type OptionDefinition } from "../../operator/settings/options.ts";
import { meaningOf } from "../../operator/settings/settings-page.ts";

export function controllerCommand(): Command {
  const command = new Command("controller")
    .description(
      "Run the controllers against a cluster: KUBECONFIG, the pod's own service account, or ~/.kube/config.",
    )
    .addOption(
      new Option("--provider <name>", "which cloud").choices(["aws", "kwok"]).default("aws"),
    )
    .allowExcessArguments(false);
  for (const option of Object.values<OptionDefinition>(OPTIONS)) {
    const fallback = option.default === "" ? "" : ` (default: ${option.default})`;
    command.option(
      `--${option.flag} <value>`,
      `${meaningOf(option)} Also ${option.env}.${fallback}`,
    );
  }
  return command.action(async (flags: Readonly<Record<string, string>>) => {
    // Loaded when wanted, so that help and refused flags answer at once.
    const { runController } = await import("../controller/run-controller.ts");
    await runController(flags["provider"] === "kwok" ? "kwok" : "aws", byFlagName(flags));
  });
}

/** Commander names flags in camel case; the table goes by the flag itself. */
function byFlagName(flags: Readonly<Record<string, string>>): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { flag } of Object.values<OptionDefinition>(OPTIONS)) {
    const value = flags[flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) given[flag] = value;
  }
  return given;
}
