/**
 * Completes command lines from commander's tree of commands: names, flags, the choices of an option, or a file. The
 * answer has cobra's format (cobra's completions.go): a line `word<TAB>description` for each candidate, then `:`
 * and a number. Our scripts for bash, zsh and fish read it, and so does kubectl, through
 * `kubectl_complete-karpenter` (kubectl's pkg/cmd/plugin/plugin_completion.go).
 */
import type { Argument, Command, Option } from "commander";
import {
  joined,
  type Printed,
  printable,
  printedDocument,
  printedLines,
} from "../../base/printable.ts";

/** The hidden command by which a shell asks. */
export const COMPLETE = "__complete";

/** The candidates for the last word of a command line. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Whether a file name is possible, too. */
  readonly files: boolean;
}

interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Words that are proposed for an argument that also accepts others. */
const SUGGESTED = new WeakMap<Argument, readonly string[]>();

/** Proposes words for an argument. */
export function suggesting(argument: Argument, words: readonly string[]): Argument {
  SUGGESTED.set(argument, words);
  return argument;
}

/** Completes the last of `words`, which may be empty. `words` begin after the program's name. */
export function complete(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? "";
  const line = readLine(program, words.slice(0, -1));
  const { pending, onlyArguments } = line;
  const joinedValue = /^(--[^=]+)=(.*)$/s.exec(current);
  if (joinedValue !== null && !onlyArguments) {
    const option = optionOf(line.command, joinedValue[1] as string);
    return option === undefined ? NOTHING : valuesOf(option, joinedValue[2] as string);
  }
  const mayEnd = pending?.optional === true || (pending?.variadic === true && line.values > 0);
  if (pending !== undefined && !(mayEnd && current.startsWith("-")))
    return valuesOf(pending, current);
  if (current.startsWith("-") && !onlyArguments) return flagsOf(line, current);
  return wordsOf(program, line, current);
}

/** The answer in cobra's format. */
export function completionText({ candidates, files }: Completion): Printed {
  const lines = candidates.map(({ word, about }) =>
    printedDocument(
      about === "" ? `${printable(word)}\n` : `${printable(word)}\t${printable(about)}\n`,
    ),
  );
  return joined([...lines, printedLines([`:${files ? FILES_TOO : NO_FILES}`])]);
}

/** cobra's ShellCompDirectiveDefault: the shell also completes files. */
const FILES_TOO = 0;
/** cobra's ShellCompDirectiveNoFileComp: no files. */
const NO_FILES = 4;

const NOTHING: Completion = { candidates: [], files: false };

/** What the words before the last one mean. */
interface Line {
  readonly command: Command;
  /** The option whose value is expected next. */
  readonly pending: Option | undefined;
  /** Number of values that `pending` already has. */
  readonly values: number;
  readonly used: ReadonlySet<Option>;
  /** Number of the command's arguments so far. */
  readonly position: number;
  /** Whether only arguments may follow, because `--` came before. */
  readonly onlyArguments: boolean;
}

function readLine(program: Command, words: readonly string[]): Line {
  const used = new Set<Option>();
  let line: Line = {
    command: program,
    pending: undefined,
    values: 0,
    used,
    position: 0,
    onlyArguments: false,
  };
  for (const word of words) line = afterWord(line, word, used);
  return line;
}

function afterWord(line: Line, word: string, used: Set<Option>): Line {
  const { command, pending, onlyArguments, position } = line;
  const mustBeValue = pending?.required === true && line.values === 0;
  if (!onlyArguments && !mustBeValue && word === "--")
    return { ...line, pending: undefined, onlyArguments: true };
  if (!onlyArguments && !mustBeValue && word.startsWith("-") && word !== "-") {
    const option = optionOf(command, word.split("=", 1)[0] as string);
    if (option !== undefined) used.add(option);
    const isAlone = !(word.startsWith("--") && word.includes("="));
    const takes = option !== undefined && (option.required || option.optional) && isAlone;
    return { ...line, pending: takes ? option : undefined, values: 0 };
  }
  if (pending !== undefined)
    return pending.variadic
      ? { ...line, values: line.values + 1 }
      : { ...line, pending: undefined };
  const sub = position === 0 ? subcommand(command, word) : undefined;
  return sub === undefined ? { ...line, position: position + 1 } : { ...line, command: sub };
}

function subcommand(command: Command, word: string): Command | undefined {
  return command
    .createHelp()
    .visibleCommands(command)
    .find((one) => one.name() === word || one.aliases().includes(word));
}

function optionOf(command: Command, flag: string): Option | undefined {
  return visibleOptions(command).find(({ long, short }) => long === flag || short === flag);
}

function visibleOptions(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

/** Names of arguments that are files. */
const FILE_NAMES = /<(?:file|path)(?:\.\.\.)?>$/;

function valuesOf(option: Option, current: string): Completion {
  return {
    candidates: beginning(current, (option.argChoices ?? []).map(bare)),
    files: FILE_NAMES.test(option.flags),
  };
}

function flagsOf({ command, used }: Line, current: string): Completion {
  const flags = visibleOptions(command)
    .filter((option) => option.variadic || !used.has(option))
    .flatMap(({ long, short, description }) =>
      [long, short].flatMap((flag) => (flag == null ? [] : [{ word: flag, about: description }])),
    );
  return { candidates: beginning(current, flags), files: false };
}

function wordsOf(program: Command, { command, position }: Line, current: string): Completion {
  const commands = position === 0 ? commandsOf(command) : [];
  const all = command.registeredArguments;
  const argument = all[position] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
  const known =
    argument === undefined ? [] : (argument.argChoices ?? SUGGESTED.get(argument) ?? []);
  // The argument of commander's own command `help`.
  const topics = argument?.name() === "command" ? commandsOf(program) : [];
  return {
    candidates: beginning(current, [...commands, ...known.map(bare), ...topics]),
    files: argument !== undefined && /^(?:file|path)$/.test(argument.name()),
  };
}

function commandsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ word: one.name(), about: one.summary() || one.description() }));
}

function bare(word: string): Candidate {
  return { word, about: "" };
}

function beginning(current: string, all: readonly Candidate[]): readonly Candidate[] {
  return all.filter(({ word }) => word.startsWith(current));
}
