/**
 * Finds devices (Dynamic Resource Allocation) for a pod on an existing node. Until a driver has published the node's
 * devices, the devices of its instance type count.
 * upstream: pkg/controllers/provisioning/scheduling/existingnode.go
 */
import type { DynamicResources } from "../cloudprovider/dynamic-resources.ts";
import type { Requirements } from "../scheduling/requirements.ts";
import { inAnyOrder, mayDependOnOrder, type NodeAsk } from "./any-order.ts";
import type { ClaimSpec } from "./claim-specs.ts";
import { type DeviceList, deviceList } from "./device-list.ts";
import { type DeviceState, STEPS_PER_NODE } from "./device-state.ts";
import type { PooledDevice } from "./inventory.ts";
import type { Holder } from "./ledger.ts";
import type { DeviceNeeds, Need } from "./needs.ts";
import { allowsNames, type Reach } from "./reach.ts";
import {
  type DeviceQuestion,
  isFound,
  type SearchFailure,
  type SearchFound,
  search,
  type Use,
} from "./search.ts";
import { deviceRefusalOf } from "./verdict.ts";

/** An existing node on which devices are searched for. */
export interface DeviceNode {
  readonly holder: Holder;
  readonly name: string;
  readonly hostname: string;
  accepts(labels: Requirements): boolean;
  /** Devices that the node's drivers have not published yet. Undefined: all are published. */
  readonly toCome: DynamicResources | undefined;
}

/**
 * The number of an existing node's only kind of instance type. A planned node may become one of several kinds, each
 * with its own number.
 */
const KIND = 0;
type Here = 0;
const HERE: readonly Here[] = [0];
const NOWHERE: readonly Here[] = [];

/** The steps that each search on a node costs, even if the node has no devices. There may be thousands of nodes. */
const STEPS_TO_ASK = 16;
const NO_DEVICES: SearchFailure = { problem: "the node has no devices" };

type ExistingFit = SearchFound<Here>;

/** The pod's devices on the node, or why the node has none for it. */
export function fitOnExisting(
  state: DeviceState,
  needs: DeviceNeeds,
  node: DeviceNode,
): ExistingFit | SearchFailure {
  if (needs.problem !== undefined) return { problem: needs.problem };
  const refusals = needs.isPrivate ? state.refusalsOf(needs) : undefined;
  const known = refusals?.get(node.name);
  if (known !== undefined) return known;
  const wanted = state.wantedOn(node.holder, needs);
  if (wanted === undefined)
    return { problem: "a claim of the pod has its devices on another node" };
  if (!wanted.reaches.every((reach) => canReach(node, reach)))
    return { problem: "a claim of the pod is allocated, and cannot be used on this node" };
  const list = listOf(state, node);
  state.steps += STEPS_TO_ASK;
  const isAsking = wanted.toSearch.some(({ spec }) => spec.requests.length > 0);
  if (isAsking && list.devices.length === 0) {
    refusals?.set(node.name, NO_DEVICES);
    return NO_DEVICES;
  }
  const claims = wanted.toSearch.map(({ spec }) => spec);
  const alone = searchOn(state, claims, node);
  const answer = isFound(alone) ? besideOthers(state, claims, { node, alone }) : alone;
  // If all devices are local and none of them is used, the refusal stays valid. So it is cached.
  const isUntouched = state.ledger.usesOf(node.holder).size === 0;
  if (!isFound(answer) && isUntouched && list.devices.every(({ isLocal }) => isLocal))
    refusals?.set(node.name, answer);
  return answer;
}

/** Why the node cannot give the pod its devices, as text for users. Undefined: it can. */
export function lackOnExisting(
  state: DeviceState,
  needs: DeviceNeeds,
  node: DeviceNode,
): string | undefined {
  const answer = fitOnExisting(state, needs, node);
  if (isFound(answer)) return undefined;
  const claims = state.wantedOn(node.holder, needs)?.toSearch ?? [];
  const specs = claims.map(({ spec }) => spec);
  return deviceRefusalOf(questionOf(state, specs, { node, budget: { steps: 0 } }), claims, answer)
    .brief;
}

/**
 * Gives the pod devices on the node. kube-scheduler may bind the pod there even if no devices are found for the whole
 * pod. Then devices are searched for each request alone, so that no other pod is promised a device that kube-scheduler
 * may give to this pod.
 */
export function commitOnExisting(state: DeviceState, needs: DeviceNeeds, node: DeviceNode): void {
  const { holder } = node;
  const fit = fitOnExisting(state, needs, node);
  const wanted = state.wantedOn(holder, needs);
  if (wanted === undefined || wanted.toSearch.length === 0) return;
  if (!isFound(fit)) {
    holdParts(state, wanted.toSearch, node);
    return;
  }
  const { held } = fit;
  if (held === undefined) take(state, holder, fit.uses.flat());
  else state.ledger.setUses(holder, new Map([[KIND, held]]));
  state.ledger.addPod(
    holder,
    wanted.toSearch.map(({ spec }) => spec),
  );
  state.place(holder, wanted.toSearch, new Map([[KIND, fit.uses]]));
}

function holdParts(state: DeviceState, claims: readonly Need[], node: DeviceNode): void {
  for (const { spec } of claims)
    for (const request of spec.requests) {
      const fit = searchOn(state, [{ requests: [request], constraints: [] }], node);
      if (isFound(fit)) take(state, node.holder, fit.uses.flat());
    }
}

function take(state: DeviceState, holder: Holder, uses: readonly Use[]): void {
  const before = state.ledger.usesOf(holder).get(KIND) ?? [];
  state.ledger.setUses(holder, new Map([[KIND, [...before, ...uses]]]));
}

function searchOn(
  state: DeviceState,
  claims: readonly ClaimSpec[],
  node: DeviceNode,
): ExistingFit | SearchFailure {
  const budget = { steps: STEPS_PER_NODE };
  const answer = search(questionOf(state, claims, { node, budget }));
  state.steps += STEPS_PER_NODE - budget.steps;
  return answer;
}

/** Checks the other orders in which the node's pods may be bound. `alone`: the devices found for the current order. */
function besideOthers(
  state: DeviceState,
  claims: readonly ClaimSpec[],
  { node, alone }: { readonly node: DeviceNode; readonly alone: ExistingFit },
): ExistingFit | SearchFailure {
  const { ledger } = state;
  const pods = [...ledger.podsOn(node.holder), claims];
  const held = ledger.usesOf(node.holder).get(KIND) ?? [];
  if (!mayDependOnOrder(pods, [...held, ...alone.uses.flat()])) return alone;
  const budget = { steps: STEPS_PER_NODE };
  const ask: NodeAsk<Here> = (own, uses) => questionOf(state, own, { node, budget, uses });
  const answer = inAnyOrder(pods, ask, KIND);
  state.steps += STEPS_PER_NODE - budget.steps;
  return answer;
}

function questionOf(
  state: DeviceState,
  claims: readonly ClaimSpec[],
  {
    node,
    budget,
    uses,
  }: {
    readonly node: DeviceNode;
    readonly budget: { steps: number };
    readonly uses?: readonly Use[];
  },
): DeviceQuestion<Here> {
  return {
    claims,
    list: listOf(state, node),
    taken: state.ledger.taken(node.holder, { kind: KIND, seed: state.seed, uses }),
    nodes: {
      from: KIND,
      ways: ({ reach }: Pick<PooledDevice, "reach">) => (canReach(node, reach) ? HERE : NOWHERE),
    },
    matcher: state.matcher,
    budget,
  };
}

function listOf(state: DeviceState, node: DeviceNode): DeviceList {
  const { cluster } = state;
  return state.listOf(`node ${node.name}`, () =>
    deviceList(devicesOf(state, node), [...cluster.sharedPools, ...cluster.poolsOn(node.name)]),
  );
}

function devicesOf(state: DeviceState, node: DeviceNode): readonly PooledDevice[] {
  const { cluster } = state;
  const own = cluster.onNode(node.name);
  const published = [...own, ...cluster.shared.filter(({ reach }) => canReach(node, reach))];
  const drivers = new Set(own.map(({ pool }) => pool.driver));
  const toCome = state
    .templatesOf(node.toCome)
    .devices.filter(({ pool }) => !drivers.has(pool.driver));
  return [...published, ...toCome];
}

function canReach(node: DeviceNode, reach: Reach): boolean {
  if (reach === "everywhere") return true;
  if ("node" in reach) return reach.node === node.name;
  return reach.terms.some((term) => allowsNames(term, node) && node.accepts(term.labels));
}
