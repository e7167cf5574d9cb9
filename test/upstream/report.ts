/**
 * What a run of a suite says, spec by spec, held against the list of known failures. Reads ginkgo's JSON
 * report.
 */
import type { KnownFailure } from "./known-failures.ts";

/** As ginkgo writes it; what we do not read is left out. */
export interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

export interface Outcome {
  /** Containers and leaf, joined by spaces. */
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** First line of the failure; empty if there is none. */
  readonly message: string;
}

export interface Verdict {
  readonly lines: readonly string[];
  /** Specs that failed and are not listed. */
  readonly unlisted: readonly string[];
  /** Listed specs that passed: the list is to be shortened. */
  readonly mended: readonly string[];
}

/** Specs of a report, those left out by a focus too. */
export function outcomesOf(
  report: readonly { readonly SpecReports: readonly GinkgoSpec[] | null }[],
) {
  return report
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter(({ LeafNodeType }) => LeafNodeType === "It")
    .map(toOutcome);
}

function toOutcome(spec: GinkgoSpec): Outcome {
  const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(" ");
  const isSkipped = spec.State === "skipped" || spec.State === "pending";
  const state = spec.State === "passed" ? "passed" : isSkipped ? "skipped" : "failed";
  const message = (spec.Failure?.Message ?? "").split("\n").map((line) => line.trim());
  return {
    name,
    state,
    seconds: Math.round(spec.RunTime / 1e9),
    message: message
      .filter((line) => line !== "")
      .slice(0, 4)
      .join(" ")
      .slice(0, 160),
  };
}

/** The table and what is to be done about it. `upstream`: what upstream's own operator does on the same bed. */
export function verdictOf(
  outcomes: readonly Outcome[],
  known: readonly KnownFailure[],
  upstream: readonly Outcome[] = [],
): Verdict {
  const theirs = new Map(upstream.map((one) => [one.name, one.state]));
  const [unlisted, mended, lines]: [string[], string[], string[]] = [[], [], []];
  for (const one of outcomes.filter(({ state }) => state !== "skipped")) {
    const listed = known.find(({ spec }) => spec.test(one.name));
    if (one.state === "failed" && listed === undefined) unlisted.push(one.name);
    if (one.state === "passed" && listed?.isFlaky === false) mended.push(one.name);
    const beside = theirs.get(one.name);
    const said = [
      one.state === "failed" ? (listed === undefined ? "FAILED" : "known") : "passed",
      `${one.seconds} s`.padStart(7),
      ...(upstream.length === 0 ? [] : [`upstream: ${beside ?? "not run"}`.padEnd(18)]),
      one.name,
    ];
    lines.push(said.join("  "));
    if (one.state === "failed") lines.push(`        ${listed?.reason ?? one.message}`);
  }
  const count = (state: Outcome["state"]) => outcomes.filter((one) => one.state === state).length;
  const ran = count("passed") + count("failed");
  lines.push(
    `${count("passed")} of ${ran} specs pass; ${count("skipped")} skipped or not in focus`,
  );
  return { lines, unlisted, mended };
}
