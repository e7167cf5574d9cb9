/**
 * What the disruption loop remembers of each method, so that it neither asks for what it knows nor holds
 * up others: the state of things in which nothing was found, and how far an unfinished sweep has come.
 */
import { keyOf } from "../../apis/meta.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import type { Method, MethodInput, Proposal } from "../../core/disruption/methods/method.ts";
import type { World } from "../world.ts";
import type { Surroundings } from "./look.ts";

/** A method that found nothing looks again after this if prices or offerings are others, */
const FORCED_LOOK_MS = 5 * 60_000;
/** and after this in any case: volumes and the like change without a sign. */
const LATEST_LOOK_MS = 30 * 60_000;

/** All that could change a method's mind. */
export interface Facts {
  readonly text: string;
  /** The very lists: a cloud gives the same ones while nothing has changed. */
  readonly types: readonly (readonly InstanceType[])[];
  readonly atMs: number;
}

interface Sweep {
  readonly since: Facts;
  readonly examined: Set<string>;
}

const NOTHING: ReadonlySet<string> = new Set();

export class Sweeps {
  readonly #settled = new Map<string, Facts>();
  readonly #open = new Map<string, Sweep>();

  /** Whether asking the method would only give the answer it gave before. */
  rests(method: Method, now: Facts): boolean {
    if (!method.costly || this.isOpen(method)) return false;
    const known = this.#settled.get(method.name);
    if (known === undefined || known.text !== now.text) return false;
    const same = known.types.every((list, index) => list === now.types[index]);
    return now.atMs - known.atMs < (same ? LATEST_LOOK_MS : FORCED_LOOK_MS);
  }

  /** Whether the method is in the middle of a sweep. */
  isOpen({ name }: Method): boolean {
    return this.#open.has(name);
  }

  /** Names of the nodes that the sweep so far has looked at. */
  examined({ name }: Method): ReadonlySet<string> {
    return this.#open.get(name)?.examined ?? NOTHING;
  }

  /** Takes an answer down; says whether the sweep goes on. */
  note({ name }: Method, { commands, slice }: Proposal, now: Facts): boolean {
    const sweep = this.#open.get(name) ?? { since: now, examined: new Set<string>() };
    this.#open.delete(name);
    if (commands.length > 0) return false;
    if (slice === undefined) {
      // What has changed meanwhile may concern a node that was looked at early.
      this.#settled.set(name, sweep.since);
      return false;
    }
    for (const node of slice) sweep.examined.add(node);
    this.#open.set(name, sweep);
    return true;
  }
}

export function factsOf(
  world: World,
  method: Method,
  { nowMs, candidates, allowances, alphaBusy, backingOff }: MethodInput,
  { pools, scheduling }: Surroundings,
): Facts {
  const text = JSON.stringify([
    world.cluster.revision,
    alphaBusy,
    [...backingOff].sort(),
    scheduling.pods.map(keyOf),
    candidates.filter((one) => method.isEligible(one, nowMs)).map(({ node }) => node.name),
    pools.map(({ pool }) => [pool.id, pool.observedGeneration, allowances.get(pool.id)?.allowed]),
    scheduling.pools.map(({ pool }) => [pool.id, pool.observedGeneration]),
  ]);
  const types = scheduling.pools.map(({ instanceTypes }) => instanceTypes);
  return { text, types, atMs: nowMs };
}
