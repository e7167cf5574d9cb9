/** The `karpenter simulate …` command that asks the same as the page did, quoted for a POSIX shell. */
import type { Supposition } from "./source.ts";

/** The command. NodePools are in a here-document on standard input. */
export function commandLine(asked: Supposition): string {
  const { nodes, zones, consolidate, prices = [], scales = [], pools = "" } = asked;
  const hasPools = pools.trim() !== "";
  const words = [
    "karpenter simulate",
    ...option("--remove-node", nodes),
    ...option("--drain-zone", zones),
    ...(hasPools ? ["--nodepool-file -"] : []),
    ...option("--scale", scales),
    ...option("--price", prices),
    ...(consolidate ? ["--consolidate"] : []),
  ];
  const line = words.join(" ");
  if (!hasPools) return line;
  const lines = pools.replace(/\r\n?/g, "\n").replace(/\n*$/, "").split("\n");
  let end = "NODEPOOL";
  while (lines.includes(end)) end += "_";
  return `${line} <<'${end}'\n${lines.join("\n")}\n${end}\n`;
}

function option(name: string, values: readonly string[]): readonly string[] {
  return values.length === 0 ? [] : [`${name} ${values.map(quoted).join(" ")}`];
}

/** Quotes a word unless no shell would change it. */
export function quoted(word: string): string {
  return /^[\w.,:=@%+/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
