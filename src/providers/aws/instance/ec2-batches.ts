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
import type {
  CreateFleetInput,
  CreateFleetOutput,
  FleetError,
  FleetInstance,
} from "../api/launches.ts";
import { RequestBatcher } from "../batch/batcher.ts";
import { Pace } from "../batch/pace.ts";
import { isNotFound, isPassing, isThrottled } from "../errors.ts";
import { DeniedLaunches, withToken } from "./denied-launches.ts";
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
  readonly #fleets: RequestBatcher<FleetWish, FleetAnswer>;
  readonly #lookups: RequestBatcher<string, Instance | undefined>;
  readonly #terminations: RequestBatcher<string, undefined>;
  readonly #denied: DeniedLaunches;

  constructor(unpaced: Ec2Api, clock: Clock, metrics: Pick<Metrics, "observe">) {
    const ec2 = paced(unpaced, clock);
    const onBatch = (batcher: string) => (openMs: number, size: number) => {
      metrics.observe("cloudprovider_batcher_batch_time_seconds", { batcher }, openMs / 1_000);
      metrics.observe("cloudprovider_batcher_batch_size", { batcher }, size);
    };
    this.#denied = new DeniedLaunches(ec2, clock);
    const fleets = { ec2, tokens: new FleetTokens(), denied: this.#denied };
    this.#fleets = new RequestBatcher<FleetWish, FleetAnswer>({
      clock,
      onBatch: onBatch("create_fleet"),
      idleMs: 35,
      maxMs: 1_000,
      maxItems: 1_000,
      keyOf: ({ input }) => canonicalJson(input),
      execute: (wishes) => createFleet(fleets, wishes),
    });
    const list = { clock, idleMs: 100, maxMs: 1_000, maxItems: 500, keyOf: () => "" };
    this.#lookups = new RequestBatcher<string, Instance | undefined>({
      ...list,
      onBatch: onBatch("describe_instances"),
      execute: (ids) => describe(ec2, ids),
    });
    this.#terminations = new RequestBatcher<string, undefined>({
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

  /** Takes in a list of this cluster's instances. Returns those that EC2 launched although it said `no capacity`. */
  listed(instances: readonly Instance[]): readonly Instance[] {
    return this.#denied.listed(instances);
  }

  terminate(id: string): Promise<undefined> {
    return this.#terminations.ask(id);
  }
}

/**
 * The calls that are batched. If AWS throttles one of them, only that call is slowed down, and its batch does not
 * fail.
 */
type Batched = Pick<Ec2Api, "createFleet" | "describeInstances" | "terminateInstances">;

function paced(ec2: Ec2Api, clock: Clock): Batched {
  const [fleets, lookups, terminations] = [new Pace(clock), new Pace(clock), new Pace(clock)];
  return {
    createFleet: (input) => fleets.run(() => ec2.createFleet(input)),
    describeInstances: (input) => lookups.run(() => ec2.describeInstances(input)),
    terminateInstances: (input) => terminations.run(() => ec2.terminateInstances(input)),
  };
}

/** What calls of CreateFleet need. */
interface Fleets {
  readonly ec2: Batched;
  readonly tokens: FleetTokens;
  readonly denied: DeniedLaunches;
}

/** First takes instances of earlier calls whose result was unknown, then launches the missing ones. */
async function createFleet(
  fleets: Fleets,
  wishes: readonly FleetWish[],
): Promise<readonly (FleetAnswer | Error)[]> {
  const [first] = wishes;
  if (first === undefined) return [];
  // The launch continues if EC2 does not answer the question about earlier instances.
  const late = await fleets.denied.forFleet(first.input, uidsOf(wishes)).catch(() => []);
  const served = late.map((group) => ({ instance: oneOf(group), errors: [] }));
  for (const { claimUid } of wishes.slice(0, late.length)) fleets.tokens.heard(claimUid, true);
  const left = wishes.slice(late.length);
  if (left.length === 0) return served;
  const why = fleets.denied.hold(first.input);
  if (why === undefined) return [...served, ...(await launchFleet(fleets, left))];
  const errors = [{ ErrorCode: "UnfulfillableCapacity", ErrorMessage: why }];
  return [...served, ...left.map(() => ({ instance: undefined, errors }))];
}

async function launchFleet(
  fleets: Fleets,
  wishes: readonly FleetWish[],
): Promise<readonly (FleetAnswer | Error)[]> {
  const { ec2, tokens, denied } = fleets;
  const { input } = wishes[0] as FleetWish;
  const { TargetCapacitySpecification: target } = input;
  const whole = {
    ...input,
    TargetCapacitySpecification: { ...target, TotalTargetCapacity: wishes.length },
  };
  const uids = uidsOf(wishes);
  const token = tokens.of(whole, uids);
  const answer = await ec2
    .createFleet(token === undefined ? whole : withToken(whole, token))
    .catch((error: Error) => error);
  const all = answer instanceof Error ? [] : answer.Instances.flatMap(each);
  // A false answer may name an instance twice, or one that another claim got from an earlier call.
  const byId = new Map(all.map((one) => [one.instanceId, one]));
  const named = [...byId.values()].filter(({ instanceId }) => !denied.isGiven(instanceId, uids));
  if (token !== undefined)
    named.push(...(await unnamed(fleets, { token, input, wishes, answer, named })));
  return wishes.map(({ claimUid }, at) => {
    const instance = named[at];
    if (answer instanceof Error && instance === undefined) return answer;
    tokens.heard(claimUid, instance !== undefined);
    if (instance !== undefined) denied.give(instance.instanceId, claimUid);
    const errors = answer instanceof Error ? [] : answer.Errors;
    if (instance === undefined && errors.length === 0) return { instance, errors: [TOO_FEW] };
    return { instance, errors };
  });
}

function uidsOf(wishes: readonly FleetWish[]): readonly string[] {
  return wishes.map(({ claimUid }) => claimUid);
}

interface Launched {
  readonly token: string;
  /** A fleet of one. */
  readonly input: CreateFleetInput;
  readonly wishes: readonly FleetWish[];
  readonly answer: CreateFleetOutput | Error;
  readonly named: readonly OneInstance[];
}

/**
 * Instances of the call that its answer does not name. EC2 is asked for them, unless the answer names enough
 * instances or is a certain refusal.
 */
async function unnamed(
  { denied }: Fleets,
  { token, input, wishes, answer, named }: Launched,
): Promise<readonly OneInstance[]> {
  if (named.length >= wishes.length) {
    denied.settle(token);
    return [];
  }
  // A call that EC2 refused for certain has launched nothing.
  if (answer instanceof Error && (isThrottled(answer) || !isPassing(answer))) return [];
  const isSoldOut = !(answer instanceof Error) && answer.Errors.length > 0;
  const known = named.map(({ instanceId }) => instanceId);
  denied.doubt(token, input, { isSoldOut, named: known });
  const missing = uidsOf(wishes.slice(named.length));
  const found = await denied.ofCall(token, missing, known).catch(() => []);
  if (found.length === missing.length) denied.settle(token);
  return found.map(oneOf);
}

const TOO_FEW: FleetError = {
  ErrorCode: "UnfulfillableCapacity",
  ErrorMessage: "too few instances returned",
};

type OneInstance = NonNullable<FleetAnswer["instance"]>;

function each(group: FleetInstance): readonly OneInstance[] {
  return group.InstanceIds.map((instanceId) => ({ ...group, instanceId }));
}

function oneOf(group: FleetInstance): OneInstance {
  return { ...group, instanceId: group.InstanceIds[0] as string };
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
      // One unknown id makes the whole list fail, so each id is looked up alone.
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
