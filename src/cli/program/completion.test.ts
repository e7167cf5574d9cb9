import { Argument, Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { complete, completionText, suggesting } from "./completion.ts";

const program = new Command("tool").version("1.0.0");
program
  .command("play <file>")
  .description("Play a story.")
  .option("-f, --filename <path...>", "files to read")
  .addOption(new Option("-o, --output <format>", "form").choices(["text", "json"]))
  .addOption(new Option("-c, --clean [bool]", "clean").choices(["true", "false"]))
  .addOption(new Option("--secret", "not shown").hideHelp())
  .option("--zone <zone>", "one zone");
program
  .command("why")
  .addArgument(suggesting(new Argument("<kind>", "of what"), ["node", "nodepool", "pod"]));
program.command("inner", { hidden: true });

function offered(...words: readonly string[]): string {
  const { candidates, files } = complete(program, words);
  return [...candidates.map(({ word }) => word), ...(files ? ["FILES"] : [])].join(" ");
}

describe("shell completion", () => {
  it.each([
    [[""], "play why help"],
    [["wh"], "why"],
    [["help", "p"], "play"],
    [["--v"], "--version"],
    [["play", ""], "FILES"],
    [["play", "-"], "--filename -f --output -o --clean -c --zone --help -h"],
    [["play", "-o", ""], "text json"],
    [["play", "-o", "json", "--o"], ""],
    [["play", "--output=j"], "json"],
    [["play", "--filename=j"], "FILES"],
    [["play", "-f", "a", "b"], "FILES"],
    [["play", "-f", "a", "--z"], "--zone"],
    [["play", "-f", "a", "-f", ""], "FILES"],
    [["play", "--zone", ""], ""],
    [["play", "--zone", "-o", ""], "FILES"],
    [["play", "--clean", ""], "true false"],
    [["play", "--clean", "--out"], "--output"],
    [["play", "--nothing=x"], ""],
    [["play", "one", ""], ""],
    [["play", "--", "--o"], "FILES"],
    [["why", "node"], "node nodepool"],
    [["why", "pod", ""], ""],
  ] as const)("offers for %j: %j", (words, expected) => {
    expect(offered(...words)).toBe(expected);
  });

  it("has cobra's format, and keeps a description on its line", () => {
    const candidates = [
      { word: "play", about: "Play\na story." },
      { word: "json", about: "" },
    ];
    expect(completionText({ candidates, files: false })).toBe("play\tPlay\\na story.\njson\n:4\n");
    expect(completionText({ candidates: [], files: true })).toBe(":0\n");
  });
});
