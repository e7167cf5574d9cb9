/**
 * Measures how plain the comments are: long sentences, long lines, and exports without a comment. It scans lines,
 * so only comments at the beginning of a line count.
 */
import type { SourceFile } from "./sources.ts";

const MOST_WORDS = 25;
/** Maximum number of columns of a line of comment. The formatter wraps code at 100 and leaves comments unchanged. */
const LONGEST_LINE = 120;

/** One comment: a block, or `//` lines that follow each other. */
export function commentsOf({ text }: Pick<SourceFile, "text">): string[] {
  const found: string[] = [];
  let open: string[] | undefined;
  let isBlock = false;
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    if (open === undefined || !isBlock) {
      const isLine = trimmed.startsWith("//") && !trimmed.startsWith("//#");
      if (open !== undefined && !isLine) {
        found.push(open.join("\n"));
        open = undefined;
      }
      isBlock = /^\/\*\*?/.test(trimmed);
      if (isLine || isBlock) open ??= [];
    }
    if (open === undefined) continue;
    open.push(trimmed.replace(/^(\/\*\*?|\/\/|\*(?!\/))|\s*\*\/$|^\*\/$/g, ""));
    if (isBlock && trimmed.endsWith("*/")) {
      found.push(open.join("\n"));
      open = undefined;
      isBlock = false;
    }
  }
  return open === undefined ? found : [...found, open.join("\n")];
}

/** Sentences of more than {@link MOST_WORDS} words. Citations, tables and indented text do not count. */
export function longSentences(comment: string): string[] {
  const prose = comment
    .split("\n")
    .map((line) => (/^ {3,}|^\s*[|@]/.test(line) ? "." : line.replace(/\bupstream: .*$/, ".")))
    .join(" ");
  return prose
    .split(/[.!?:](?=\s)|[.!?:]$/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => wordsIn(sentence) > MOST_WORDS);
}

/** Lines of comments that are too long. Lines with a link do not count. */
export function longCommentLines({ text }: Pick<SourceFile, "text">): string[] {
  return text
    .split("\n")
    .filter((line) => line.length > LONGEST_LINE && /^\s*(\/\*\*|\*|\/\/)/.test(line))
    .filter((line) => !/https?:\/\//.test(line));
}

/** Names of exported functions without a comment right above them. */
export function silentExports(file: Pick<SourceFile, "text">): string[] {
  return exportsOf(file)
    .filter(({ kind, isTold }) => kind === "function" && !isTold)
    .map(({ name }) => name);
}

/** How many of the exported functions, values and types have a comment right above them, in percent. */
export function documentedPercent(files: readonly Pick<SourceFile, "text">[]): number {
  const found = files.flatMap(exportsOf);
  const told = found.filter(({ isTold }) => isTold).length;
  return found.length === 0 ? 100 : (100 * told) / found.length;
}

interface Exported {
  readonly kind: string;
  readonly name: string;
  readonly isTold: boolean;
}

function exportsOf({ text }: Pick<SourceFile, "text">): Exported[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const found =
      /^export (?:abstract )?(?:async )?(function|const|class|interface|type)\*? (\w+)/.exec(line);
    if (found === null) return [];
    const above = lines[at - 1]?.trim() ?? "";
    const isTold = above.endsWith("*/") || above.startsWith("//");
    return [{ kind: found[1] ?? "", name: found[2] ?? "", isTold }];
  });
}

function wordsIn(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;
}
