/**
 * Finds devices (Dynamic Resource Allocation) for a pod on a planned node. The search is made for each kind of instance
 * type that the node may become; types of one kind have equal devices. Kinds form one fit if their devices narrow the
 * node to the same requirements and belong to the same drivers. Of several fits from one search, the cheapest comes
 * first.
 */
import { within } from "../../base/within.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import {
  type Bits,
  bitIndices,
  commonBits,
  isEmptyBits,
  noBits,
  setBit,
} from "../scheduling/bits.ts";
import type { RequirementSpace, SetId } from "../scheduling/requirement-space.ts";
import { inAnyOrder, mayDependOnOrder, type NodeAsk, type PodClaims } from "./any-order.ts";
import type { ClaimSpec } from "./claim-specs.ts";
import { type DeviceList, deviceList } from "./device-list.ts";
import { type DeviceState, STEPS_PER_KIND, STEPS_PER_NODE } from "./device-state.ts";
import type { TemplateDevices } from "./inventory.ts";
import type { Holder } from "./ledger.ts";
import type { DeviceNeeds, Need } from "./needs.ts";
import { NewNodes } from "./new-nodes.ts";
import {
  type DeviceQuestion,
  isFound,
  type SearchFailure,
  type SearchFound,
  search,
  type Use,
} from "./search.ts";
import { type DeviceRefusal, deviceRefusalOf } from "./verdict.ts";

/** The facts about a NodePool's instance types that the search for devices needs. */
export interface DeviceTypes {
  readonly types: readonly InstanceType[];
  readonly size: number;
  compatible(set: SetId): Bits;
  leastPrice(types: Bits, set: SetId): number;
}

/** The planned node with devices for the pod. */
export interface DeviceFit {
  readonly set: SetId;
  readonly types: Bits;
  /** The claims whose devices are on this node. */
  readonly placed: readonly Need[];
  /** For each kind of instance type: the devices of each of these claims. */
  readonly uses: ReadonlyMap<number, readonly (readonly Use[])[]>;
  /** For kinds where this pod changes the devices of other pods: all devices that pods of the node use. */
  readonly held: ReadonlyMap<number, readonly Use[]>;
}

/** A planned node on which devices are searched for. */
export interface AskedNode {
  readonly holder: Holder;
  readonly set: SetId;
  readonly types: Bits;
  readonly table: DeviceTypes;
}

/** A planned node, assumed to become one kind of instance type. */
interface AskedKind extends AskedNode {
  readonly kind: TemplateDevices;
}

/** The result of a search for one kind of instance type. */
export interface KindAnswer {
  readonly kind: TemplateDevices;
  readonly types: Bits;
  readonly answer: SearchFound<SetId> | SearchFailure;
}

export class NewNodeDevices {
  readonly state: DeviceState;
  readonly #nodes: NewNodes;
  readonly #kinds = new WeakMap<DeviceTypes, readonly TemplateDevices[]>();
  /** Cached results of {@link inAnyOrder}, by requirements and kind of the node and by the claims of its pods. */
  readonly #orders = new Map<string, SearchFound<SetId> | SearchFailure>();
  readonly #numbers = new Map<ClaimSpec, number>();

  constructor(state: DeviceState, space: RequirementSpace) {
    this.state = state;
    this.#nodes = new NewNodes(space);
  }

  /**
   * The ways that were found in which the node can give the pod its devices. For each set of requirements, the cheapest
   * comes first. Empty: none was found.
   */
  fits(needs: DeviceNeeds, asked: AskedNode): readonly DeviceFit[] {
    if (needs.problem !== undefined) return NONE;
    const wanted = this.state.wantedOn(asked.holder, needs);
    if (wanted === undefined) return NONE;
    const { reaches, toSearch } = wanted;
    const fits: DeviceFit[] = [];
    for (const set of this.#nodes.waysOfAll(reaches, asked.set)) {
      const types = commonBits(asked.types, asked.table.compatible(set));
      if (isEmptyBits(types)) continue;
      if (toSearch.length === 0)
        fits.push({ set, types, placed: NO_NEEDS, uses: NO_USES, held: NO_HELD });
      else fits.push(...this.#searched(toSearch, { ...asked, set, types }));
    }
    return fits;
  }

  /** Records that the node's pods use the devices of the fit. */
  commit(holder: Holder, { placed, uses, held }: DeviceFit): void {
    if (placed.length === 0) return;
    const { ledger } = this.state;
    const before = ledger.usesOf(holder);
    ledger.setUses(
      holder,
      new Map(
        [...uses].map(([kind, own]) => [
          kind,
          held.get(kind) ?? [...(before.get(kind) ?? []), ...own.flat()],
        ]),
      ),
    );
    ledger.addPod(
      holder,
      placed.map(({ spec }) => spec),
    );
    this.state.place(holder, placed, uses);
  }

  /** Frees the devices of all kinds of instance types that the node can no longer become. */
  keepOnly(holder: Holder, types: Bits, table: DeviceTypes): void {
    const { ledger } = this.state;
    const before = ledger.usesOf(holder);
    if (before.size < 2) return;
    const kinds = this.#kindsOf(table);
    const left = new Set(bitIndices(types).map((index) => kinds[index]?.kind));
    const kept = [...before].filter(([kind]) => left.has(kind));
    if (kept.length < before.size) ledger.setUses(holder, new Map(kept));
  }

  /** The DRA drivers of those claimed devices that the node itself will publish. Sorted. */
  driversOf(holder: Holder): readonly string[] {
    const [uses = []] = this.state.ledger.usesOf(holder).values();
    return localDrivers(uses);
  }

  /** The results for all kinds of instance types, used by {@link fits} and {@link explain}. */
  answers(claims: readonly Need[], asked: AskedNode): readonly KindAnswer[] {
    const total = { steps: STEPS_PER_NODE };
    const answers: KindAnswer[] = [];
    for (const [kind, types] of this.#typesByKind(asked)) {
      answers.push({ kind, types, answer: this.#search(claims, { ...asked, types, kind }, total) });
    }
    return answers;
  }

  #searched(claims: readonly Need[], asked: AskedNode): readonly DeviceFit[] {
    const groups = new Map<string, { readonly set: SetId; readonly found: KindAnswer[] }>();
    const answers = this.answers(claims, asked);
    for (const one of answers) {
      if (!isFound(one.answer)) continue;
      const { at, uses } = one.answer;
      const key = `${at} ${localDrivers(uses.flat()).join()}`;
      within(groups, key, () => ({ set: at, found: [] })).found.push(one);
    }
    const total = { steps: STEPS_PER_NODE };
    const fits = [...groups].map(([key, { set, found }]) => {
      // A kind that narrows the node in another way may also have devices for the requirements of this fit.
      const more = groups.size === 1 ? [] : answers.filter((one) => !found.includes(one));
      const joining = more.flatMap((one): KindAnswer[] => {
        if (!isFound(one.answer)) return [];
        const answer = this.#search(claims, { ...asked, set, kind: one.kind }, total);
        const isSame =
          isFound(answer) && `${answer.at} ${localDrivers(answer.uses.flat()).join()}` === key;
        return isSame ? [{ ...one, answer }] : [];
      });
      return fitOf(claims, { ...asked, set }, [...found, ...joining]);
    });
    const usable = fits.filter(({ types }) => !isEmptyBits(types));
    if (usable.length < 2) return usable;
    const price = ({ types, set }: DeviceFit) => asked.table.leastPrice(types, set);
    return usable
      .map((fit) => ({ fit, price: price(fit) }))
      .sort((a, b) => a.price - b.price)
      .map(({ fit }) => fit);
  }

  /** Why {@link fits} found nothing: the refusal of the kind of instance type that passed the most checks. */
  explain(needs: DeviceNeeds, asked: AskedNode): string {
    if (needs.problem !== undefined) return needs.problem;
    const wanted = this.state.wantedOn(asked.holder, needs);
    if (wanted === undefined) return ELSEWHERE;
    const [set] = this.#nodes.waysOfAll(wanted.reaches, asked.set);
    if (set === undefined) return UNREACHED;
    const types = commonBits(asked.types, asked.table.compatible(set));
    let nearest: DeviceRefusal | undefined;
    for (const { kind, types: own, answer } of this.answers(wanted.toSearch, {
      ...asked,
      set,
      types,
    })) {
      if (isFound(answer)) continue;
      const specs = wanted.toSearch.map(({ spec }) => spec);
      const question = this.#questionOf(specs, { ...asked, set, kind }, { steps: 0 });
      const verdict = deviceRefusalOf(question, wanted.toSearch, answer);
      if (nearest !== undefined && verdict.nearness <= nearest.nearness) continue;
      const name = asked.table.types[bitIndices(own)[0] as number]?.name;
      nearest = { ...verdict, text: `on ${name}: ${verdict.text}` };
    }
    return nearest?.text ?? "no instance type is left where its allocated claims can be used";
  }

  #search(
    claims: readonly Need[],
    asked: AskedKind,
    total: { steps: number },
  ): SearchFound<SetId> | SearchFailure {
    const steps = Math.max(0, Math.min(STEPS_PER_KIND, total.steps));
    const budget = { steps };
    const specs = claims.map(({ spec }) => spec);
    const alone = search(this.#questionOf(specs, asked, budget));
    const answer = isFound(alone) ? this.#besideOthers(specs, { ...asked, alone }) : alone;
    total.steps -= steps - budget.steps;
    this.state.steps += steps - budget.steps;
    return answer;
  }

  /**
   * Checks the other orders in which the node's pods may be bound. `alone`: the devices found for the current order.
   */
  #besideOthers(
    claims: PodClaims,
    { alone, ...asked }: AskedKind & { readonly alone: SearchFound<SetId> },
  ): SearchFound<SetId> | SearchFailure {
    const { ledger } = this.state;
    const pods = [...ledger.podsOn(asked.holder), claims];
    const held = ledger.usesOf(asked.holder).get(asked.kind.kind) ?? [];
    if (!mayDependOnOrder(pods, [...held, ...alone.uses.flat()])) return alone;
    // A separate budget: the result is reused for other nodes, so it must not depend on how many steps this pass has
    // used.
    const budget = { steps: STEPS_PER_NODE };
    const ask: NodeAsk<SetId> = (own, uses, from) => ({
      ...this.#questionOf(own, { ...asked, uses }, budget),
      nodes: this.#nodes.from(from),
    });
    const answer = () => {
      const found = inAnyOrder(pods, ask, asked.set);
      this.state.steps += STEPS_PER_NODE - budget.steps;
      return found;
    };
    const { devices } = this.#listOf(asked);
    if (!devices.every(({ isLocal }) => isLocal)) return answer();
    // If all devices are local, equal pods on nodes of one kind have equal results, which can be cached.
    const kinds = pods.map((pod) => pod.map((spec) => this.#numberOf(spec)).join());
    return within(this.#orders, `${asked.set} ${asked.kind.kind} ${kinds.join(" ")}`, answer);
  }

  #numberOf(spec: ClaimSpec): number {
    return within(this.#numbers, spec, () => this.#numbers.size);
  }

  #listOf({ set, kind }: Pick<AskedKind, "set" | "kind">): DeviceList {
    const { shared, sharedPools } = this.state.cluster;
    return this.state.listOf(`${set} ${kind.kind}`, () => {
      const reached = shared.filter(({ reach }) => this.#nodes.ways(reach, set).length > 0);
      return deviceList([...reached, ...kind.devices], sharedPools);
    });
  }

  #questionOf(
    claims: PodClaims,
    { holder, set, kind, uses }: AskedKind & { readonly uses?: readonly Use[] },
    budget: { steps: number },
  ): DeviceQuestion<SetId> {
    const { state } = this;
    return {
      claims,
      list: this.#listOf({ set, kind }),
      taken: state.ledger.taken(holder, { kind: kind.kind, seed: state.seed, uses }),
      nodes: this.#nodes.from(set),
      matcher: state.matcher,
      budget,
    };
  }

  #typesByKind({ types, table }: AskedNode): ReadonlyMap<TemplateDevices, Bits> {
    const kinds = this.#kindsOf(table);
    const found = new Map<TemplateDevices, Bits>();
    for (const index of bitIndices(types))
      setBit(
        within(found, kinds[index] as TemplateDevices, () => noBits(table.size)),
        index,
      );
    return found;
  }

  #kindsOf(table: DeviceTypes): readonly TemplateDevices[] {
    return within(this.#kinds, table, () =>
      table.types.map(({ dynamicResources }) => this.state.templatesOf(dynamicResources)),
    );
  }
}

const ELSEWHERE = "a claim of the pod has its devices on another planned node";
const UNREACHED = "a claim of the pod is allocated, and cannot be used from nodes of this pool";
const NONE: readonly DeviceFit[] = [];
const NO_NEEDS: readonly Need[] = [];
const NO_USES: DeviceFit["uses"] = new Map();
const NO_HELD: DeviceFit["held"] = new Map();

function fitOf(
  claims: readonly Need[],
  { table, set }: AskedNode,
  found: readonly KindAnswer[],
): DeviceFit {
  const types = noBits(table.size);
  const uses = new Map<number, readonly (readonly Use[])[]>();
  const held = new Map<number, readonly Use[]>();
  for (const { kind, types: own, answer } of found) {
    for (const index of bitIndices(own)) setBit(types, index);
    const { uses: ofPod, held: ofAll } = answer as SearchFound<SetId>;
    uses.set(kind.kind, ofPod);
    if (ofAll !== undefined) held.set(kind.kind, ofAll);
  }
  return { set, types: commonBits(types, table.compatible(set)), placed: claims, uses, held };
}

function localDrivers(uses: readonly Use[]): readonly string[] {
  const local = uses.filter(({ device, adminAccess }) => device.pool.isTemplate && !adminAccess);
  return [...new Set(local.map(({ device }) => device.pool.driver))].sort();
}
