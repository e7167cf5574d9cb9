/**
 * The result of a suite's run, spec by spec, compared with the list of known failures. Reads ginkgo's JSON report.
 */
import type { KnownFailure } from "./known-failures.ts";

/** The fields of ginkgo's report that are read here. */
export interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Duration of the spec in nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

export interface Outcome {
  /** The name of the spec: containers and leaf, joined by spaces. */
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** The first four lines of the failure, at most 160 characters; empty if the spec did not fail. */
  readonly message: string;
}

export interface Verdict {
  readonly lines: readonly string[];
  /** Specs that failed and are not listed. */
  readonly unlisted: readonly string[];
  /** Listed specs that passed, so that they should be removed from the list. */
  readonly mended: readonly string[];
}

/** The specs of a report, including those that a focus left out. */
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

/**
 * The table of results, and the specs to act on. `upstream`: results of upstream's own operator on the same
 * cluster.
 */
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
