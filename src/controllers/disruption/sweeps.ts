/**
 * What the disruption loop remembers of each method's last sweep, so that it does not ask for what it knows:
 * the state of things in which nothing was found.
 */
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import type { Ruling } from "../../core/disruption/arbiter.ts";
import type { Method } from "../../core/disruption/methods/method.ts";
import type { Round } from "../../core/disruption/round.ts";
import { sameItems } from "../../core/provisioning/what-if/picture-changes.ts";
import type { ClusterReading } from "./gather.ts";

/** A method that found nothing looks again after this if prices or offerings are others, */
const FORCED_LOOK_MS = 5 * 60_000;
/** after this if it waits for a place, not for a price: capacity that is back; upstream asks at each round, */
const PLACE_LOOK_MS = 60_000;
/** and after this in any case: volumes and the like change without a sign. */
const LATEST_LOOK_MS = 30 * 60_000;

/** All that could change a method's mind. */
export interface SweepFacts {
  readonly text: string;
  /** Of nodes: there may be very many. */
  readonly names: readonly (readonly string[])[];
  /** PodDisruptionBudgets, and Deployments that move first: which nodes may go together, and who must wait for whom. */
  readonly guards: readonly unknown[];
  /** The very lists: a cloud gives the same ones while nothing has changed. */
  readonly types: readonly (readonly InstanceType[])[];
  /** By the clock that never goes back. */
  readonly atMs: number;
}

export class Sweeps {
  readonly #settled = new Map<string, SweepFacts>();

  /** Whether asking the method would only give the answer it gave before. */
  rests(method: Method, now: SweepFacts): boolean {
    const known = this.#settled.get(method.name);
    if (known === undefined || known.text !== now.text) return false;
    if (!sameItems(known.guards, now.guards)) return false;
    if (!known.names.every((list, index) => sameItems(list, now.names[index] ?? []))) return false;
    const same = known.types.every((list, index) => list === now.types[index]);
    const changedMs = method.reason === "Underutilized" ? FORCED_LOOK_MS : PLACE_LOOK_MS;
    return now.atMs - known.atMs < (same ? LATEST_LOOK_MS : changedMs);
  }

  /** Remembers a final answer, and the facts that it was given to. */
  note(method: Method, { isFinal }: Pick<Ruling, "isFinal">, facts: SweepFacts): void {
    if (isFinal) this.#settled.set(method.name, facts);
    else this.#settled.delete(method.name);
  }
}

/** `counting`: commands whose moves count against the next ones. `atMs`: see {@link SweepFacts}. */
export function* factsOf(
  method: Method,
  { nowMs, facts, budgets, holdOffs }: Round,
  {
    pools,
    scheduling,
    revision,
    surging,
    counting,
    atMs,
  }: Pick<ClusterReading, "pools" | "scheduling" | "revision" | "surging"> & {
    readonly counting: readonly string[];
    readonly atMs: number;
  },
): Steps<SweepFacts> {
  const eligible: string[] = [];
  // What the ledger held back may go once these end.
  const resting: string[] = [];
  yield* eachInSteps(facts.candidates, (one) => {
    if (!method.isEligible(one, nowMs)) return;
    eligible.push(one.node.name);
    if (holdOffs.fromRepack(one)) resting.push(one.node.name);
  });
  const text = JSON.stringify([
    revision,
    facts.alphaBusy,
    [...holdOffs.backingOff.keys()].sort(),
    scheduling.pods.map(keyOf),
    counting,
    pools.map(({ pool }) => [
      pool.id,
      pool.observedGeneration,
      budgets.allowances.get(pool.id)?.allowed,
    ]),
    scheduling.pools.map(({ pool }) => [pool.id, pool.observedGeneration]),
  ]);
  const types = scheduling.pools.map(({ instanceTypes }) => instanceTypes);
  const guards = [...budgets.pdbs.flatMap(wordOf), ...surging];
  return { text, names: [eligible, resting], guards, types, atMs };
}

/** What of a budget decides. How many of its pods are well, for one, is written each time that one of them is not. */
function wordOf(pdb: PodDisruptionBudget): readonly unknown[] {
  const { metadata, spec, status } = pdb;
  // It lets go who is not ready: its status is the sign that somebody is, or is not.
  if (spec.unhealthyPodEvictionPolicy === "AlwaysAllow") return [pdb];
  return [metadata.uid, metadata.generation ?? spec, status?.disruptionsAllowed];
}
