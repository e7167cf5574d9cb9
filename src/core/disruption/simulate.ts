/**
 * Simulates the cluster without some nodes: plans their pods as provisioning would, on the remaining nodes and on new
 * ones. Pending pods are planned, too, and keep the room that they would get anyway. They need not all have a place.
 * upstream: pkg/controllers/disruption/helpers.go (SimulateScheduling)
 */
import type { Pod } from "../../apis/core/pod.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import { atOnce, eachInSteps, type Steps } from "../../base/steps.ts";
import { bufferKeyOf, isBufferPod } from "../buffers/pods.ts";
import { packBelow } from "../planner/packing/pack-first.ts";
import type { PlannerOptions } from "../planner/planner-options.ts";
import type { PlannedClaim, PodsOnNode } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import type { Opening } from "../provisioning/solve.ts";
import type { PodsOverLimits } from "../provisioning/what-if/prepared-cluster.ts";
import { type Terms, WhatIf, type Without } from "../provisioning/what-if/what-if.ts";
import { isThere, type NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";

/** The pods that an existing node takes. */
export interface Placement extends PodsOnNode {
  /** The zone of the node, if it is known. */
  readonly zone?: string | undefined;
}

export interface Simulation {
  /** The new nodes that are needed for pods of the candidates, or for other pods whose room they take. */
  readonly replacements: readonly PlannedClaim[];
  /** Names of existing nodes that take pods of the candidates. */
  readonly targets: readonly string[];
  /** The pods that each target takes, in the order of `targets`. */
  readonly placements: readonly Placement[];
  /** Names of targets that are not quiet: a pod was added or removed within the `consolidateAfter` of their pool. */
  readonly unquiet: readonly string[];
  /** Pods without a place as `ns/name => why`, at most five. Empty: every pod has a place. */
  readonly unplaced: readonly string[];
  /** The CapacityBuffers (`ns/name`) that would have less room. */
  readonly lostRoom: readonly string[];
  /** Whether the simulation stopped without a plan, because no plan can be as cheap as `terms.packed.mostMicroUsd`. */
  readonly gaveUp: boolean;
}

/** The terms of one simulation. Without any, pods are planned as in provisioning. */
export interface SimulationTerms extends Pick<Terms, "belowMicroUsd" | "closed"> {
  /** Set: pods are packed onto the cheapest new nodes. Absent: pods are placed one by one, as upstream does. */
  readonly packed?: Packed | undefined;
}

export interface Packed {
  readonly planner: PlannerOptions;
  /**
   * The most that the new nodes may cost per hour, with the fixed cost of each node. The simulation stops if all cost
   * more.
   */
  readonly mostMicroUsd: number;
}

/** Simulates one cluster, again and again without different nodes. */
export interface Simulator {
  /** The cluster before nodes are removed: its nodes, pools and pods, as provisioning reads them. */
  readonly input: SchedulingInput;
  /**
   * Prepares the simulated cluster in steps. Otherwise the first simulation prepares it in one step, which may be long.
   */
  ready(): Steps<void>;
  without(candidates: readonly Candidate[], terms?: SimulationTerms): Simulation;
  /** Like `without`, in steps. Only one simulation may run at a time; starting a second one fails an assertion. */
  withoutInSteps(candidates: readonly Candidate[], terms?: SimulationTerms): Steps<Simulation>;
  /** A lower bound on the price per hour of new nodes for all pods of the candidates. */
  leastPriceMicroUsd(candidates: readonly Candidate[]): number;
  /**
   * Those of the candidates that can be removed together because their pods fit on the remaining nodes. `mayGo` is
   * asked before each removal. Only one simulation may run at a time.
   */
  removableTogether(
    candidates: readonly Candidate[],
    mayGo: (candidate: Candidate) => boolean,
  ): Steps<readonly Candidate[]>;
  /** A simulator of the same cluster in which moved pods may use the room of CapacityBuffers. */
  withoutRoom(): Simulator;
  /**
   * Names of nodes that should take no moved pods: not initialized, or not quiet for the `consolidateAfter` of their
   * pool.
   */
  unquietNodes(): ReadonlySet<string>;
  /** Pending pods that have no place because of limits of NodePools. */
  podsOverLimits(): readonly PodsOverLimits[];
  /** Each list has the pools (by id) that some of the pods could all use. A pool may be in several lists or in none. */
  openTo(): readonly (readonly string[])[];
  /** Gives the prepared cluster to the simulator of a later round. Undefined: it is not prepared. */
  handOver(): PreparedSimulation | undefined;
}

/** The most pods without a place that a message names. */
const MAX_SHOWN = 5;

function packedByPrice({ planner, mostMicroUsd }: Packed): Opening {
  return (pass, queued) => packBelow(pass, queued, { options: planner, mostMicroUsd });
}

/** A cluster that is prepared for simulations, and the input that it was made from. */
export interface PreparedSimulation {
  readonly whatIf: WhatIf;
  readonly input: SchedulingInput;
}

/**
 * Makes a simulator. `input.pods`: pending pods and pods of leaving nodes. `last`: the simulator of an earlier round,
 * whose prepared cluster is reused for nodes that have not changed.
 */
export function createSimulator(input: SchedulingInput, last?: Simulator): Simulator {
  let prepared = last?.handOver();
  function* makeReady(): Steps<WhatIf> {
    const known = prepared;
    if (known?.input === input) return known.whatIf;
    prepared = undefined;
    const goesOn = known !== undefined && (yield* known.whatIf.follow(input));
    const whatIf = goesOn ? known.whatIf : yield* WhatIf.of(input);
    prepared = { whatIf, input };
    return whatIf;
  }
  const whatIf = () => (prepared?.input === input ? prepared.whatIf : atOnce(makeReady()));
  const poolsWithWait = new Set(
    input.pools
      .filter(
        ({ pool }) => pool.generation === "v1" && pool.disruption.consolidateAfter !== "Never",
      )
      .map(({ pool }) => pool.id),
  );
  let unquiet: ReadonlySet<string> | undefined;
  let roomless: Simulator | undefined;
  const simulator: Simulator = {
    input,
    *ready() {
      yield* makeReady();
      unquiet ??= yield* unquietOf(input.nodes, poolsWithWait);
    },
    without: (candidates, terms) => atOnce(simulator.withoutInSteps(candidates, terms)),
    *withoutInSteps(candidates, { packed, ...terms } = {}) {
      const { names, moving } = leavingOf(candidates);
      const opening = packed === undefined ? undefined : packedByPrice(packed);
      const steps = whatIf().without(names, moving, { ...terms, opening });
      return simulationOf(yield* steps, poolsWithWait);
    },
    leastPriceMicroUsd: (candidates) =>
      whatIf().leastPrice(candidates.flatMap(({ reschedulablePods }) => reschedulablePods)),
    *removableTogether(candidates, mayGo) {
      const leaving = candidates.map((candidate) => ({
        candidate,
        nodeName: candidate.node.name,
        pods: candidate.reschedulablePods,
      }));
      const may = ({ candidate }: { candidate: Candidate }) => mayGo(candidate);
      const going = yield* whatIf().together(leaving, may);
      return going.map(({ candidate }) => candidate);
    },
    withoutRoom: () => {
      const stored = input.pods.filter((pod) => !isBufferPod(pod));
      if (stored.length === input.pods.length) return simulator;
      roomless ??= createSimulator({ ...input, pods: stored });
      return roomless;
    },
    unquietNodes: () => {
      unquiet ??= atOnce(unquietOf(input.nodes, poolsWithWait));
      return unquiet;
    },
    podsOverLimits: () => whatIf().podsOverLimits(),
    openTo: () => whatIf().openTo(),
    handOver: () => {
      const given = prepared;
      prepared = undefined;
      return given;
    },
  };
  return simulator;
}

function* unquietOf(
  nodes: readonly NodeView[],
  poolsWithWait: ReadonlySet<string>,
): Steps<ReadonlySet<string>> {
  const unquiet = new Set<string>();
  yield* eachInSteps(nodes, (view) => {
    if (!isThere(view) || isUnquiet(view, poolsWithWait)) unquiet.add(view.name);
  });
  return unquiet;
}

function leavingOf(candidates: readonly Candidate[]) {
  const [first, ...others] = candidates;
  // The candidate's own list of pods is used, not a copy, because results are cached by list.
  if (first !== undefined && others.length === 0)
    return { names: [first.node.name], moving: first.reschedulablePods };
  return {
    names: candidates.map(({ node }) => node.name),
    moving: candidates.flatMap(({ reschedulablePods }) => reschedulablePods),
  };
}

function simulationOf(result: Without, poolsWithWait: ReadonlySet<string>): Simulation {
  const { newClaims, existing, unschedulable, gaveUp } = result;
  const unplaced: string[] = [];
  const lostRoom = new Set<string>();
  const noPlaceFor = (pod: Pod, why: string) => {
    if (isBufferPod(pod)) lostRoom.add(bufferKeyOf(pod));
    else unplaced.push(`${keyOf(pod)} => ${why}`);
  };
  for (const { pod, message } of unschedulable) noPlaceFor(pod, message);
  const targets: string[] = [];
  const placements: Placement[] = [];
  const unquiet: string[] = [];
  for (const { nodeName, view, pods } of existing) {
    targets.push(nodeName);
    placements.push({ nodeName, zone: view.labels[TOPOLOGY_ZONE_LABEL_KEY], pods });
    if (isUnquiet(view, poolsWithWait)) unquiet.push(nodeName);
    if (!isThere(view)) for (const pod of pods) noPlaceFor(pod, notThereYet(view));
  }
  return {
    replacements: newClaims,
    targets,
    placements,
    unquiet,
    unplaced: unplaced.sort().slice(0, MAX_SHOWN),
    lostRoom: [...lostRoom].sort(),
    gaveUp,
  };
}

/** Whether the node is not quiet. `poolsWithWait`: ids of v1 pools with a `consolidateAfter`. */
function isUnquiet({ claim, poolId = "" }: NodeView, poolsWithWait: ReadonlySet<string>): boolean {
  return claim !== undefined && poolsWithWait.has(poolId) && !isTrue(claim, "Consolidatable");
}

/** The message for a target that is not initialized. It may never become ready, so no node is removed for it. */
function notThereYet({ claim, node }: NodeView): string {
  const noun = claim === undefined ? "" : vocabulary(claimGeneration(claim)).claimNoun;
  const names = `${noun}/${claim?.metadata.name ?? ""}, node/${node?.metadata.name ?? ""}`;
  return `would schedule against uninitialized ${names}`;
}
