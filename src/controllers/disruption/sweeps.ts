/**
 * Remembers for each method the facts with which it proposed nothing, and when. The method is skipped while these facts
 * are unchanged, for at most half an hour. If only prices or offerings have changed, it runs again within five minutes.
 */
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { haveSameItems } from "../../base/same-items.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import type { Ruling } from "../../core/disruption/arbiter.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import type { Method } from "../../core/disruption/methods/method.ts";
import type { Round } from "../../core/disruption/round.ts";
import type { PoolInput } from "../../core/provisioning/scheduling-input.ts";
import type { ClusterReading } from "./gather.ts";

/** If prices or offerings have changed, consolidation runs again after this time. */
const PRICE_CHANGE_MS = 5 * 60_000;
/**
 * If offerings have changed, other methods run again after this time, because an instance type may have capacity again.
 */
const OFFERING_CHANGE_MS = 60_000;
/** Every method runs again after this time, because some changes, such as those of volumes, are not noticed. */
const LATEST_MS = 30 * 60_000;

/** All facts that may change the result of a method. */
export interface SweepFacts {
  readonly text: string;
  /** Lists of node names. They are compared one by one, because a joined text would be very long. */
  readonly names: readonly (readonly string[])[];
  /** PodDisruptionBudgets, and Deployments that are moved without downtime. */
  readonly guards: readonly unknown[];
  /** Instance types, compared by identity: a cloud returns the same lists if nothing has changed. */
  readonly types: readonly (readonly InstanceType[])[];
  /** When the method ran, by the monotonic clock. */
  readonly atMs: number;
}

/** Remembers, for each method, the facts of its last final result. */
export class Sweeps {
  readonly #settled = new Map<string, SweepFacts>();

  /** Whether the method would give the same result again. */
  isSettled(method: Method, now: SweepFacts): boolean {
    const known = this.#settled.get(method.name);
    if (known === undefined || known.text !== now.text) return false;
    if (!haveSameItems(known.guards, now.guards)) return false;
    if (!known.names.every((list, index) => haveSameItems(list, now.names[index] ?? [])))
      return false;
    const same = known.types.every((list, index) => list === now.types[index]);
    const changedMs = method.reason === "Underutilized" ? PRICE_CHANGE_MS : OFFERING_CHANGE_MS;
    return now.atMs - known.atMs < (same ? LATEST_MS : changedMs);
  }

  /** Remembers the facts if the result is final, else forgets earlier ones. */
  note(method: Method, { isFinal }: Pick<Ruling, "isFinal">, facts: SweepFacts): void {
    if (isFinal) this.#settled.set(method.name, facts);
    else this.#settled.delete(method.name);
  }
}

/** The facts about a reading of the cluster that are the same for all methods, as a text. */
export function sharedFacts({
  pools,
  scheduling,
  revision,
}: Pick<ClusterReading, "pools" | "scheduling" | "revision">): string {
  const versions = (list: readonly Pick<PoolInput, "pool">[]) =>
    list.map(({ pool }) => [pool.id, pool.observedGeneration]);
  const pods = scheduling.pods.map(keyOf);
  return JSON.stringify([revision, pods, versions(pools), versions(scheduling.pools)]);
}

/**
 * The facts that may change the result of a method. `eligible`: the candidates that it considers in this round.
 * `shared`: the {@link sharedFacts} of the reading. `counting`: ids of the commands whose moves the ledger holds.
 */
export function* factsOf(
  eligible: readonly Candidate[],
  { facts, budgets, holdOffs }: Round,
  {
    pools,
    scheduling,
    surging,
    shared,
    counting,
    atMs,
  }: Pick<ClusterReading, "pools" | "scheduling" | "surging"> & {
    readonly shared: string;
    readonly counting: readonly string[];
    readonly atMs: number;
  },
): Steps<SweepFacts> {
  const names: string[] = [];
  // Candidates whose hold-off will end. They become eligible without any other change.
  const heldOff: string[] = [];
  yield* eachInSteps(eligible, (one) => {
    names.push(one.node.name);
    if (holdOffs.fromRepack(one)) heldOff.push(one.node.name);
  });
  const own = JSON.stringify([
    facts.alphaBusy,
    [...holdOffs.backingOff.keys()].sort(),
    counting,
    pools.map(({ pool }) => budgets.allowances.get(pool.id)?.allowed),
  ]);
  const types = scheduling.pools.map(({ instanceTypes }) => instanceTypes);
  const guards = [...budgets.pdbs.flatMap(evictionFactsOf), ...surging];
  return { text: `${shared}${own}`, names: [names, heldOff], guards, types, atMs };
}

/**
 * The parts of a PodDisruptionBudget that decide whether pods may be evicted. Its other parts, such as the number of
 * healthy pods, change often.
 */
function evictionFactsOf(pdb: PodDisruptionBudget): readonly unknown[] {
  const { metadata, spec, status } = pdb;
  // With AlwaysAllow unready pods may be evicted, and only the whole status shows when pods became unready.
  if (spec.unhealthyPodEvictionPolicy === "AlwaysAllow") return [pdb];
  return [metadata.uid, metadata.generation ?? spec, status?.disruptionsAllowed];
}
