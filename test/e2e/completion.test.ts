/**
 * Completion in the real shells and in kubectl, with the built programs on PATH. Shells that are not installed are
 * skipped, and one line says so.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../programs.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAMS = ["karpenter", "kubectl-karpenter", "kubectl_complete-karpenter"];

let folder: string;

beforeAll(() => {
  if (!existsSync(join(ROOT, "dist/cli/main.js")))
    throw new Error("dist/ is missing: run `npx tsc -b` before this test");
  folder = mkdtempSync(join(tmpdir(), "karpenter-completion-"));
  mkdirSync(join(folder, "bin"));
  for (const name of PROGRAMS)
    symlinkSync(join(ROOT, "bin", `${name}.js`), join(folder, "bin", name));
  for (const file of ["pool one.yaml", "pools.yaml"]) writeFileSync(join(folder, file), "");
  // The scripts are written to files here, once. An interactive shell would run the command at each start.
  for (const shell of ["bash", "fish", "zsh"])
    writeFileSync(join(folder, `complete.${shell}`), run("karpenter", "completion", shell));
});

afterAll(() => rmSync(folder, { recursive: true }));

function run(program: string, ...args: readonly string[]): string {
  const path = `${join(folder, "bin")}${delimiter}${process.env["PATH"] ?? ""}`;
  return execFileSync(program, args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, PATH: path, HOME: folder },
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function lines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** A line to complete, and the words that are offered. */
const CASES: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ["karpenter exp", ["explain"]],
  ["karpenter completion ", ["bash", "fish", "zsh"]],
  ["karpenter plan --lower", ["--lower-bound"]],
  ["karpenter plan -o h", ["html"]],
  ["karpenter plan --output=h", ["html"]],
  ["karpenter explain nodep", ["nodepool"]],
  ["karpenter plan -f pool", ["pool one.yaml", "pools.yaml"]],
  ["karpenter plan --filename=pool", ["pool one.yaml", "pools.yaml"]],
  ["karpenter plan --nodepool-only pool", []],
];

/**
 * One case of each kind of completion: words, choices, files, nothing. `karpenter` gives every shell the same
 * words.
 */
const KINDS = CASES.filter(([line]) =>
  ["exp", "-o h", "--output=h", "-f pool", "-only pool"].some((end) => line.endsWith(end)),
);

/** Splits the line as readline does: at blanks, and `=` is a word of its own. */
const BASH = `
source complete.bash
COMP_LINE="$1"; COMP_POINT=\${#COMP_LINE}; COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_WORDS=(); for part in \${COMP_LINE//=/ = }; do COMP_WORDS+=("$part"); done
if [[ "$COMP_LINE" == *" " ]]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
__karpenter_complete 2>/dev/null
printf '%s\\n' "\${COMPREPLY[@]}"
`;

/** A zsh in a pseudo-terminal, whose completer prints the words that it would offer. */
const ZSH = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source complete.zsh'
zpty -w shell 'compadd() { local -a found; builtin compadd -O found "$@"; print -l -- $found >> "$HOME/offered"; builtin compadd "$@" }'
zpty -w shell 'tell() { zle complete-word; print done >> "$HOME/offered" }; zle -N tell; bindkey "^I" tell; print ready >> "$HOME/offered"'
until [[ -e $HOME/offered ]]; do zpty -r -t shell ignored || sleep 0.05; done
zpty -w -n shell "$1"$'\\t'
until [[ "$(tail -n 1 $HOME/offered)" == done ]]; do zpty -r -t shell ignored || sleep 0.05; done
zpty -d shell
grep -vxE 'ready|done' $HOME/offered
rm $HOME/offered
`;

describe("shell completion", () => {
  describe.skipIf(lacks("completion in bash", "bash"))("in bash", () => {
    it.each(CASES)("completes %j with %j", (line, offered) => {
      expect([...lines(run("bash", "--norc", "-c", BASH, "bash", line))].sort()).toEqual(offered);
    });
  });

  describe.skipIf(lacks("completion in zsh", "zsh"))("in zsh", () => {
    it.each(KINDS.filter(([, offered]) => offered.length > 0))(
      "of %j offers %j",
      { timeout: 30_000 },
      (line, offered) => {
        const told = new Set(lines(run("zsh", "-f", "-c", ZSH, "zsh", line)));
        expect([...told].sort()).toEqual(offered);
      },
    );
  });

  describe.skipIf(lacks("completion in fish", "fish"))("in fish", () => {
    it.each(KINDS)("completes %j with %j", (line, offered) => {
      const script = "source complete.fish; complete -C $argv[1]";
      const told = lines(run("fish", "--no-config", "-c", script, line))
        .map((one) => (one.split("\t", 1)[0] as string).replace(/^--[a-z]+=/, ""))
        .map((one) => one.replaceAll("\\ ", " "));
      expect([...told].sort()).toEqual(offered);
    });
  });
});

describe.skipIf(lacks("kubectl plug-in", "kubectl"))("kubectl karpenter", () => {
  it("runs the commands under its own name", () => {
    expect(run("kubectl", "karpenter", "--help")).toMatch(/^Usage: kubectl karpenter /);
    const manifest = JSON.parse(
      run("node", "-p", `JSON.stringify(require("${ROOT}/package.json"))`),
    );
    expect(run("kubectl", "karpenter", "--version").trim()).toBe(manifest.version);
  });

  it("completes commands and flags through kubectl's own completion", () => {
    const answer = lines(
      run("kubectl", "__complete", "karpenter", "plan", "--preference-policy", ""),
    );
    expect(answer).toEqual(["Respect", "Ignore", ":4"]);
  });
});
