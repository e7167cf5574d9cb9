/**
 * Results of long benches, one JSON line each in a file that stays, so that rows can be measured one by one,
 * on another day, and still stand in one table.
 */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname } from "node:path";

export interface Kept<R> {
  readonly row: string;
  readonly operator: string;
  /** When, and how busy the machine was: what one may think of it. */
  readonly at: string;
  readonly load: number;
  readonly result: R;
}

export interface Results<R> {
  of(row: string, operator: string): readonly R[];
  /** Rows in the order in which they first came. */
  rows(): readonly string[];
  add(row: string, operator: string, result: R): void;
}

/** `file`: made when missing. Without one they last as long as the process. */
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
