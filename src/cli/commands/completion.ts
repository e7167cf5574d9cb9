/** `karpenter completion`: prints the script that completes karpenter's command lines in a shell. */
import { Argument, Command } from "commander";
import { printedDocument } from "../../base/printable.ts";
import { SCRIPTS, SHELLS, type Shell } from "../completion/scripts.ts";
import { withExamples } from "../program/help.ts";
import { toStdout } from "../program/output.ts";

/** The command `karpenter completion`. */
export function completionCommand(): Command {
  const command = new Command("completion")
    .description("Print a script that lets a shell complete commands, flags and their values.")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .allowExcessArguments(false)
    .action((shell: Shell) => toStdout(printedDocument(SCRIPTS[shell])));
  return withExamples(
    command,
    ["source <(karpenter completion bash)", "in ~/.bashrc; for zsh in ~/.zshrc after compinit"],
    ["karpenter completion fish | source", "in ~/.config/fish/config.fish"],
  );
}
