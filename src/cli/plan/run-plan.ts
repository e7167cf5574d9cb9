/**
 * Runs `karpenter plan`: reads manifests and prints what would be launched and why. It changes nothing in a
 * cluster.
 */

import { VERTICAL_POD_AUTOSCALER } from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { Kind } from "../../apis/meta.ts";
import { hasResourceClaims } from "../../apis/resource/pod-claims.ts";
import { counted } from "../../base/counted.ts";
import { type Printed, printedLines } from "../../base/printable.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { remedies } from "../../core/answers/fixes/remedy.ts";
import { leastPriceMicroUsd } from "../../core/answers/least-price.ts";
import type { PlayedPasses } from "../../core/answers/planning-passes.ts";
import { withoutBufferPods } from "../../core/buffers/feedback.ts";
import type { PlannedBatch } from "../../core/planner/plan-batch.ts";
import { plannerOptions } from "../../core/planner/planner-options.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { compileDeviceSelector } from "../../readers/device-selectors.ts";
import { CliError } from "../program/cli-error.ts";
import { printed } from "../program/manifest-text.ts";
import { NO_OBJECTS, noInput } from "../program/no-input.ts";
import { toStderr, toStdout } from "../program/output.ts";
import { type Progress, progressFor } from "../program/progress.ts";
import { type ColourWhen, PLAIN_SCREEN, type Screen, stdoutScreen } from "../program/terminal.ts";
import { isReport, printedReport, type ReportFormat } from "../report/formats.ts";
import { planReport } from "../report/report.ts";
import { readDocuments, readText } from "./documents.ts";
import { factsIn, type ReadFacts } from "./facts.ts";
import { DEVICE_KINDS, SELECTING } from "./live-cluster.ts";
import { type Manifests, sortManifests } from "./manifests.ts";
import { limitNotes, type Plan, passNotes, planOf, poolNotes } from "./plan.ts";
import { planText, warningText } from "./plan-text.ts";
import { planningInput } from "./planning-input.ts";
import { playBatch, settledPlan } from "./played-batch.ts";
import { parseSchedulerConfig } from "./scheduler-config.ts";
import { cloudOf, liveObjects } from "./sources.ts";
import { workloadsWithoutReplicas } from "./workload-size.ts";

export interface PlanFlags {
  readonly filename?: readonly string[];
  readonly instanceTypes?: string;
  readonly nodepoolOnly?: readonly string[];
  readonly region?: string;
  readonly preferencePolicy: "Respect" | "Ignore";
  readonly minValuesPolicy: "Strict" | "BestEffort";
  readonly planner: "cost" | "greedy";
  readonly plannerEffort: number;
  readonly plannerNodeCost: number;
  readonly plannerMinSaving: number;
  readonly plannerMinPods: number;
  readonly output: "text" | "wide" | "json" | "yaml" | ReportFormat;
  /** When text is coloured. Default: on a terminal only. */
  readonly color?: ColourWhen;
  readonly cluster?: true;
  readonly schedulerConfig?: string;
  /** Whether new pods get recommended requests. Default: the setting of the running Karpenter, otherwise no. */
  readonly readVpaRecommendations?: true;
  readonly lowerBound?: true;
  /** Whether to look for fixes for pods without a place. */
  readonly fix: boolean;
}

type PlannerFlag = Extract<keyof PlanFlags, `planner${string}`>;

/** Where to print the plan and the notes. */
export interface PlanStreams {
  /** The layout of text. Default: no colours, 100 columns. */
  readonly screen?: (colour: ColourWhen | undefined) => Screen;
  readonly out: (text: Printed) => void;
  readonly err: (text: Printed) => void;
}

export const STANDARD_STREAMS: PlanStreams = {
  out: toStdout,
  err: toStderr,
  screen: stdoutScreen,
};

const CLAIMS_PLANNED =
  "pods with resource claims are planned, as the controller does with --ignore-dra-requests=false";
const DEVICES_ASSUMED = `${CLAIMS_PLANNED} and the chart's settings.enableDRA: instance types of AWS have GPUs and EFA interfaces to claim`;
const OVERLAYS_PLANNED =
  "NodeOverlays count in this plan, as in the controller with --feature-gates NodeOverlay=true";
/** The exit codes. Bad input is 1 (CliError). */
const EXIT_CODES = { placed: 0, someLeft: 2, nothingToPlan: 3 } as const;

/** Prints the plan and returns one of {@link EXIT_CODES}. Throws CliError for bad input. */
export async function runPlan(
  flags: PlanFlags,
  { out, err, screen = () => PLAIN_SCREEN }: PlanStreams = STANDARD_STREAMS,
  progress = progressFor(flags.output),
): Promise<number> {
  const { planned, result, warnings, notes } = await madePlan(flags, progress).finally(
    progress.end,
  );
  const { output } = flags;
  if (output === "text" || output === "wide") {
    const own = { ...screen(flags.color), wide: output === "wide" };
    if (warnings.length > 0) out(warningText(warnings, own));
    out(planText(planned, notes, own));
  } else if (isReport(output)) {
    out(printedReport(planReport(planned, result, [...warnings, ...notes]), output));
  } else {
    err(printedLines(warnings.map((warning) => `karpenter: warning: ${warning}`)));
    err(printedLines(notes.map((note) => `karpenter: note: ${note}`)));
    out(printed(planned, output));
  }
  if (planned.totals.pods === 0 && planned.headroom === undefined) return EXIT_CODES.nothingToPlan;
  return planned.unschedulable.length === 0 ? EXIT_CODES.placed : EXIT_CODES.someLeft;
}

interface Made {
  readonly planned: Plan;
  /** The scheduling result from which the plan was made. */
  readonly result: SchedulingResult;
  /** What to print before the plan. */
  readonly warnings: readonly string[];
  /** The notes to print. */
  readonly notes: readonly string[];
}

async function madePlan(flags: PlanFlags, progress: Progress): Promise<Made> {
  if (flags.filename === undefined && flags.cluster !== true) {
    throw new CliError(noInput("--cluster"));
  }
  const clock = new SystemClock();
  const startMs = performance.now();
  progress.stage(flags.cluster === true ? "reading the cluster" : "reading manifests");
  const live =
    flags.cluster === true
      ? await liveObjects(clock, (facts) => [
          ...(flags.schedulerConfig === undefined ? [] : SELECTING),
          ...(facts?.settings["ignore-dra-requests"] === "false" ? DEVICE_KINDS : []),
          ...(recommends(flags, facts) ? [VERTICAL_POD_AUTOSCALER as Kind] : []),
        ])
      : { found: [], notes: [], nowMs: clock.now() };
  const found = [...live.found, ...readDocuments(flags.filename ?? [])];
  progress.stage(`checking ${counted(found.length, "object")}`);
  const manifests = sortManifests(found);
  progress.stage("working out what can be launched");
  const facts = factsIn(found);
  const claimed =
    Object.values(manifests.devices).some((some) => some.length > 0) ||
    (flags.cluster !== true && haveClaims(manifests));
  const cloud = await cloudOf(flags, manifests, claimed ? withDevices(facts) : facts);
  const poolNames = flags.nodepoolOnly ?? [];
  const file = flags.schedulerConfig;
  const defaultSpread = file === undefined ? [] : parseSchedulerConfig(file, readText(file));
  const compileSelector = claimed ? compileDeviceSelector : undefined;
  const readsRecommendations = recommends(flags, facts);
  const settings = { ...flags, poolNames, defaultSpread, compileSelector, readsRecommendations };
  const planning = await planningInput(manifests, cloud, settings, live.nowMs);
  const { input } = planning;
  const notes = [
    ...live.notes,
    ...emptyNotes(found.length, input.pods.length, manifests),
    ...planning.notes,
  ];
  if (claimed) notes.push(withDevices(facts) === facts ? CLAIMS_PLANNED : DEVICES_ASSUMED);
  if (manifests.overlays.length > 0) notes.push(OVERLAYS_PLANNED);
  const parsedMs = performance.now();
  progress.stage(`planning ${counted(input.pods.length, "pod")}`);
  const played = playedPlan(input, flags);
  const { result } = played;
  const timings = {
    parseMs: rounded(parsedMs - startMs),
    solveMs: rounded(performance.now() - parsedMs),
  };
  if (flags.fix && result.unschedulable.length > 0)
    progress.stage("looking for what would place the pods that are left");
  const planned = planOf(result, input.pods.length, timings, {
    input,
    objectFixes: flags.fix,
    passes: played.passes,
    ...(flags.fix ? { remedies: remedies(input, withoutBufferPods(result), settledPlan) } : {}),
    ...(flags.lowerBound ? { lowerBoundMicroUsd: leastPriceMicroUsd(input, result) } : {}),
  });
  notes.push(...poolNotes(result, input), ...passNotes(played), ...limitNotes(planned));
  return { planned, result, warnings: planning.warnings, notes };
}

/**
 * Whether pods of files have resource claims. A plan of them names the claim or template that is missing. In a live
 * cluster the controller's setting counts.
 */
function haveClaims({ pods, workloads }: Manifests): boolean {
  const templated = workloads as readonly { readonly spec?: { readonly template?: Pod } }[];
  return [...pods, ...templated.map(({ spec }) => spec?.template)].some(
    (one) => one?.spec !== undefined && hasResourceClaims(one),
  );
}

/**
 * The facts with resource claims and devices switched on, as by the chart's `settings.enableDRA`. Unchanged if the
 * running Karpenter already plans resource claims.
 */
function withDevices(facts: ReadFacts | undefined): ReadFacts {
  const ignore = OPTIONS.ignoreDraRequests.flag;
  if (facts?.settings[ignore] === "false") return facts;
  const gates = { [OPTIONS.awsFeatureGates.flag]: "DRANVIDIAGPU=true,DRAEFA=true" };
  const settings = { ...facts?.settings, [ignore]: "false", ...gates };
  return { where: "the plan's input", ...facts, settings };
}

function recommends(flags: PlanFlags, facts: ReadFacts | undefined): boolean {
  const { flag } = OPTIONS.readVpaRecommendations;
  return flags.readVpaRecommendations ?? facts?.settings[flag] === "true";
}

/** The plan of all passes, with the planner that the flags set. Exported for tests. */
export function playedPlan(
  input: SchedulingInput,
  flags: Pick<PlanFlags, PlannerFlag>,
): PlayedPasses<PlannedBatch> {
  const options = plannerOptions({
    policy: flags.planner,
    effort: flags.plannerEffort,
    nodeUsdPerHour: flags.plannerNodeCost,
    minSavingPercent: flags.plannerMinSaving,
    minPods: flags.plannerMinPods,
  });
  return playBatch(input, options);
}

/** Notes if there is nothing to plan: why, and what to do. */
function emptyNotes(objects: number, pods: number, manifests: Manifests): string[] {
  if (objects === 0) return [NO_OBJECTS];
  if (pods > 0) return [];
  const [first, ...others] = workloadsWithoutReplicas([
    ...manifests.workloads,
    ...manifests.liveWorkloads,
  ]);
  if (first === undefined) return ["a plan is made for pending pods and for workloads"];
  if (others.length === 0) return [`${first} has 0 replicas; set spec.replicas to plan its pods`];
  const all = `${first} and ${counted(others.length, "more workload")}`;
  return [`${all} have 0 replicas; set spec.replicas to plan their pods`];
}

/** Milliseconds with one decimal. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
