/**
 * What would happen without some nodes: their pods are planned anew by the very `solve` that provisioning
 * uses, on the same picture less those nodes. Pods that wait for a place anyway are in the plan, because
 * they take room; but what they would need without the candidates going they are not held against them.
 * upstream: pkg/controllers/disruption/helpers.go (SimulateScheduling)
 */
import type { Pod } from "../../apis/core/pod.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { keyOf } from "../../apis/meta.ts";
import { subtractResources } from "../../apis/resources.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import { solve } from "../provisioning/solve.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";

export interface Simulation {
  /** New nodes that the candidates' pods, or pods they push aside, would need. */
  readonly replacements: readonly PlannedClaim[];
  /** Names of the nodes that would take pods of the candidates. */
  readonly targets: readonly string[];
  /** `ns/name => why`, at most five; empty: every pod has a place. */
  readonly homeless: readonly string[];
}

export interface Simulator {
  without(candidates: readonly Candidate[]): Simulation;
}

const MAX_SHOWN = 5;

/** `input.pods`: those that need a place as it is: pending ones, and those of nodes that leave. */
export function createSimulator(input: SchedulingInput): Simulator {
  let housed: ReadonlySet<string> | undefined;
  /** Waiting pods that find room as it is: they must find some afterwards too. */
  const alreadyHoused = (): ReadonlySet<string> => {
    housed ??= new Set(
      input.pods.length === 0 ? [] : solve(input).existing.flatMap(({ pods }) => pods.map(keyOf)),
    );
    return housed;
  };
  return { without: (candidates) => simulate(input, candidates, alreadyHoused()) };
}

function simulate(
  input: SchedulingInput,
  candidates: readonly Candidate[],
  housed: ReadonlySet<string>,
): Simulation {
  const gone = new Set(candidates.map(({ node }) => node.name));
  const moving = candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
  const movingKeys = new Set(moving.map(keyOf));
  const concerned = (pod: Pod) => movingKeys.has(keyOf(pod)) || housed.has(keyOf(pod));
  const result = solve({
    ...input,
    pods: [...input.pods.filter((pod) => !movingKeys.has(keyOf(pod))), ...moving],
    nodes: input.nodes.filter(({ name }) => !gone.has(name)),
    pools: input.pools.map((one) => withoutUsage(one, candidates)),
  });
  const views = new Map(input.nodes.map((node) => [node.name, node]));
  const homeless = result.unschedulable
    .filter(({ pod }) => concerned(pod))
    .map(({ pod, message }) => `${keyOf(pod)} => ${message}`);
  const targets: string[] = [];
  for (const { nodeName, pods } of result.existing) {
    const moved = pods.filter((pod) => movingKeys.has(keyOf(pod)));
    if (moved.length === 0) continue;
    targets.push(nodeName);
    const view = views.get(nodeName);
    if (view === undefined || !view.managed || view.initialized) continue;
    homeless.push(...moved.map((pod) => `${keyOf(pod)} => ${notThereYet(view)}`));
  }
  return {
    replacements: result.newClaims.filter(({ pods }) => pods.some(concerned)),
    targets,
    homeless: homeless.sort().slice(0, MAX_SHOWN),
  };
}

/** A node that is not ready may never be: nothing is taken down on its account. */
function notThereYet({ claim, node }: NodeView): string {
  const noun = claim === undefined ? "" : vocabulary(claimGeneration(claim)).claimNoun;
  const names = `${noun}/${claim?.metadata.name ?? ""}, node/${node?.metadata.name ?? ""}`;
  return `would schedule against uninitialized ${names}`;
}

/** Limits count what is left: a replacement may take the place of what goes. */
function withoutUsage(
  pool: SchedulingInput["pools"][number],
  candidates: readonly Candidate[],
): SchedulingInput["pools"][number] {
  const own = candidates.filter((one) => one.pool.id === pool.pool.id);
  if (own.length === 0) return pool;
  const usage = own.reduce((left, { node }) => subtractResources(left, node.capacity), pool.usage);
  return { ...pool, usage };
}
