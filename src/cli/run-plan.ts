/**
 * What `karpenter plan` does: manifests in, what would be launched and why out. Nothing is sent
 * anywhere.
 */
import { stringify } from "yaml";
import { KWOK_NODE_CLASS } from "../apis/kwok/kwoknodeclass.ts";
import { SystemClock } from "../base/system-clock.ts";
import { solve } from "../core/provisioning/solve.ts";
import { KWOK_WELL_KNOWN_LABELS, kwokInstanceTypes } from "../providers/kwok/instance-types.ts";
import { CliError } from "./cli-error.ts";
import { awsCatalogue, type Cloud } from "./plan/aws-catalogue.ts";
import { readDocuments, readText } from "./plan/documents.ts";
import { parseInstanceTypes } from "./plan/instance-type-file.ts";
import { type Manifests, sortManifests } from "./plan/manifests.ts";
import { planOf } from "./plan/plan.ts";
import { planText } from "./plan/plan-text.ts";
import { planningInput, regionOf } from "./plan/planning-input.ts";

export interface PlanFlags {
  readonly filename?: readonly string[];
  readonly instanceTypes?: string;
  readonly nodepoolOnly?: readonly string[];
  readonly region?: string;
  readonly preferencePolicy: "Respect" | "Ignore";
  readonly minValuesPolicy: "Strict" | "BestEffort";
  readonly output: "text" | "json" | "yaml";
  readonly cluster?: true;
}

/** Prints the plan; the exit code as the command tells it. */
export async function runPlan(flags: PlanFlags): Promise<number> {
  if (flags.cluster === true) {
    throw new CliError(
      "--cluster cannot be used yet; export what matters: kubectl get nodes,pods,nodepools,nodeclaims -A -o yaml | karpenter plan -f -",
    );
  }
  if (flags.filename === undefined) throw new CliError("missing the manifests: use -f FILE");
  const clock = new SystemClock();
  const startMs = performance.now();
  const manifests = sortManifests(readDocuments(flags.filename));
  const cloud = await cloudOf(flags, manifests);
  const poolNames = flags.nodepoolOnly ?? [];
  const settings = { ...flags, poolNames };
  const { input, notes } = await planningInput(manifests, cloud, settings, clock.now());
  const parsedMs = performance.now();
  const result = solve(input);
  const timings = {
    parseMs: rounded(parsedMs - startMs),
    solveMs: rounded(performance.now() - parsedMs),
  };
  const found = planOf(result, input.pods.length, timings);
  if (flags.output === "text") process.stdout.write(planText(found, notes));
  else {
    for (const note of notes) process.stderr.write(`karpenter: note: ${note}\n`);
    process.stdout.write(
      flags.output === "json" ? `${JSON.stringify(found, null, 2)}\n` : stringify(found),
    );
  }
  return found.unschedulable.length === 0 ? 0 : 2;
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
