/** How `--help` looks: terms in a column of limited width, text wrapped at the terminal's width, examples at the end. */
import type { Command, Help, HelpConfiguration } from "commander";

/** Widest column of flags, at most a third of the line; a longer flag has its description on the lines below it. */
const MOST_TERM = 34;
const INDENT = "  ";
/** Width of the help if there is no terminal. */
const DEFAULT_WIDTH = 80;

/** Style for `Command.configureHelp`. Subcommands inherit it. */
export const HELP_STYLE: HelpConfiguration = { formatItem, minWidthToWrap: 20 };

/** A command line, and what it does. Each command has at least two examples. */
export type Example = readonly [line: string, does: string];

/** Appends the examples to the command's help. */
export function withExamples(
  command: Command,
  ...examples: readonly [Example, Example, ...Example[]]
): Command {
  const lines = examples.flatMap(([line, does]) => [`${INDENT}# ${does}`, `${INDENT}${line}`]);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}

function formatItem(term: string, termWidth: number, description: string, helper: Help): string {
  if (description === "") return `${INDENT}${term}`;
  const width = helper.helpWidth ?? DEFAULT_WIDTH;
  const column = Math.min(termWidth, MOST_TERM, Math.floor(width / 3)) + INDENT.length;
  const text = helper.boxWrap(description, width - column - INDENT.length);
  const indented = text.replaceAll("\n", `\n${INDENT}${" ".repeat(column)}`);
  const begin =
    term.length <= column - INDENT.length
      ? `${INDENT}${term.padEnd(column)}`
      : `${INDENT}${term}\n${INDENT}${" ".repeat(column)}`;
  return `${begin}${indented}`;
}
