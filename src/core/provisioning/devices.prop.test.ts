/**
 * A property: all devices that a plan promises can be allocated. A separate checker, which shares no code with the
 * allocator, finds devices for all pods of the plan together. They must exist whichever of its instance types each
 * planned node gets.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Device, DeviceClaim, ResourceSlice } from "../../apis/resource/kinds.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import {
  cel,
  claimsOf,
  claimTemplate,
  DRIVER,
  deviceFacts,
  resourceClaim,
  slice,
  templates,
} from "../../testing/devices.ts";
import { solve } from "./solve.ts";

const ZONE = "topology.kubernetes.io/zone";

/** A device with the facts that the checker needs. */
interface Free {
  readonly device: Device;
  /** The pool of the device. Devices of one pool share counters. */
  readonly pool: object;
  readonly counters: Readonly<Record<string, number>>;
  /** The zones in which the device can be used. Undefined: in every zone. */
  readonly zones: readonly string[] | undefined;
}

interface Node {
  readonly own: readonly Free[];
  readonly zone: string | undefined;
}

interface Wish {
  readonly node: Node;
  readonly claim: DeviceClaim;
}

const number = (text: string | undefined) => Number((text ?? "0").replace("Gi", ""));

/** Allocates devices one by one, and tries every combination. */
class Checker {
  readonly #shared: readonly Free[];
  readonly #taken = new Map<Free, number[]>();

  constructor(shared: readonly Free[]) {
    this.#shared = shared;
  }

  canAll(wishes: readonly Wish[]): boolean {
    const [wish, ...rest] = wishes;
    if (wish === undefined) return true;
    return this.#claim(wish, { at: 0, held: [] }, () => this.canAll(rest));
  }

  #claim(
    wish: Wish,
    { at, held }: { readonly at: number; readonly held: readonly Free[] },
    rest: () => boolean,
  ): boolean {
    const request = wish.claim.requests?.[at];
    if (request === undefined) return this.#agree(wish.claim, held) && rest();
    const ways = request.exactly === undefined ? (request.firstAvailable ?? []) : [request.exactly];
    const reachable = [...wish.node.own, ...this.#shared].filter(
      ({ zones }) =>
        zones === undefined || (wish.node.zone !== undefined && zones.includes(wish.node.zone)),
    );
    return ways.some((way) => {
      const wantsModel = way.selectors?.[0]?.cel?.expression.includes('"b"') === true;
      const some = reachable.filter(
        ({ device }) => !wantsModel || device.attributes?.["model"]?.string === "b",
      );
      const isAll = way.allocationMode === "All";
      if (isAll && some.length === 0) return false;
      const asked = way.capacity?.requests?.["memory"];
      const go = (left: number, from: number, mine: readonly Free[]): boolean => {
        if (left === 0) return this.#claim(wish, { at: at + 1, held: [...held, ...mine] }, rest);
        for (let index = from; index < some.length; index++) {
          const one = some[index] as Free;
          if (isAll && index > from) return false;
          const share =
            asked === undefined ? number(one.device.capacity?.["memory"]?.value) : number(asked);
          if (!this.#take(one, share)) {
            if (isAll) return false;
            continue;
          }
          const isShared = one.device.allowMultipleAllocations === true && !isAll;
          if (go(left - 1, isShared ? index : index + 1, [...mine, one])) return true;
          this.#taken.get(one)?.pop();
        }
        return false;
      };
      return go(isAll ? some.length : (way.count ?? 1), 0, []);
    });
  }

  #take(one: Free, share: number): boolean {
    const mine = this.#taken.get(one) ?? [];
    const { device, pool } = one;
    const whole = number(device.capacity?.["memory"]?.value);
    if (device.allowMultipleAllocations === true) {
      if (mine.reduce((sum, part) => sum + part, 0) + share > whole) return false;
    } else if (mine.length > 0 || share > whole) return false;
    for (const { counterSet, counters } of device.consumesCounters ?? []) {
      const used = [...this.#taken]
        .filter(([other, parts]) => other.pool === pool && other !== one && parts.length > 0)
        .flatMap(([other]) => other.device.consumesCounters ?? [])
        .filter((other) => other.counterSet === counterSet)
        .reduce((sum, other) => sum + number(other.counters["memory"]?.value), 0);
      if (used + number(counters["memory"]?.value) > (one.counters[counterSet] ?? 0)) return false;
    }
    mine.push(share);
    this.#taken.set(one, mine);
    return true;
  }

  #agree({ constraints = [] }: DeviceClaim, held: readonly Free[]): boolean {
    return constraints.every(({ matchAttribute, distinctAttribute }) => {
      const values = held.map(({ device }) => device.attributes?.["root"]?.int);
      if (values.includes(undefined)) return false;
      const different = new Set(values).size;
      if (matchAttribute !== undefined) return different <= 1;
      return distinctAttribute === undefined || different === values.length;
    });
  }
}

const device = fc.record({
  model: fc.constantFrom("a", "b"),
  root: fc.integer({ min: 0, max: 2 }),
  memory: fc.constantFrom(10, 20),
  kind: fc.constantFrom("plain", "plain", "shared", "part"),
});
const devices = fc.array(device, { minLength: 0, maxLength: 5 }).map((all) =>
  all.map(
    ({ model, root, memory, kind }, index): Device => ({
      name: `gpu-${index}`,
      attributes: { model: { string: model }, root: { int: root } },
      capacity: { memory: { value: `${memory}Gi` } },
      ...(kind === "shared" ? { allowMultipleAllocations: true } : {}),
      ...(kind === "part"
        ? {
            consumesCounters: [{ counterSet: "s", counters: { memory: { value: `${memory}Gi` } } }],
          }
        : {}),
    }),
  ),
);
const SETS = [{ name: "s", counters: { memory: { value: "30Gi" } } }];

const way = fc.record({
  count: fc.integer({ min: 1, max: 3 }),
  isAll: fc.constantFrom(false, false, false, true),
  model: fc.boolean(),
  memory: fc.constantFrom(undefined, "5Gi", "10Gi"),
});
const exact = way.map(({ count, isAll, model, memory }) => ({
  deviceClassName: "gpu",
  ...(isAll ? { allocationMode: "All" as const } : { count }),
  ...(model ? { selectors: [cel(`device.attributes["${DRIVER}"].model == "b"`)] } : {}),
  ...(memory === undefined ? {} : { capacity: { requests: { memory } } }),
}));
const request = fc.oneof(
  exact.map((exactly) => ({ exactly })),
  fc.tuple(exact, exact).map(([a, b]) => ({
    firstAvailable: [
      { name: "first", ...a },
      { name: "second", ...b },
    ],
  })),
);
const claim: fc.Arbitrary<DeviceClaim> = fc
  .tuple(
    fc.array(request, { minLength: 1, maxLength: 2 }),
    fc.constantFrom(
      {},
      {},
      { matchAttribute: `${DRIVER}/root` },
      { distinctAttribute: `${DRIVER}/root` },
    ),
  )
  .map(([requests, constraint]) => ({
    requests: requests.map((one, at) => ({ name: `r${at}`, ...one })),
    constraints: Object.keys(constraint).length === 0 ? [] : [constraint],
  }));

const world = fc.record({
  types: fc.array(devices, { minLength: 1, maxLength: 3 }),
  network: fc.array(
    fc.tuple(devices, fc.constantFrom(undefined, ["zone-a"], ["zone-b", "zone-c"])),
    {
      maxLength: 2,
    },
  ),
  claims: fc.array(claim, { minLength: 1, maxLength: 3 }),
  pods: fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.boolean()), {
    minLength: 1,
    maxLength: 5,
  }),
});

it("plans only devices that can be allocated", () => {
  let placed = 0;
  fc.assert(
    fc.property(world, ({ types, network, claims, pods }) => {
      const slices = network.map(([own, zones], at): ResourceSlice => {
        const nodeSelector = zones && {
          nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values: zones }] }],
        };
        return slice(`net-${at}`, own, {
          sharedCounters: SETS,
          ...(nodeSelector === undefined ? {} : { nodeSelector }),
        });
      });
      const instanceTypes = types.map((own, at) => ({
        ...instanceType({ name: `t${at}`, cpu: 4, capacityTypes: ["on-demand"] }),
        dynamicResources: templates(own, { sharedCounters: SETS }),
      }));
      const facts = deviceFacts({
        slices,
        templates: claims.map((one, at) => claimTemplate(`c${at}`, one)),
        claims: claims.map((one, at) => resourceClaim(`shared-${at}`, one)),
      });
      const named = pods.map(([at, isShared], index) => {
        const number = at % claims.length;
        return { isShared, number, name: `p${index}` };
      });
      const plan = solve({
        ...schedulingInput({
          pods: named.map(({ isShared, number, name }) =>
            pod({
              name,
              cpu: "500m",
              spec: claimsOf(isShared ? `shared-${number}` : `template:c${number}`),
            }),
          ),
          pools: [poolInput({}, instanceTypes)],
        }),
        devices: facts,
      });
      const shared = network.flatMap(([own, zones]) => {
        const pool = {};
        return own.map((one): Free => ({ device: one, pool, counters: { s: 30 }, zones }));
      });
      const most = Math.max(0, ...plan.newClaims.map((one) => one.instanceTypes.length));
      for (let choice = 0; choice < most; choice++) {
        const seen = new Set<string>();
        const wishes = plan.newClaims.flatMap(
          ({ instanceTypes: left, requirements, pods: own }): Wish[] => {
            const type = left[Math.min(choice, left.length - 1)];
            const pool = {};
            const [template] = type?.dynamicResources?.pools ?? [];
            const local = (template?.devices ?? []).map(
              (one): Free => ({ device: one, pool, counters: { s: 30 }, zones: undefined }),
            );
            const zones = requirements.find(({ key }) => key === ZONE)?.values ?? [];
            // A node that may be in several zones can use only devices that each of these zones has.
            const node = { own: local, zone: zones.length === 1 ? zones[0] : zones.join() };
            const inAll = shared.some(
              (one) =>
                one.zones !== undefined &&
                zones.length > 1 &&
                zones.every((z) => one.zones?.includes(z)),
            );
            return own.flatMap(({ metadata }): Wish[] => {
              const wish = named.find(({ name }) => name === metadata.name);
              if (wish === undefined) return [];
              const key = `shared-${wish.number}`;
              if (wish.isShared && seen.has(key)) return [];
              if (wish.isShared) seen.add(key);
              const at = inAll ? { ...node, zone: zones[0] } : node;
              return [{ node: at, claim: claims[wish.number] as DeviceClaim }];
            });
          },
        );
        placed += wishes.length;
        expect(new Checker(shared).canAll(wishes), JSON.stringify({ choice, wishes })).toBe(true);
      }
    }),
    { numRuns: 400, seed: 37 },
  );
  // Many of the random worlds have pods that can be placed.
  expect(placed).toBeGreaterThan(300);
});
