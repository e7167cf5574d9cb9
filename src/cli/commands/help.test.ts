import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import type { OptionDefinition } from "../../operator/settings/option-definition.ts";
import {
  NOT_ACTED_ON_GROUP,
  OPTION_GROUPS,
  OTHER_GROUP,
  optionGroup,
} from "../../operator/settings/option-groups.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { HELP_STYLE } from "../program/help.ts";
import { completionCommand } from "./completion.ts";
import { controllerCommand } from "./controller.ts";
import { convertCommand } from "./convert.ts";
import { doctorCommand } from "./doctor.ts";
import { explainCommand } from "./explain.ts";
import { interruptCommand } from "./interrupt.ts";
import { fromAutoscalerCommand, handoverCommand, migrateCheckCommand } from "./migrate.ts";
import { planCommand } from "./plan.ts";
import { sandboxCommand } from "./sandbox.ts";
import { simulateCommand } from "./simulate.ts";
import { supportBundleCommand } from "./support-bundle.ts";

const COMMANDS = [
  completionCommand,
  controllerCommand,
  convertCommand,
  doctorCommand,
  explainCommand,
  fromAutoscalerCommand,
  handoverCommand,
  interruptCommand,
  migrateCheckCommand,
  planCommand,
  sandboxCommand,
  simulateCommand,
  supportBundleCommand,
];

function helpOf(command: Command, width: number): string {
  let text = "";
  command.configureHelp(HELP_STYLE).configureOutput({
    writeOut: (part) => {
      text += part;
    },
    getOutHelpWidth: () => width,
  });
  command.outputHelp();
  return text;
}

describe("karpenter controller --help", () => {
  it.each(COMMANDS.map((make) => [make().name(), make] as const))(
    "of %s wraps at the terminal's width, in groups",
    (_, make) => {
      for (const width of [72, 100, 140]) {
        const lines = helpOf(make(), width).split("\n");
        const examples = lines.indexOf("Examples:");
        expect(lines.slice(0, examples).filter((line) => line.length > width)).toEqual([]);
      }
      const groups = helpOf(make(), 100).match(/^[A-Z].*:$/gm) ?? [];
      expect(groups.length).toBeGreaterThan(2);
    },
  );

  it.each(COMMANDS.map((make) => [make().name(), make] as const))(
    "of %s has two examples at least, of flags that the command has",
    (name, make) => {
      const text = helpOf(make(), 100);
      const lines = text.slice(text.indexOf("Examples:")).match(/karpenter [\w-]+ .*$/gm) ?? [];
      expect(lines.length).toBeGreaterThanOrEqual(2);
      for (const line of lines) {
        const [, command, ...words] = line
          .replace(/ [>|] .*$/, "")
          .replace("karpenter migrate ", "karpenter ")
          .split(/ +/);
        expect(command).toBe(name);
        const parsed = make().exitOverride().parseOptions(words);
        expect(parsed.unknown).toEqual([]);
      }
    },
  );

  it("has every setting in a group, and settings without effect last", () => {
    const options = Object.values<OptionDefinition>(OPTIONS);
    const strays = options.filter((option) => optionGroup(option) === OTHER_GROUP);
    expect(strays.map(({ flag }) => `--${flag}: give it a group in option-groups.ts`)).toEqual([]);
    expect(OPTION_GROUPS.at(-1)).toBe(NOT_ACTED_ON_GROUP);
    const text = helpOf(controllerCommand(), 100);
    const last = text.slice(text.indexOf(`${NOT_ACTED_ON_GROUP}:`), text.indexOf("Examples:"));
    for (const { flag, notActedOn } of options)
      if (notActedOn !== undefined && !flag.endsWith("feature-gates"))
        expect(last).toContain(`--${flag} `);
    expect(last.match(/^[A-Z].*:$/gm)).toHaveLength(1);
  });
});
