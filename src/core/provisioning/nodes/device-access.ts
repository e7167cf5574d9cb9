/** The devices of Dynamic Resource Allocation, for planned and existing nodes of one scheduling state. */
import type { Pod } from "../../../apis/core/pod.ts";
import { INSTANCE_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { ResourceSlice } from "../../../apis/resource/kinds.ts";
import type { Resources } from "../../../apis/resources.ts";
import type { DynamicResources } from "../../cloudprovider/dynamic-resources.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { DeviceFacts } from "../../devices/device-facts.ts";
import { DeviceState } from "../../devices/device-state.ts";
import { commitOnExisting, fitOnExisting, lackOnExisting } from "../../devices/fit-existing.ts";
import { NewNodeDevices } from "../../devices/fit-new.ts";
import { holdsAll } from "../../devices/holds-all.ts";
import type { DeviceNeeds } from "../../devices/needs.ts";
import { isFound } from "../../devices/search.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import { isThere, type NodeView } from "../../state/node-view.ts";
import type { SchedulingInput } from "../scheduling-input.ts";

interface AskedPlace {
  readonly view: NodeView;
  readonly hostname: string;
  canMeet(requirements: Requirements): boolean;
}

type Facts = Pick<SchedulingInput, "pods" | "pools" | "nodes"> & { readonly devices: DeviceFacts };

export class DeviceAccess {
  /** Whether further what-if questions follow. Then no refusal is final: devices may be free in the next question. */
  isAskedAgain = false;
  readonly #space: RequirementSpace;
  #new!: NewNodeDevices;
  /** The devices of instance types, by pool id and name of the type. */
  #types!: ReadonlyMap<string, ReadonlyMap<string, DynamicResources>>;

  constructor(facts: Facts, space: RequirementSpace) {
    this.#space = space;
    this.follow(facts);
  }

  /** Replaces all facts, and forgets all devices that plans have allocated. */
  follow({ devices, pods, pools, nodes }: Facts): void {
    const isPlain = (resource: string) =>
      nodes.some(({ allocatable }) => (allocatable[resource] ?? 0) > 0) ||
      pools.some(({ instanceTypes }) =>
        instanceTypes.some(({ capacity }) => (capacity[resource] ?? 0) > 0),
      );
    const usable = new Set(
      nodes.filter((view) => isThere(view) && !view.deleting).map(({ name }) => name),
    );
    const slices = devices.slices.filter((one) => isPublished(one, usable));
    const state = new DeviceState({ ...devices, slices }, isPlain);
    state.leave(pods.filter(({ spec }) => spec.nodeName !== undefined));
    this.#new = new NewNodeDevices(state, this.#space);
    this.#types = new Map(
      pools.map(({ pool, instanceTypes }) => [
        pool.id,
        new Map(
          instanceTypes.flatMap(({ name, dynamicResources }) =>
            dynamicResources === undefined ? [] : [[name, dynamicResources] as const],
          ),
        ),
      ]),
    );
  }

  get state(): DeviceState {
    return this.#new.state;
  }

  get ofNewNodes(): NewNodeDevices {
    return this.#new;
  }

  /** Whether some resource claim waits for devices. If none does, claims of pods need not be checked. */
  get isClaimed(): boolean {
    return this.state.isClaimed;
  }

  needsOf(pod: Pod): DeviceNeeds | undefined {
    return this.state.needsOf(pod);
  }

  /** The pod's requests, except resources for which devices are allocated. */
  plainRequests(requests: Resources): Resources {
    const { extended } = this.state;
    if (!extended.isAny || !Object.keys(requests).some((name) => extended.isServed(name)))
      return requests;
    return Object.fromEntries(
      Object.entries(requests).filter(([name]) => !extended.isServed(name)),
    );
  }

  /** Whether the existing node cannot give the pod its devices. */
  lacksOn(place: AskedPlace, pod: Pod): boolean {
    const needs = this.needsOf(pod);
    return needs !== undefined && !isFound(fitOnExisting(this.state, needs, this.#nodeOf(place)));
  }

  /** Why {@link lacksOn} is true, as text for users. */
  lackTextOn(place: AskedPlace, pod: Pod): string | undefined {
    const needs = this.needsOf(pod);
    return needs && lackOnExisting(this.state, needs, this.#nodeOf(place));
  }

  /** Whether one node of the type has devices for all these pods, whichever devices kube-scheduler chooses. */
  haveEnough(
    pods: readonly { readonly sample: Pod; readonly count: number }[],
    { dynamicResources }: InstanceType,
  ): boolean {
    const claiming = pods.flatMap(({ sample, count }) => {
      const needs = this.needsOf(sample);
      return needs === undefined ? [] : [{ needs, count }];
    });
    const { devices } = this.state.templatesOf(dynamicResources);
    return holdsAll(claiming, devices, this.state.matcher);
  }

  commitOn(place: AskedPlace, pod: Pod): void {
    const needs = this.needsOf(pod);
    if (needs !== undefined) commitOnExisting(this.state, needs, this.#nodeOf(place));
  }

  /**
   * Allocates devices again for a pod that an earlier plan of this pass has placed. Its claims are not allocated yet,
   * so other pods would be promised the same devices.
   */
  hold(place: AskedPlace, pod: Pod): void {
    const needs = this.needsOf(pod);
    if (needs?.claims.some(({ claim }) => claim?.status?.allocation === undefined) !== true) return;
    commitOnExisting(this.state, needs, this.#nodeOf(place));
  }

  #nodeOf(place: AskedPlace) {
    const { managed, initialized, labels, poolId = "", name } = place.view;
    const type = labels[INSTANCE_TYPE_LABEL_KEY];
    const isToCome = managed && !initialized && type !== undefined;
    return {
      holder: place,
      name,
      hostname: place.hostname,
      accepts: (wanted: Requirements) => place.canMeet(wanted),
      toCome: isToCome ? this.#types.get(poolId)?.get(type) : undefined,
    };
  }
}

/**
 * Whether nodes can use the devices of this ResourceSlice. A slice that is owned by one Node vanishes with that Node.
 * upstream: pkg/controllers/provisioning/dra.go
 */
function isPublished(
  { spec, metadata: { ownerReferences = [] } }: ResourceSlice,
  usable: ReadonlySet<string>,
): boolean {
  if (spec.nodeName !== undefined && spec.nodeName !== "") return true;
  const owner = ownerReferences.find(({ kind }) => kind === "Node");
  return owner === undefined || usable.has(owner.name);
}
