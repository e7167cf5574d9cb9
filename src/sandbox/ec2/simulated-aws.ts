/**
 * The simulated AWS: one account on a clock, its calls as an in-process `AwsApi`, a journal of all calls,
 * faults, and controls to seed and change the account. Except for long polling, a call runs without
 * interruption: it checks for faults, answers or refuses, and is recorded.
 */
import { errorText } from "../../base/error-text.ts";
import { clone, isObject } from "../../base/json.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import type { Tag } from "../../providers/aws/api/call.ts";
import { AwsError } from "../../providers/aws/api/call.ts";
import type { Image } from "../../providers/aws/api/images-and-types.ts";
import type {
  Instance,
  InstanceStatus,
  RunInstancesInput,
} from "../../providers/aws/api/instances.ts";
import { ClientTokens } from "./account/client-tokens.ts";
import type { Faults } from "./account/faults.ts";
import { eksCalls, iamCalls, stsCalls, webIdentityCalls } from "./account/identity.ts";
import { Journal } from "./account/journal.ts";
import type { PolicyDocument } from "./account/policy.ts";
import { checkPolicy } from "./account/policy.ts";
import type { AwsState, ImageVariant, InstanceChange, InstanceRecord } from "./account/state.ts";
import { awsTime, newId, setTags } from "./account/state.ts";
import { tagCalls } from "./account/tags.ts";
import type { BaseOptions, SubnetSeed } from "./base-state.ts";
import { addSubnet, createBaseState, startNodeGroup } from "./base-state.ts";
import type { KubeletFacts } from "./boot/kubelet-facts.ts";
import { kubeletOf } from "./boot/kubelet-facts.ts";
import type { ImageFamily } from "./boot/user-data.ts";
import { fleetCalls } from "./instances/fleet.ts";
import { imageCalls, imageDevices, ssmCalls } from "./instances/images.ts";
import { toInstance } from "./instances/instance-view.ts";
import { instanceCalls, reclaim, stop, terminate } from "./instances/instances.ts";
import { launchTemplateCalls } from "./instances/launch-templates.ts";
import { networkCalls } from "./instances/network.ts";
import { instanceTypeCalls } from "./market/instance-types.ts";
import { pricingCalls, spotPriceCalls } from "./market/prices.ts";
import { quotaCalls } from "./market/quotas.ts";
import {
  addPlacementGroup,
  addReservation,
  type PlacementGroupSeed,
  type ReservationSeed,
  setAsideCalls,
} from "./market/reservations.ts";
import { fisCalls } from "./people/experiments.ts";
import { extraCalls } from "./people/extra-calls.ts";
import { peoplesCalls } from "./people/people.ts";
import { zonalShiftCalls } from "./people/zonal-shift.ts";
import { eventsCalls, publish, type ServiceEvent } from "./queues/event-bus.ts";
import { tellChange, tellRebalance, tellRetirement } from "./queues/instance-events.ts";
import { sqsCalls } from "./queues/sqs.ts";

/** A change of an instance. A change to `running` has `kubelet` if a kubelet will join. */
export interface InstanceEvent {
  readonly type: InstanceChange;
  readonly instance: Instance;
  /** The private DNS name: the Node's name. */
  readonly nodeName: string;
  /** The provider id: `aws:///<zone>/<instance id>`. */
  readonly providerId: string;
  readonly kubelet?: KubeletFacts;
  /** Set with `running`: why no kubelet will join. */
  readonly problem?: string;
}

/** The options of a simulated account. */
export interface SimulatedAwsOptions extends BaseOptions {
  /** Called for each change, in order and synchronously. It must not throw. */
  readonly onInstance: (event: InstanceEvent) => void;
  /** How long a call takes. Default 0: it answers immediately. */
  readonly latencyMs?: (action: string) => number;
  /** Whether the account begins with the two machines of the unmanaged node group. Default true. */
  readonly nodeGroup?: boolean;
}

/** An image to add. */
export interface ImageSeed {
  readonly id?: string;
  readonly name: string;
  readonly family?: ImageFamily;
  readonly variant?: ImageVariant;
  /** The image's architecture. Default `x86_64`. */
  readonly architecture?: "x86_64" | "arm64";
  /** The account that owns the image. Default: the simulated account. */
  readonly ownerId?: string;
  readonly createdMs?: number;
  readonly deprecatedMs?: number;
  readonly tags?: readonly Tag[];
}

/** Changes to the account that a user makes by hand. */
export interface AwsControls {
  addSubnet(seed: SubnetSeed & { readonly tags?: readonly Tag[] }): string;
  addSecurityGroup(seed: {
    readonly id?: string;
    readonly name: string;
    readonly vpcId?: string;
    readonly tags?: readonly Tag[];
  }): string;
  addImage(seed: ImageSeed): string;
  setParameter(path: string, value: string): void;
  addRole(name: string): void;
  addInstanceProfile(name: string, roleName: string): void;
  /** Adds tags to any EC2 resource, or removes tags by key. */
  tag(id: string, tags: readonly Tag[]): void;
  untag(id: string, keys: readonly string[]): void;
  /** Sets the number of free addresses of a subnet; launches reduce it. */
  setFreeAddresses(subnetId: string, count: number): void;
  /** Sets the IAM policy of Karpenter's role for launches. Undefined: everything is allowed. */
  setPolicy(policy: PolicyDocument | undefined): void;
  /** Stops selling a type in a zone. */
  removeOffering(instanceType: string, zone: string): void;
  /** Interrupts a spot instance: the notice now, the termination two minutes later. */
  reclaimSpot(instanceId: string): void;
  /** Terminates an instance, as if its host failed. */
  failInstance(instanceId: string): void;
  /** Adds a capacity reservation and returns its id. */
  addReservation(seed: ReservationSeed): string;
  addPlacementGroup(seed: PlacementGroupSeed): string;
  /** Sets the result of an instance's status checks. Undefined: they pass. */
  impair(instanceId: string, status: Omit<InstanceStatus, "InstanceId"> | undefined): void;
  /** Stops an instance without terminating it. */
  stopInstance(instanceId: string): void;
  /** Sends a rebalance recommendation for a spot instance. Nothing else happens to it. */
  recommendRebalance(instanceId: string): void;
  /** Sends AWS Health's announcement that the host of these instances will be retired. Nothing else happens. */
  scheduleRetirement(...instanceIds: readonly string[]): void;
  /** Sends any event to the event bus, as AWS services do. */
  putEvent(event: ServiceEvent): void;
}

/** A simulated AWS account. */
export interface SimulatedAws {
  readonly api: AwsApi;
  readonly journal: Journal;
  readonly faults: Faults;
  readonly controls: AwsControls;
  /** The account's records, for views and tests. Only calls and controls may change them. */
  readonly state: AwsState;
  /** What the kubelets of the unmanaged node group report. */
  readonly nodeGroup: readonly KubeletFacts[];
  /** Makes a call by service and action name, including calls that Karpenter never makes. */
  call(service: string, action: string, input: unknown, signal?: AbortSignal): Promise<unknown>;
  /** Whether the simulation has this action. */
  knows(service: string, action: string): boolean;
}

/** A function that answers a call immediately, or with a promise if the call waits (long polling). */
type Handler = (input: never, signal?: AbortSignal) => unknown;
type Handlers = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

/** Creates an account in its first state. */
export function createSimulatedAws(options: SimulatedAwsOptions): SimulatedAws {
  const state = createBaseState(options, (record, change) => {
    tellChange(state, record, change);
    options.onInstance(eventOf(state, record, change));
  });
  const nodeGroup = options.nodeGroup === false ? [] : startNodeGroup(state);
  const journal = new Journal();
  const handlers = handlersOf(state);
  const tokens = new ClientTokens();
  const latencyMs = options.latencyMs ?? (() => 0);

  function answer(
    service: string,
    action: string,
    input: unknown,
    signal: AbortSignal | undefined,
  ): unknown {
    state.faults.checkCall(service, action);
    const handler = handlerOf(handlers, service, action);
    if (handler === undefined) {
      throw new AwsError("InvalidAction", `The action ${action} is not valid for ${service}.`);
    }
    if (isObject(input) && input["DryRun"] === true) {
      if (action === "RunInstances") checkTrial(state, input);
      const message = "Request would have succeeded, but DryRun flag is set.";
      throw new AwsError("DryRunOperation", message, 412);
    }
    return tokens.once(`${service}/${action}`, input, () => handler(input as never, signal));
  }

  async function call(
    service: string,
    action: string,
    given: unknown,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const input = clone(given);
    const delayMs = latencyMs(action);
    if (delayMs > 0) await state.clock.sleep(delayMs);
    const entry = { atMs: state.clock.now(), service, action, input };
    try {
      const result = answer(service, action, input, signal);
      const output = result instanceof Promise ? await result : result;
      const isReading = /^(Describe|Get)/.test(action);
      journal.record({ ...entry, outcome: isReading ? { ok: true } : { ok: true, output } });
      return output;
    } catch (error) {
      const { code, message } = toAwsError(error);
      journal.record({ ...entry, outcome: { ok: false, code, message } });
      throw error;
    }
  }

  return {
    api: doorsOf(handlers, call),
    journal,
    faults: state.faults,
    controls: controlsOf(state),
    state,
    nodeGroup,
    call,
    knows: (service, action) => handlerOf(handlers, service, action) !== undefined,
  };
}

/** Finds the function for an action, in own properties only: `constructor` and `__proto__` are not actions. */
function handlerOf(handlers: Handlers, service: string, action: string): Handler | undefined {
  const method = action.slice(0, 1).toLowerCase() + action.slice(1);
  const calls = Object.hasOwn(handlers, service) ? handlers[service] : undefined;
  return calls !== undefined && Object.hasOwn(calls, method) ? calls[method] : undefined;
}

/** The calls of {@link AwsApi}, as methods grouped by service. */
function doorsOf(handlers: Handlers, call: SimulatedAws["call"]): AwsApi {
  const clientOf = (service: string) =>
    Object.fromEntries(
      Object.keys(handlers[service] ?? {}).map((method) => {
        const action = method.slice(0, 1).toUpperCase() + method.slice(1);
        const ask = (input: unknown, options?: { readonly signal?: AbortSignal }) =>
          call(service, action, input, options?.signal);
        return [method, ask];
      }),
    );
  const services = [
    "ec2",
    "ssm",
    "iam",
    "eks",
    "pricing",
    "sts",
    "sqs",
    "zonalShift",
    "servicequotas",
  ];
  return Object.fromEntries(services.map((name) => [name, clientOf(name)])) as unknown as AwsApi;
}

/** Makes the checks that EC2 makes even for a dry run. */
function checkTrial(state: AwsState, input: object): void {
  const { IamInstanceProfile } = input as Partial<RunInstancesInput>;
  const name = IamInstanceProfile?.Name;
  if (name === undefined || state.profiles.has(name)) return;
  const message = `Value (${name}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name`;
  throw new AwsError("InvalidParameterValue", message);
}

/** RunInstances is simulated only as a dry run, because Karpenter launches with CreateFleet. */
function trialCalls() {
  return {
    runInstances: () => {
      throw new AwsError(
        "Unsupported",
        "RunInstances is simulated as a dry run only; use CreateFleet",
      );
    },
  };
}

function handlersOf(state: AwsState): Handlers {
  const peoples = peoplesCalls(state);
  return {
    ec2: {
      ...networkCalls(state),
      ...imageCalls(state),
      ...instanceTypeCalls(state),
      ...spotPriceCalls(state),
      ...launchTemplateCalls(state),
      ...fleetCalls(state),
      ...instanceCalls(state),
      ...tagCalls(state),
      ...setAsideCalls(state),
      ...trialCalls(),
      ...extraCalls(state),
      ...peoples.ec2,
    },
    ssm: { ...ssmCalls(state), ...peoples.ssm },
    iam: { ...iamCalls(state) },
    eks: { ...eksCalls(state) },
    pricing: { ...pricingCalls(state) },
    sts: { ...stsCalls(state), ...webIdentityCalls(state) },
    sqs: { ...sqsCalls(state) },
    events: { ...eventsCalls(state), ...peoples.events },
    fis: { ...fisCalls(state) },
    zonalShift: { ...zonalShiftCalls(state) },
    servicequotas: { ...quotaCalls(state) },
  };
}

/** Converts an error for the caller. An unexpected error becomes AWS's `InternalError`. */
export function toAwsError(error: unknown): AwsError {
  if (error instanceof AwsError) return error;
  const message = errorText(error);
  return new AwsError("InternalError", message, 500, error);
}

function eventOf(state: AwsState, record: InstanceRecord, type: InstanceChange): InstanceEvent {
  const event = {
    type,
    instance: toInstance(state, record),
    nodeName: record.privateDnsName,
    providerId: `aws:///${record.zone}/${record.id}`,
  };
  if (type !== "running") return event;
  const { type: instanceType, zone, capacityType } = record;
  const result = state.faults.takesJoin({ instanceType, zone, capacityType })
    ? { ok: false as const, problem: "fault: the machine never joins" }
    : kubeletOf(state, record);
  if (result.ok) {
    // EKS tags the instances that join its cluster.
    setTags(state, record.id, [{ Key: "aws:eks:cluster-name", Value: state.clusterName }]);
    return { ...event, instance: toInstance(state, record), kubelet: result.kubelet };
  }
  state.trace?.({
    atMs: state.clock.now(),
    actor: "ec2",
    verb: "stuck",
    object: `instance ${record.id}`,
    what: "no kubelet joins",
    why: result.problem,
  });
  return { ...event, problem: result.problem };
}

function controlsOf(state: AwsState): AwsControls {
  const instanceNamed = (id: string): InstanceRecord => known(state.instances, id, "instance");
  const spotNamed = (id: string): InstanceRecord => {
    const record = instanceNamed(id);
    if (record.capacityType === "spot") return record;
    throw new Error(`reclaiming instance ${id}: it is on-demand; choose a spot instance`);
  };
  return {
    addSubnet(seed) {
      const { id } = addSubnet(state, seed);
      setTags(state, id, seed.tags ?? []);
      return id;
    },
    addSecurityGroup(seed) {
      const id = seed.id ?? newId(state, "sg");
      const vpcId = seed.vpcId ?? state.vpcId;
      state.securityGroups.set(id, { id, name: seed.name, vpcId, description: seed.name });
      setTags(state, id, seed.tags ?? []);
      return id;
    },
    addImage: (seed) => addImage(state, seed),
    setParameter(path, value) {
      state.parameters.set(path, value);
    },
    addRole(name) {
      const id = `AROA${state.random.hex(16).toUpperCase()}`;
      state.roles.set(name, { name, path: "/", id, createdMs: state.clock.now() });
    },
    addInstanceProfile(name, role) {
      const id = `AIPA${state.random.hex(16).toUpperCase()}`;
      const createdMs = state.clock.now();
      state.profiles.set(name, { name, path: "/", id, createdMs, tags: new Map(), role });
    },
    tag: (id, tags) => setTags(state, id, tags),
    untag(id, keys) {
      for (const key of keys) state.tags.get(id)?.delete(key);
    },
    setFreeAddresses(subnetId, count) {
      known(state.subnets, subnetId, "subnet").freeOverride = count;
    },
    setPolicy(policy) {
      state.policy = policy === undefined ? undefined : checkPolicy(policy);
    },
    addReservation: (seed) => addReservation(state, seed),
    addPlacementGroup: (seed) => addPlacementGroup(state, seed),
    impair(instanceId, status) {
      if (status === undefined) state.impaired.delete(instanceId);
      else state.impaired.set(instanceId, status);
    },
    removeOffering(instanceType, zone) {
      state.notOffered.add(`${instanceType}/${zone}`);
    },
    reclaimSpot: (id) => reclaim(state, spotNamed(id)),
    failInstance: (id) => terminate(state, instanceNamed(id), "Server.InternalError"),
    stopInstance: (id) => stop(state, instanceNamed(id)),
    recommendRebalance: (id) => tellRebalance(state, spotNamed(id)),
    scheduleRetirement: (...ids) => tellRetirement(state, ids.map(instanceNamed)),
    putEvent: (event) => publish(state, event),
  };
}

function known<T>(table: ReadonlyMap<string, T>, id: string, noun: string): T {
  const record = table.get(id);
  if (record === undefined)
    throw new Error(`${noun} ${id} does not exist in the simulated account`);
  return record;
}

function addImage(state: AwsState, seed: ImageSeed): string {
  const id = seed.id ?? newId(state, "ami");
  const family = seed.family ?? "Custom";
  const image: Omit<Image, "Tags"> = {
    ImageId: id,
    Name: seed.name,
    Architecture: seed.architecture ?? "x86_64",
    CreationDate: awsTime(seed.createdMs ?? state.clock.now()),
    ...(seed.deprecatedMs === undefined ? {} : { DeprecationTime: awsTime(seed.deprecatedMs) }),
    OwnerId: seed.ownerId ?? state.accountId,
    State: "available",
    PlatformDetails: family.startsWith("Windows") ? "Windows" : "Linux/UNIX",
    RootDeviceName: imageDevices(family)[0]?.DeviceName ?? "/dev/xvda",
  };
  state.images.set(id, {
    image,
    family,
    variant: seed.variant ?? "any",
    osImage: seed.name,
    blockDevices: imageDevices(family),
  });
  setTags(state, id, seed.tags ?? []);
  return id;
}
