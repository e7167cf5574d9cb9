/**
 * The flags of a script. `--help` prints the script's first comment, which is its manual. A wrong flag is answered with a
 * sentence and that manual, not with a stack trace.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type ParseArgsConfig, parseArgs } from "node:util";

/** Like `parseArgs`. `script`: the script's `import.meta.url`. Ends the process after help (0) and errors (2). */
export function scriptFlags<T extends ParseArgsConfig>(
  script: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  const given = config.args ?? process.argv.slice(2);
  const ours = given.slice(0, given.includes("--") ? given.indexOf("--") : undefined);
  const manual = manualIn(readFileSync(fileURLToPath(script), "utf8"));
  if (ours.includes("--help")) {
    process.stdout.write(manual);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${manual}`);
    process.exit(2);
  }
}

/** The text of the first comment of a source file, without its marks. */
export function manualIn(source: string): string {
  const [comment = ""] = /\/\*\*[\s\S]*?\*\//.exec(source) ?? [];
  const lines = comment
    .replace(/^\/\*\*\s?/, "")
    .replace(/\s*\*\/$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""));
  return `${lines.join("\n").trim()}\n`;
}
