/**
 * Finds exports that nobody needs. A value is unneeded if no other file imports it, or if only tests do and its
 * comment does not say so. A type is unneeded if no other file imports it and no exported declaration of its own
 * file names it.
 */
import type { SourceFile } from "./sources.ts";

interface Declaration {
  readonly name: string;
  readonly isType: boolean;
  readonly isExported: boolean;
  /** The source from its first line to the next declaration. */
  readonly text: string;
  /** The comment above it; empty if there is none. */
  readonly comment: string;
}

/** One complaint, with its remedy, for each export that can be removed. */
export function unusedExports(files: readonly SourceFile[]): string[] {
  const takers = takersOf(files);
  return files.flatMap((file) => {
    const declared = declarationsOf(file.text);
    return declared
      .filter((one) => one.isExported)
      .flatMap((one) => {
        const by = [one.name, "*"].flatMap((name) => takers.get(`${file.path}#${name}`) ?? []);
        const fault = faultOf(one, declared, file, by);
        return fault === undefined ? [] : [`${file.path}: ${one.name}: ${fault}`];
      });
  });
}

function faultOf(
  one: Declaration,
  declared: readonly Declaration[],
  file: SourceFile,
  by: readonly SourceFile[],
): string | undefined {
  if (by.length === 0) {
    const named = new RegExp(`\\b${one.name}\\b`);
    const isPartOfOthers = declared.some(
      (other) => other !== one && other.isExported && named.test(other.text),
    );
    return one.isType && isPartOfOthers ? undefined : "nobody takes it; do not export it";
  }
  if (one.isType || !file.path.startsWith("src/") || isOfTests(file) || !by.every(isOfTests))
    return undefined;
  return /\btests?\b/i.test(one.comment)
    ? undefined
    : "tests alone take it; test through what the product takes, or say `for tests` above it";
}

/** `path#name` → the files that import it. */
function takersOf(files: readonly SourceFile[]): ReadonlyMap<string, readonly SourceFile[]> {
  const takers = new Map<string, SourceFile[]>();
  for (const file of files)
    for (const [path, names] of file.taken)
      for (const name of names) {
        const key = `${path}#${name}`;
        takers.set(key, [...(takers.get(key) ?? []), file]);
      }
  return takers;
}

function isOfTests(file: SourceFile): boolean {
  return file.isTest || file.path.startsWith("test/");
}

function declarationsOf(text: string): Declaration[] {
  const starts = [
    ...text.matchAll(/^(export )?(?:async )?(function\*?|const|let|class|interface|type) (\w+)/gm),
  ];
  return starts.map((start, index) => {
    const before = text.slice(starts[index - 1]?.index ?? 0, start.index);
    return {
      name: start[3] as string,
      isType: start[2] === "interface" || start[2] === "type",
      isExported: start[1] !== undefined,
      text: text.slice(start.index, starts[index + 1]?.index),
      comment: /(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/|(?:\/\/.*\n)+)\n?$/.exec(before)?.[0] ?? "",
    };
  });
}
