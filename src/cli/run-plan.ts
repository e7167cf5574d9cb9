/**
 * What `karpenter plan` does: manifests in, what would be launched and why out. Nothing is sent
 * anywhere.
 */
import { stringify } from "yaml";
import { KWOK_NODE_CLASS } from "../apis/kwok/kwoknodeclass.ts";
import type { Clock } from "../base/clock.ts";
import { SystemClock } from "../base/system-clock.ts";
import { leastPriceMicroUsd } from "../core/planner/least-price.ts";
import { planBatch } from "../core/planner/plan-batch.ts";
import { plannerOptions } from "../core/planner/planner-options.ts";
import { remedies } from "../core/provisioning/remedy.ts";
import { createHttpTransport } from "../kube/http-transport.ts";
import { createKubeClient } from "../kube/kube-client.ts";
import { clusterAccess, KubeconfigError } from "../kube/kubeconfig.ts";
import { KWOK_WELL_KNOWN_LABELS, kwokInstanceTypes } from "../providers/kwok/instance-types.ts";
import { BUILD } from "./build.ts";
import { CliError } from "./cli-error.ts";
import { awsCatalogue, type Cloud } from "./plan/aws-catalogue.ts";
import { readDocuments, readText } from "./plan/documents.ts";
import { parseInstanceTypes } from "./plan/instance-type-file.ts";
import { readCluster } from "./plan/live-cluster.ts";
import { type Manifests, sortManifests } from "./plan/manifests.ts";
import { planOf } from "./plan/plan.ts";
import { planText } from "./plan/plan-text.ts";
import { planningInput, regionOf } from "./plan/planning-input.ts";
import { parseSchedulerConfig } from "./plan/scheduler-config.ts";

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
  readonly output: "text" | "json" | "yaml";
  readonly cluster?: true;
  readonly schedulerConfig?: string;
  readonly lowerBound?: true;
  /** False: no search for what would place the pods that are left. */
  readonly fix: boolean;
}

/** Where the plan goes, and what is to be said beside it. */
export interface PlanStreams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const STANDARD: PlanStreams = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
};

/** Prints the plan; the exit code as the command tells it. Throws CliError for bad input. */
export async function runPlan(flags: PlanFlags, { out, err } = STANDARD): Promise<number> {
  if (flags.filename === undefined && flags.cluster !== true) {
    throw new CliError("missing the manifests: use -f FILE, or --cluster");
  }
  const clock = new SystemClock();
  const startMs = performance.now();
  const live = flags.cluster === true ? await liveObjects(clock) : { found: [], notes: [] };
  const manifests = sortManifests([...live.found, ...readDocuments(flags.filename ?? [])]);
  const cloud = await cloudOf(flags, manifests);
  const poolNames = flags.nodepoolOnly ?? [];
  const file = flags.schedulerConfig;
  const defaultSpread = file === undefined ? [] : parseSchedulerConfig(file, readText(file));
  const settings = { ...flags, poolNames, defaultSpread };
  const planning = await planningInput(manifests, cloud, settings, clock.now());
  const { input } = planning;
  const notes = [...live.notes, ...planning.notes];
  const parsedMs = performance.now();
  const options = plannerOptions({
    policy: flags.planner,
    effort: flags.plannerEffort,
    nodeUsdPerHour: flags.plannerNodeCost,
    minSavingPercent: flags.plannerMinSaving,
    minPods: flags.plannerMinPods,
  });
  const result = planBatch(input, options);
  const timings = {
    parseMs: rounded(parsedMs - startMs),
    solveMs: rounded(performance.now() - parsedMs),
  };
  const found = planOf(result, input.pods.length, timings, {
    ...(flags.fix ? { remedies: remedies(input, result) } : {}),
    ...(flags.lowerBound ? { lowerBoundMicroUsd: leastPriceMicroUsd(input, result) } : {}),
  });
  if (flags.output === "text") out(planText(found, notes));
  else {
    for (const note of notes) err(`karpenter: note: ${note}\n`);
    out(flags.output === "json" ? `${JSON.stringify(found, null, 2)}\n` : stringify(found));
  }
  return found.unschedulable.length === 0 ? 0 : 2;
}

/** From the cluster that KUBECONFIG names, or the one this runs in. */
async function liveObjects(clock: Clock): ReturnType<typeof readCluster> {
  try {
    const access = clusterAccess(process.env["KUBECONFIG"], process.env, clock);
    const transport = createHttpTransport({ ...access, userAgent: `karpenter/${BUILD.version}` });
    return await readCluster(createKubeClient(transport));
  } catch (error) {
    if (error instanceof KubeconfigError) throw new CliError(`--cluster: ${error.message}`);
    throw error;
  }
}

async function cloudOf(flags: PlanFlags, manifests: Manifests): Promise<Cloud> {
  if (flags.instanceTypes === undefined) {
    const region = flags.region ?? regionOf(manifests) ?? "us-east-1";
    return withKwok(await awsCatalogue(region, manifests));
  }
  const path = flags.instanceTypes;
  const { instanceTypes, wellKnownLabels } = parseInstanceTypes(path, readText(path));
  return { wellKnownLabels, typesOf: async () => instanceTypes, notes: [] };
}

/** NodePools of the kwok provider get its catalogue. */
function withKwok(aws: Cloud): Cloud {
  return {
    wellKnownLabels: [...aws.wellKnownLabels, ...KWOK_WELL_KNOWN_LABELS],
    notes: aws.notes,
    typesOf: async (pool) =>
      pool.classRef.group === KWOK_NODE_CLASS.group ? kwokInstanceTypes() : aws.typesOf(pool),
  };
}

/** Milliseconds with one decimal. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
