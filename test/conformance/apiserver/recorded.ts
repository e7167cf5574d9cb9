/**
 * The recorded answers of a real kube-apiserver, and the list of known differences. A recording is one file per
 * group of checks: check id -> answers in the order of its steps.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Answer } from "./run-checks.ts";

export interface Recording {
  /** The version that answered: `v1.34.4`. */
  readonly kubernetes: string;
  readonly checks: Readonly<Record<string, readonly Answer[]>>;
}

const DIFFERENCES = fileURLToPath(
  new URL("../../../docs/reference/differences.md", import.meta.url),
);

function file(group: string): string {
  return fileURLToPath(new URL(`../recorded/${group}.json`, import.meta.url));
}

export function readRecording(group: string): Recording {
  return JSON.parse(readFileSync(file(group), "utf8")) as Recording;
}

/** Writes one answer per line, so that a new recording is readable as a diff. */
export function writeRecording(group: string, recording: Recording): void {
  const checks = Object.entries(recording.checks).map(([id, answers]) => {
    const lines = answers.map((answer) => `      ${JSON.stringify(answer)}`);
    return `    ${JSON.stringify(id)}: [\n${lines.join(",\n")}\n    ]`;
  });
  writeFileSync(
    file(group),
    `{\n  "kubernetes": ${JSON.stringify(recording.kubernetes)},\n  "checks": {\n${checks.join(",\n")}\n  }\n}\n`,
  );
}

/** Steps that are known to differ, from the table of the document: `CM-04.2` is the check's second step. */
export function knownDifferences(): ReadonlySet<string> {
  const rows = readFileSync(DIFFERENCES, "utf8").matchAll(
    /^\| ((?:[A-Z]{2}-\d\d\.\d+(?:, )?)+) \|/gm,
  );
  return new Set([...rows].flatMap((row) => (row[1] ?? "").split(", ")));
}
