/**
 * Joins EC2 calls that many reconciles make at the same time: equal fleets into one with more capacity, lookups and
 * terminations into lists. If an id makes a lookup fail, each id is looked up alone. If EC2 refuses a list of
 * terminations, each half of the list is tried. upstream: pkg/batcher
 */
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Metrics } from "../../../base/metrics.ts";
import { AwsError, allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { Instance } from "../api/instances.ts";
import type { CreateFleetInput, FleetError, FleetInstance } from "../api/launches.ts";
import { Batcher } from "../batch/batcher.ts";
import { Pace } from "../batch/pace.ts";
import { isNotFound } from "../errors.ts";
import { FleetTokens } from "./fleet-tokens.ts";

/** The part of a fleet's answer for one caller. */
export interface FleetAnswer {
  readonly instance: (FleetInstance & { readonly instanceId: string }) | undefined;
  readonly errors: readonly FleetError[];
}

interface FleetWish {
  readonly input: CreateFleetInput;
  readonly claimUid: string;
}

/** States of an instance that is not terminated. */
const LIVE_STATES = ["pending", "running", "stopping", "stopped", "shutting-down"];
const LIVE_FILTER = { Name: "instance-state-name", Values: LIVE_STATES };

/** Joins equal EC2 calls of the same moment into one. */
export class Ec2Batches {
  readonly #fleets: Batcher<FleetWish, FleetAnswer>;
  readonly #lookups: Batcher<string, Instance | undefined>;
  readonly #terminations: Batcher<string, undefined>;

  constructor(unpaced: Ec2Api, clock: Clock, metrics: Pick<Metrics, "observe">) {
    const ec2 = paced(unpaced, clock);
    const onBatch = (batcher: string) => (openMs: number, size: number) => {
      metrics.observe("cloudprovider_batcher_batch_time_seconds", { batcher }, openMs / 1_000);
      metrics.observe("cloudprovider_batcher_batch_size", { batcher }, size);
    };
    const tokens = new FleetTokens();
    this.#fleets = new Batcher<FleetWish, FleetAnswer>({
      clock,
      onBatch: onBatch("create_fleet"),
      idleMs: 35,
      maxMs: 1_000,
      maxItems: 1_000,
      keyOf: ({ input }) => canonicalJson(input),
      execute: (wishes) => createFleet(ec2, tokens, wishes),
    });
    const list = { clock, idleMs: 100, maxMs: 1_000, maxItems: 500, keyOf: () => "" };
    this.#lookups = new Batcher<string, Instance | undefined>({
      ...list,
      onBatch: onBatch("describe_instances"),
      execute: (ids) => describe(ec2, ids),
    });
    this.#terminations = new Batcher<string, undefined>({
      ...list,
      onBatch: onBatch("terminate_instances"),
      execute: (ids) => terminate(ec2, ids),
    });
  }

  /** `claimUid`: the claim that needs an instance. A repeated call with equal input returns the same instance. */
  createFleet(input: CreateFleetInput, claimUid: string): Promise<FleetAnswer> {
    return this.#fleets.ask({ input, claimUid });
  }

  /** The instance. Undefined: it is terminated, or EC2 does not know the id. */
  async instance(id: string): Promise<Instance | undefined> {
    const found = await this.lookUp(id);
    return found?.State.Name === "terminated" ? undefined : found;
  }

  /** The instance in any state, until about an hour after its termination. Undefined: EC2 does not know the id. */
  lookUp(id: string): Promise<Instance | undefined> {
    return this.#lookups.ask(id);
  }

  terminate(id: string): Promise<undefined> {
    return this.#terminations.ask(id);
  }
}

/** The joined calls. Each slows down for itself when AWS throttles it, so that no whole batch fails. */
type Batched = Pick<Ec2Api, "createFleet" | "describeInstances" | "terminateInstances">;

function paced(ec2: Ec2Api, clock: Clock): Batched {
  const [fleets, lookups, terminations] = [new Pace(clock), new Pace(clock), new Pace(clock)];
  return {
    createFleet: (input) => fleets.run(() => ec2.createFleet(input)),
    describeInstances: (input) => lookups.run(() => ec2.describeInstances(input)),
    terminateInstances: (input) => terminations.run(() => ec2.terminateInstances(input)),
  };
}

async function createFleet(
  ec2: Batched,
  tokens: FleetTokens,
  wishes: readonly FleetWish[],
): Promise<readonly FleetAnswer[]> {
  const [first] = wishes;
  if (first === undefined) return [];
  const { TargetCapacitySpecification: target } = first.input;
  const input = {
    ...first.input,
    TargetCapacitySpecification: { ...target, TotalTargetCapacity: wishes.length },
  };
  const ClientToken = tokens.of(
    input,
    wishes.map(({ claimUid }) => claimUid),
  );
  const output = await ec2.createFleet({
    ...input,
    ...(ClientToken === undefined ? {} : { ClientToken }),
  });
  const instances = output.Instances.flatMap((group) =>
    group.InstanceIds.map((instanceId) => ({ ...group, instanceId })),
  );
  const few: FleetError = {
    ErrorCode: "UnfulfillableCapacity",
    ErrorMessage: "too few instances returned",
  };
  const errors = output.Errors.length > 0 ? output.Errors : [few];
  return wishes.map(({ claimUid }, at) => {
    const instance = instances[at];
    tokens.heard(claimUid, instance !== undefined);
    return { instance, errors: instance === undefined ? errors : output.Errors };
  });
}

async function describe(
  ec2: Batched,
  ids: readonly string[],
): Promise<readonly (Instance | undefined | Error)[]> {
  const unique = [...new Set(ids)].sort();
  const found = new Map<string, Instance>();
  const failed = new Map<string, Error>();
  const read = async (InstanceIds: readonly string[]): Promise<void> => {
    const pages = await allPages((token) => ec2.describeInstances({ InstanceIds, ...token }));
    for (const instance of instancesIn(pages)) {
      const known = found.get(instance.InstanceId);
      // If two answers about one instance differ, it counts as running, which is the safe choice.
      if (known === undefined || known.State.Name === "terminated")
        found.set(instance.InstanceId, instance);
    }
  };
  try {
    await read(unique);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    if (unique.length > 1) {
      // One unknown id makes the whole list fail, so each id is asked for alone.
      await Promise.all(unique.map((id) => read([id]).catch((e) => failed.set(id, e))));
    }
  }
  return ids.map((id) => {
    const error = failed.get(id);
    return error !== undefined && !isNotFound(error) ? error : found.get(id);
  });
}

async function terminate(
  ec2: Batched,
  ids: readonly string[],
): Promise<readonly (undefined | Error)[]> {
  const failed = new Map<string, Error>();
  await terminateEach(ec2, [...new Set(ids)].sort(), failed);
  return ids.map((id) => failed.get(id));
}

/**
 * EC2 refuses a whole list because of one instance that is protected, unknown or in another account. So a refused list
 * is halved and each half is tried.
 */
async function terminateEach(
  ec2: Batched,
  ids: readonly string[],
  failed: Map<string, Error>,
): Promise<void> {
  try {
    await ec2.terminateInstances({ InstanceIds: ids });
  } catch (error) {
    if (ids.length === 1 || !isAboutOne(error)) {
      for (const id of ids) failed.set(id, error as Error);
      return;
    }
    const half = Math.ceil(ids.length / 2);
    await Promise.all(
      [ids.slice(0, half), ids.slice(half)].map((part) => terminateEach(ec2, part, failed)),
    );
  }
}

/** Codes with which EC2 refuses a list because of one of its instances. */
const ABOUT_ONE = new Set([
  "OperationNotPermitted",
  "UnauthorizedOperation",
  "IncorrectInstanceState",
  "IncorrectState",
  "UnsupportedOperation",
  "InvalidInstanceID.Malformed",
]);

function isAboutOne(error: unknown): boolean {
  return isNotFound(error) || (error instanceof AwsError && ABOUT_ONE.has(error.code));
}

/** Every instance that is not terminated and passes all of these filters. */
export async function listInstances(
  ec2: Pick<Ec2Api, "describeInstances">,
  filters: readonly { readonly Name: string; readonly Values: readonly string[] }[],
): Promise<readonly Instance[]> {
  const pages = await allPages((token) =>
    ec2.describeInstances({ Filters: [LIVE_FILTER, ...filters], MaxResults: 1_000, ...token }),
  );
  return [...instancesIn(pages)].sort((a, b) => (a.InstanceId < b.InstanceId ? -1 : 1));
}

function instancesIn(
  pages: readonly {
    readonly Reservations: readonly { readonly Instances: readonly Instance[] }[];
  }[],
): readonly Instance[] {
  return pages.flatMap((page) => page.Reservations.flatMap((one) => one.Instances));
}
