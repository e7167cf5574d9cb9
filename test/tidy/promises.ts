/**
 * Finds promises without an owner where the linter does not know the types, which is so for packages and for Node.
 * It looks for a statement that ends in `.then(…)` with one handler, or that calls an export of `node:…/promises`.
 */
import type { SourceFile } from "./sources.ts";

/** One complaint, with its remedy, for each promise without an owner. */
export function ownerlessPromises(file: SourceFile): string[] {
  const text = withoutComments(file.text);
  return [...thenStatements(text), ...calledPromises(text)].map((at) => {
    const line = text.slice(0, at).split("\n").length;
    return `${file.path}:${line}: nobody hears when this promise rejects; await it, return it, catch it, or give it to mustNotFail`;
  });
}

/** Positions of `.then(` with one handler at the end of a statement that begins with the promise itself. */
function thenStatements(text: string): number[] {
  return [...text.matchAll(/\.then\(/g)]
    .map(({ index }) => index)
    .filter((at) => {
      const open = at + ".then(".length;
      const end = closing(text, open);
      const isLast = /^\s*(;|\n\s*[})]|\.then\()/.test(text.slice(end + 1));
      return isLast && handlers(text.slice(open, end)) < 2 && isBegun(text.slice(0, at));
    });
}

function calledPromises(text: string): number[] {
  const imports = text.matchAll(/import \{([^}]*)\} from "node:[\w/]+\/promises"/g);
  const names = [...imports].flatMap((found) =>
    (found[1] ?? "").split(",").flatMap((one) => /(\w+)\s*$/.exec(one)?.[1] ?? []),
  );
  return names.flatMap((name) =>
    [...text.matchAll(new RegExp(`^[ \\t]*${name}\\(`, "gm"))]
      .map(({ index }) => index)
      .filter((at) => isBegun(text.slice(0, at))),
  );
}

/** Whether the expression that ends here begins its statement, so that nothing uses its value. */
function isBegun(before: string): boolean {
  let depth = 0;
  for (let at = before.length - 1; at >= 0; at--) {
    const char = before[at] as string;
    if (")]}".includes(char)) depth++;
    else if ("([{".includes(char)) {
      if (depth === 0) return char === "{" && isStatement(before.slice(at + 1));
      depth--;
      // Only the text after the previous statement belongs to the current expression.
    } else if (depth === 0 && char === ";") return isStatement(before.slice(at + 1));
  }
  return isStatement(before);
}

function isStatement(expression: string): boolean {
  return !/\b(return|await|yield|throw|const|let|export|import|for|type)\b|[^=!<>]=(?!=)|=>|[?:,]|&&|\|\|/.test(
    lastLines(expression),
  );
}

/** The text after the last block or blank line: an earlier `if (…) { … }` is no part of the expression. */
function lastLines(expression: string): string {
  return (
    expression
      .slice(expression.search(/\S/))
      .split(/\}\s*\n|\n\s*\n/)
      .at(-1) ?? ""
  );
}

/** Index of the bracket that closes the one at `open`. */
function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if ("([{".includes(text[at] as string)) depth++;
    else if (")]}".includes(text[at] as string) && depth-- === 0) return at;
  }
  return text.length;
}

/** Number of arguments of a call. */
function handlers(args: string): number {
  let depth = 0;
  let commas = 0;
  for (const char of args.trim().replace(/,$/, "")) {
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    else if (char === "," && depth === 0) commas++;
  }
  return commas + 1;
}

function withoutComments(text: string): string {
  const blank = (found: string): string => found.replace(/[^\n]/g, " ");
  return text.replace(/\/\*[\s\S]*?\*\//g, blank).replace(/(^|\s)\/\/.*$/gm, blank);
}
