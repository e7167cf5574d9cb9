/**
 * The devices (Dynamic Resource Allocation) of one scheduling state, and those that a plan has already given to pods.
 * Planned and existing nodes are checked against them.
 * upstream: pkg/controllers/provisioning/scheduling/dra.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import { hasResourceClaims } from "../../apis/resource/pod-claims.ts";
import { within } from "../../base/within.ts";
import type { DynamicResources } from "../cloudprovider/dynamic-resources.ts";
import type { DeviceFacts } from "./device-facts.ts";
import type { DeviceList } from "./device-list.ts";
import { ExtendedResources } from "./extended-resources.ts";
import { ClusterDevices, Contents, DeviceKinds, type TemplateDevices } from "./inventory.ts";
import { DeviceLedger, type Holder, type PlacedClaim } from "./ledger.ts";
import { Matcher } from "./match.ts";
import { type DeviceNeeds, type Need, NeedsReader } from "./needs.ts";
import { EVERYWHERE, type Reach, termsOf } from "./reach.ts";
import type { SearchFailure, Use } from "./search.ts";
import { isReleased, type Seed, seedOf } from "./seed.ts";

/**
 * The most devices that are tried for one pod: on one node, and on a planned node for each kind of instance type (types
 * with equal devices).
 */
export const STEPS_PER_NODE = 20_000;
export const STEPS_PER_KIND = 4_000;

/** What the claims of a pod require of one node. */
export interface Wanted {
  /**
   * Where the devices of the pod's other claims can be used; the node must be among these nodes. Such a claim is
   * allocated already, or has its devices from another node of this pass.
   */
  readonly reaches: readonly Reach[];
  /** Claims for which devices must be found on this node. */
  readonly toSearch: readonly Need[];
}

const NOTHING_WANTED: Wanted = { reaches: [], toSearch: [] };

export class DeviceState {
  readonly ledger = new DeviceLedger();
  readonly matcher = new Matcher();
  readonly cluster: ClusterDevices;
  readonly extended: ExtendedResources;
  readonly #facts: DeviceFacts;
  readonly #kinds: DeviceKinds;
  readonly #needs: NeedsReader;
  #leaving: ReadonlySet<string> = new Set();
  #seed: Seed | undefined;
  readonly #lists = new Map<string, DeviceList>();
  /** Why existing nodes refuse needs: by the text of the needs, then by the name of the node. */
  readonly #refusals = new Map<string, Map<string, SearchFailure>>();
  /** How many devices were tried so far. This measures the cost of placing pods. */
  steps = 0;

  /** `isPlain`: whether a device plugin provides the resource, and not a DeviceClass. */
  constructor(facts: DeviceFacts, isPlain: (resource: string) => boolean) {
    const contents = new Contents();
    this.#facts = facts;
    this.cluster = new ClusterDevices(facts.slices, contents);
    this.#kinds = new DeviceKinds(contents);
    this.extended = new ExtendedResources(facts.classes, isPlain);
    this.#needs = new NeedsReader(facts, this.extended);
  }

  /**
   * Whether some pod may have a claim that is not allocated: an existing claim, one from a template, or one for an
   * extended resource.
   */
  get isClaimed(): boolean {
    const { claims, templates } = this.#facts;
    const isOpen = claims.some(({ status }) => status?.allocation === undefined);
    return isOpen || templates.length > 0 || this.extended.isAny;
  }

  /**
   * The devices that the pod needs. Undefined: it has no ResourceClaim, and requests no extended resource of a
   * DeviceClass.
   */
  needsOf(pod: Pod): DeviceNeeds | undefined {
    const isClaiming = hasResourceClaims(pod) || this.extended.claimOf(pod) !== undefined;
    return isClaiming ? this.#needs.of(pod) : undefined;
  }

  templatesOf(resources: DynamicResources | undefined): TemplateDevices {
    return this.#kinds.of(resources);
  }

  /**
   * Marks these pods as leaving their nodes, so devices that only they use are free. Undone with the other changes of
   * the plan or question.
   */
  leave(pods: readonly Pod[]): void {
    const isClaiming = (pod: Pod) => this.needsOf(pod) !== undefined;
    const uids = pods.filter(isClaiming).flatMap(({ metadata: { uid } }) => uid ?? []);
    if (uids.every((uid) => this.#leaving.has(uid))) return;
    const before = this.#leaving;
    const set = (leaving: ReadonlySet<string>) => {
      this.#leaving = leaving;
      this.#seed = undefined;
      this.#refusals.clear();
    };
    set(new Set([...before, ...uids]));
    this.ledger.note(() => set(before));
  }

  /** For each existing node that refused equal needs in this pass: the reason. */
  refusalsOf({ text }: DeviceNeeds): Map<string, SearchFailure> {
    return within(this.#refusals, text, () => new Map<string, SearchFailure>());
  }

  get seed(): Seed {
    this.#seed ??= seedOf(this.#facts.claims, this.cluster, this.#leaving);
    return this.#seed;
  }

  /** What must be found for the pod on this node. Undefined: a claim of the pod can only be used from another node. */
  wantedOn(holder: Holder, { claims }: DeviceNeeds): Wanted | undefined {
    if (claims.length === 0) return NOTHING_WANTED;
    const reaches: Reach[] = [];
    const toSearch: Need[] = [];
    for (const need of claims) {
      const placed = need.key === undefined ? undefined : this.ledger.placed(need.key);
      const allocated = this.#allocatedReach(need);
      if (placed !== undefined) {
        if (placed.holder === holder) continue;
        if (placed.reaches === undefined) return undefined;
        reaches.push(...placed.reaches);
      } else if (allocated !== undefined) reaches.push(allocated);
      else toSearch.push(need);
    }
    return { reaches, toSearch };
  }

  #allocatedReach({ claim }: Need): Reach | undefined {
    const allocation = claim?.status?.allocation;
    if (claim === undefined || allocation === undefined || isReleased(claim, this.#leaving))
      return undefined;
    const { nodeSelector } = allocation;
    return nodeSelector === undefined
      ? EVERYWHERE
      : { terms: termsOf(nodeSelector.nodeSelectorTerms) };
  }

  /** The device list of this name. It is made on the first call only. */
  listOf(name: string, make: () => DeviceList): DeviceList {
    return within(this.#lists, name, make);
  }

  /** Records which node has the devices of these claims, and which other nodes can use them. */
  place(
    holder: Holder,
    needs: readonly Need[],
    uses: ReadonlyMap<number, readonly (readonly Use[])[]>,
  ): void {
    for (const [at, { key }] of needs.entries()) {
      if (key === undefined) continue;
      const ofKinds = [...uses.values()].map((own) => own[at] as readonly Use[]);
      this.ledger.place(key, { holder, reaches: reachesOf(ofKinds) });
    }
  }
}

/**
 * The nodes that can use the devices. Undefined: only the node that has them. Then one of the devices is local to this
 * node, or the node's possible instance types would use different devices.
 */
function reachesOf(ofKinds: readonly (readonly Use[])[]): PlacedClaim["reaches"] {
  const [first = [], ...others] = ofKinds;
  if (first.some(({ device }) => device.isLocal)) return undefined;
  const isSame = others.every(
    (own) =>
      own.length === first.length && own.every((use, at) => use.device === first[at]?.device),
  );
  return isSame ? first.map(({ device }) => device.reach) : undefined;
}
