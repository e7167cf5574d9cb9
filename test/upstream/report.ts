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
  /** `skipped`: the suite itself skipped it. `notRun`: the run left it out, or a person ended the run in it. */
  readonly state: "passed" | "failed" | "skipped" | "notRun";
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
  const message = (spec.Failure?.Message ?? "").split("\n").map((line) => line.trim());
  return {
    name,
    state: stateOf(spec),
    seconds: Math.round(spec.RunTime / 1e9),
    message: message
      .filter((line) => line !== "")
      .slice(0, 4)
      .join(" ")
      .slice(0, 160),
  };
}

/** ginkgo gives a message for a spec that skips itself, and none for a spec out of focus. */
function stateOf({ State, Failure }: GinkgoSpec): Outcome["state"] {
  if (State === "passed") return "passed";
  if (State === "interrupted") return "notRun";
  if (State !== "skipped" && State !== "pending") return "failed";
  return Failure?.Message ? "skipped" : "notRun";
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
  for (const one of outcomes.filter(isRun)) {
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
  const ran = outcomes.filter(isRun);
  const passed = ran.filter(({ state }) => state === "passed").length;
  lines.push(
    `${passed} of ${ran.length} specs pass; ${outcomes.length - ran.length} skipped or not in focus`,
  );
  return { lines, unlisted, mended };
}

function isRun({ state }: Outcome): boolean {
  return state === "passed" || state === "failed";
}
