/**
 * What would happen without some nodes: their pods are planned anew by the engine that provisioning uses,
 * on the same picture less those nodes. Pods that wait for a place anyway keep the room they would find;
 * what they need beyond that is not held against the candidates.
 * upstream: pkg/controllers/disruption/helpers.go (SimulateScheduling)
 */
import type { Pod } from "../../apis/core/pod.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import { atOnce, eachInSteps, type Steps } from "../../base/steps.ts";
import { packBelow } from "../planner/packing/pack-first.ts";
import type { PlannerOptions } from "../planner/planner-options.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import type { Stranded } from "../provisioning/what-if/prepared-cluster.ts";
import {
  type Terms,
  WhatIf,
  type Without,
  type WorthTrying,
} from "../provisioning/what-if/what-if.ts";
import { isThere, type NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";

export interface Placement {
  readonly nodeName: string;
  /** Where the node stands, if that is known. */
  readonly zone?: string | undefined;
  readonly pods: readonly Pod[];
}

export interface Simulation {
  /** New nodes that the candidates' pods, or pods they push aside, would need. */
  readonly replacements: readonly PlannedClaim[];
  /** Names of the nodes that would take pods of the candidates. */
  readonly targets: readonly string[];
  /** Which pods those nodes would take. */
  readonly placements: readonly Placement[];
  /** Of the targets, those where pods came or went too short a time ago for their pool's consolidateAfter. */
  readonly unsettled: readonly string[];
  /** `ns/name => why`, at most five; empty: every pod has a place. */
  readonly homeless: readonly string[];
  /** No plan is as cheap as was asked for: none was made. */
  readonly gaveUp: boolean;
}

/** What a question takes for granted. */
export interface Supposing extends Pick<Terms, "belowMicroUsd" | "closed"> {
  /** New nodes are packed by price, as the planner does; absent: as the rules have it. */
  readonly packed?: Packed | undefined;
}

export interface Packed {
  readonly planner: PlannerOptions;
  /** Nothing is planned that is proven to cost more an hour, with what nodes cost beyond their machines. */
  readonly mostMicroUsd: number;
}

export interface Simulator {
  /** The picture that questions are about. */
  readonly input: SchedulingInput;
  /** Makes ready for questions, in steps; without it the first question does, in one go. */
  ready(): Steps<void>;
  without(candidates: readonly Candidate[], supposing?: Supposing): Simulation;
  /** As `without`. A question that is asked before it is done is an assertion error. */
  withoutInSteps(candidates: readonly Candidate[], supposing: Supposing): Steps<Simulation>;
  /** What new nodes for all pods of these would cost at the very least. */
  leastPriceMicroUsd(candidates: readonly Candidate[]): number;
  /**
   * Of these, in order, those that can go together, their pods onto nodes that stay. `mayGo` has the last
   * word on each. A question that is asked before it is done is an assertion error.
   */
  togetherInSteps(
    candidates: readonly Candidate[],
    mayGo: (candidate: Candidate) => boolean,
    terms?: Pick<Terms, "closed">,
  ): Steps<readonly Candidate[]>;
  /** Names of nodes that nobody should be moved to: not ready yet, or restless. The same set each time. */
  restless(): ReadonlySet<string>;
  /** Pods that wait, and that nothing but limits keeps from a place. */
  stranded(): readonly Stranded[];
  /** Ids of pools whose pods may share machines, as lists; a pool is in many or in none. */
  openTo(): readonly (readonly string[])[];
  /** Gives away what was made ready, to a simulator of a later picture. This one makes it anew if it is asked again. */
  handOver(): Prepared | undefined;
}

const MAX_SHOWN = 5;
/** Looked at before others get a turn. */
const NODES_PER_STEP = 1_024;

function packedByPrice({ planner, mostMicroUsd }: Packed): WorthTrying {
  return (pass, queued) => packBelow(pass, queued, { options: planner, mostMicroUsd });
}

/** What was made ready for one picture. */
export interface Prepared {
  readonly whatIf: WhatIf;
  readonly input: SchedulingInput;
}

/**
 * `input.pods`: those that need a place as it is: pending ones, and those of nodes that leave. `last`: of
 * the cluster as it was a while ago; what it made ready is taken over where it still holds.
 */
export function createSimulator(input: SchedulingInput, last?: Simulator): Simulator {
  let prepared = last?.handOver();
  function* makeReady(): Steps<WhatIf> {
    const known = prepared;
    if (known?.input === input) return known.whatIf;
    prepared = undefined;
    const goesOn = known !== undefined && (yield* known.whatIf.followInSteps(input));
    const whatIf = goesOn ? known.whatIf : yield* WhatIf.inSteps(input);
    prepared = { whatIf, input };
    return whatIf;
  }
  const whatIf = () => (prepared?.input === input ? prepared.whatIf : atOnce(makeReady()));
  const waits = new Set(
    input.pools
      .filter(
        ({ pool }) => pool.generation === "v1" && pool.disruption.consolidateAfter !== "Never",
      )
      .map(({ pool }) => pool.id),
  );
  let restless: ReadonlySet<string> | undefined;
  const simulator: Simulator = {
    input,
    *ready() {
      yield* makeReady();
      restless ??= yield* restlessOf(input.nodes, waits);
    },
    without: (candidates, supposing = {}) => {
      if (supposing.packed !== undefined)
        return atOnce(simulator.withoutInSteps(candidates, supposing));
      const { names, moving } = leavingOf(candidates);
      return simulationOf(whatIf().without(names, moving, supposing), waits);
    },
    *withoutInSteps(candidates, { packed, ...terms }) {
      const { names, moving } = leavingOf(candidates);
      const opening = packed === undefined ? undefined : packedByPrice(packed);
      const steps = whatIf().withoutInSteps(names, moving, { ...terms, opening });
      return simulationOf(yield* steps, waits);
    },
    leastPriceMicroUsd: (candidates) =>
      whatIf().leastPrice(candidates.flatMap(({ reschedulablePods }) => reschedulablePods)),
    *togetherInSteps(candidates, mayGo, terms = {}) {
      const leaving = candidates.map((candidate) => ({
        candidate,
        nodeName: candidate.node.name,
        pods: candidate.reschedulablePods,
      }));
      const may = ({ candidate }: { candidate: Candidate }) => mayGo(candidate);
      const going = yield* whatIf().togetherInSteps(leaving, may, terms);
      return going.map(({ candidate }) => candidate);
    },
    restless: () => {
      restless ??= atOnce(restlessOf(input.nodes, waits));
      return restless;
    },
    stranded: () => whatIf().stranded(),
    openTo: () => whatIf().openTo(),
    handOver: () => {
      const given = prepared;
      prepared = undefined;
      return given;
    },
  };
  return simulator;
}

/** `waits`: as {@link isUnsettled}. */
function* restlessOf(
  nodes: readonly NodeView[],
  waits: ReadonlySet<string>,
): Steps<ReadonlySet<string>> {
  const restless = new Set<string>();
  yield* eachInSteps(nodes, NODES_PER_STEP, (view) => {
    if (!isThere(view) || isUnsettled(view, waits)) restless.add(view.name);
  });
  return restless;
}

function leavingOf(candidates: readonly Candidate[]) {
  const [first, ...others] = candidates;
  // Of one node the very list that it is known by.
  if (first !== undefined && others.length === 0)
    return { names: [first.node.name], moving: first.reschedulablePods };
  return {
    names: candidates.map(({ node }) => node.name),
    moving: candidates.flatMap(({ reschedulablePods }) => reschedulablePods),
  };
}

/** `waits`: as {@link isUnsettled}. */
function simulationOf(result: Without, waits: ReadonlySet<string>): Simulation {
  const { newClaims, existing, unschedulable, gaveUp } = result;
  const homeless: string[] = [];
  for (const { pod, message } of unschedulable) homeless.push(`${keyOf(pod)} => ${message}`);
  const targets: string[] = [];
  const placements: Placement[] = [];
  const unsettled: string[] = [];
  for (const { nodeName, view, pods } of existing) {
    targets.push(nodeName);
    placements.push({ nodeName, zone: view.labels[TOPOLOGY_ZONE_LABEL_KEY], pods });
    if (isUnsettled(view, waits)) unsettled.push(nodeName);
    if (!isThere(view))
      for (const pod of pods) homeless.push(`${keyOf(pod)} => ${notThereYet(view)}`);
  }
  return {
    replacements: newClaims,
    targets,
    placements,
    unsettled,
    homeless: homeless.length === 0 ? homeless : homeless.sort().slice(0, MAX_SHOWN),
    gaveUp,
  };
}

/** `waits`: ids of pools whose nodes are not consolidated before some time without a change. */
function isUnsettled({ claim, poolId = "" }: NodeView, waits: ReadonlySet<string>): boolean {
  return claim !== undefined && waits.has(poolId) && !isTrue(claim, "Consolidatable");
}

/** A node that is not ready may never be: nothing is taken down on its account. */
function notThereYet({ claim, node }: NodeView): string {
  const noun = claim === undefined ? "" : vocabulary(claimGeneration(claim)).claimNoun;
  const names = `${noun}/${claim?.metadata.name ?? ""}, node/${node?.metadata.name ?? ""}`;
  return `would schedule against uninitialized ${names}`;
}
