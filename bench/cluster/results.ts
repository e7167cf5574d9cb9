/**
 * Results of long benches, kept in a file with one JSON line each. So rows can be measured on different days and still
 * be in one table.
 */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname } from "node:path";

export interface Kept<R> {
  readonly row: string;
  readonly operator: string;
  /** When the run was made, and the load of the machine then. */
  readonly at: string;
  readonly load: number;
  readonly result: R;
}

export interface Results<R> {
  of(row: string, operator: string): readonly R[];
  /** Names of the rows, in the order of their first results. */
  rows(): readonly string[];
  add(row: string, operator: string, result: R): void;
}

/** Opens the kept results. `file` is created if it does not exist. Without it, results are kept in memory only. */
export function openResults<R>(file: string | undefined): Results<R> {
  const all: Kept<R>[] = (file === undefined ? [] : linesOf(file)).map((line) => JSON.parse(line) as Kept<R>);
  return {
    of: (row, operator) =>
      all.filter((one) => one.row === row && one.operator === operator).map(({ result }) => result),
    rows: () => [...new Set(all.map(({ row }) => row))],
    add: (row, operator, result) => {
      const at = new Date().toISOString();
      const kept = { row, operator, at, load: Number(loadavg()[0]?.toFixed(1)), result };
      all.push(kept);
      if (file === undefined) return;
      mkdirSync(dirname(file), { recursive: true });
      appendFileSync(file, `${JSON.stringify(kept)}\n`);
    },
  };
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
