/** Runs a scenario file on virtual time, and reports whether its expectations hold. */
import { writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { KubeObject } from "../../apis/meta.ts";
import { formatDuration } from "../../base/duration.ts";
import { printedLines } from "../../base/printable.ts";
import { SIMULATION_EPOCH_MS, VirtualClock } from "../../base/virtual-clock.ts";
import { applyCloudFault } from "../../sandbox/scenario/cloud-fault.ts";
import { runScenario } from "../../sandbox/scenario/run-scenario.ts";
import type { Scenario } from "../../sandbox/scenario/scenario.ts";
import type { Trace, TraceEvent } from "../../sandbox/trace.ts";
import { settingFlags } from "../controller/setting-flags.ts";
import { CliError } from "../program/cli-error.ts";
import { fileProblem } from "../program/file-problem.ts";
import { toStderr, toStdout } from "../program/output.ts";
import { printedScreen, stdoutScreen } from "../program/terminal.ts";
import { type BoxOptions, openBox } from "./box.ts";
import type { SandboxFlags } from "./sandbox-flags.ts";
import { readSchedulerProfiles } from "./scheduler-file.ts";
import { loadManifests, readScenario } from "./story-file.ts";
import { StoryMoney } from "./story-money.ts";
import { storyPage } from "./story-page.ts";
import { tracePrinter } from "./trace-printer.ts";

/** The flags of the sandbox that scenarios use. */
export type StoryOptions = Pick<
  SandboxFlags,
  | "seed"
  | "provider"
  | "clusterName"
  | "region"
  | "kubernetesVersion"
  | "kubeSchedulerConfig"
  | "setting"
  | "logLevel"
>;

/** Plays the scenario. Returns the exit code: 0 if every expectation held, otherwise 1. */
export async function playScenario(
  flags: SandboxFlags & { readonly scenario: string },
): Promise<number> {
  const scenario = readScenario(flags.scenario);
  const print = tracePrinter(flags.output);
  const money = new StoryMoney();
  const events: TraceEvent[] = [];
  const trace: Trace = (event) => {
    money.add(event);
    if (flags.html !== undefined) events.push(event);
    print(event);
  };
  if (flags.output === "text")
    toStdout(printedScreen([scenario.name, ...scenario.story.split("\n"), ""], stdoutScreen()));
  const outcome = await play(scenario, dirname(resolve(flags.scenario)), flags, trace);
  const spent = formatDuration(outcome.virtualMs);
  toStderr(printedLines(outcome.broken.map((sentence) => `broken promise: ${sentence}`)));
  toStderr(printedLines(outcome.hints));
  const verdict = outcome.broken.length === 0 ? "kept" : "broken";
  const counts = `${outcome.kept} promises kept, ${outcome.broken.length} broken`;
  const ended = `story ${verdict}: ${counts}, ${spent} simulated; ${money.says}`;
  if (flags.output === "text") toStdout(printedScreen(["", ended], stdoutScreen()));
  if (flags.html !== undefined) writePage(flags.html, storyPage({ ...scenario, ended }, events));
  return outcome.broken.length === 0 ? 0 : 1;
}

function writePage(file: string, page: string): void {
  try {
    writeFileSync(file, page);
  } catch (error) {
    throw new CliError(`--html: cannot write ${file}: ${fileProblem(error)}; name another file`);
  }
}

/** Number of expectations that held, and a sentence for each that did not. */
export interface StoryOutcome {
  readonly kept: number;
  readonly broken: readonly string[];
  /** Hints for a scenario that failed, such as another provider. */
  readonly hints: readonly string[];
  readonly virtualMs: number;
}

/** Runs a parsed scenario. `folder` contains its files. Exported for tests, which limit what the region `sells`. */
export async function play(
  scenario: Scenario,
  folder: string,
  options: StoryOptions & Pick<BoxOptions, "sells">,
  trace: Trace,
): Promise<StoryOutcome> {
  const clock = new VirtualClock();
  const flags = settingFlags(options.setting ?? []);
  const schedulerProfiles = readSchedulerProfiles(options.kubeSchedulerConfig);
  const box = await openBox({ ...options, flags, schedulerProfiles, clock, trace });
  const applied = scenario.steps.flatMap((step) => (step.do === "apply" ? step.objects : []));
  try {
    const result = await runScenario(scenario, {
      clock,
      client: box.sandbox.client,
      trace,
      load: (file) => {
        const objects = loadManifests(resolve(folder, file), options.clusterName);
        applied.push(...objects);
        return objects;
      },
      fault: (fault) => applyCloudFault(box.sandbox.aws, fault),
    });
    const others = result.broken.length === 0 ? [] : forOthers(applied, options.provider);
    return { ...result, hints: others, virtualMs: clock.now() - SIMULATION_EPOCH_MS };
  } finally {
    await box.stop();
  }
}

/** The provider for each API group of node classes. */
const CLASS_GROUPS = { "karpenter.k8s.aws": "aws", "karpenter.kwok.sh": "kwok" } as const;

/** NodePools for which the present provider launches nothing. */
function forOthers(
  applied: readonly KubeObject[],
  provider: StoryOptions["provider"],
): readonly string[] {
  const text = JSON.stringify(applied);
  return Object.entries(CLASS_GROUPS)
    .filter(([group, of]) => of !== provider && text.includes(`"group":"${group}"`))
    .map(
      ([, of]) =>
        `its nodes are of the provider ${of}, it was played with ${provider}: try --provider ${of}`,
    );
}
