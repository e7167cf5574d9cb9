/**
 * The consolidation scenarios, `C-*`. Deployments on the kwok catalogue are scaled to `up` replicas and then to `down`.
 * Then nothing else happens, and the cluster settles. The score is its cost after that, divided by the lower bound. The
 * scenarios are used on a control plane (bench/settled), and in memory (`npm run bench -- repack`), where `survivors`
 * says which pods remain. If OPENB_CSV names the file of a public trace (workloads.ts), the scenario `T-openb` is
 * added. `nodes` is an approximate size: about ten pods for each node. Instance types have at most 32 cores, except in
 * `T-openb`.
 */
import type { Deployment as AppsDeployment } from "../src/apis/apps/kinds.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { Random } from "../src/base/random.ts";
import { kwokInstanceTypes } from "../src/providers/kwok/instance-types.ts";
import { apart, type Deployment, deployment, pool, spread } from "./cluster/shapes.ts";
import { alike, readOpenb, type TracedPod } from "./pod-groups.ts";
import { describeType, type Workload } from "./workload.ts";

export interface ScenarioC {
  readonly name: string;
  /** Which part of consolidation the scenario tests. */
  readonly about: string;
  readonly pools: readonly KubeObject[];
  readonly deployments: readonly Deployment[];
  /** `quick`: a lower bound without HiGHS. Machines of 256 cores can be filled in too many ways for a proof. */
  readonly bound?: "quick";
}

const PODS_PER_NODE = 10;
const SIZES = [{ key: "karpenter.kwok.sh/instance-cpu", operator: "Lt", values: ["33"] }];
const ON_DEMAND = { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] };
const AFTER = "30s";
const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";

/** The scenarios, each with about `nodes` nodes. All names begin with `C-`. */
export function scenariosC(nodes: number): readonly ScenarioC[] {
  return Object.entries(MAKERS).map(([name, { make, ...rest }]) => ({
    name: `C-${name}`,
    ...rest,
    ...make(nodes, new Random(`C-${name}`)),
  }));
}

/**
 * The scenarios with these names; without names all, and the trace's if its file is available. Throws for an unknown
 * name.
 */
export function chosenC(names: readonly string[], nodes: number): readonly ScenarioC[] {
  const trace = process.env["OPENB_CSV"];
  const all = [
    ...scenariosC(nodes),
    ...(trace === undefined ? [] : [openbDayAfter(trace, nodes * PODS_PER_NODE)]),
  ];
  for (const name of names)
    if (!all.some((one) => one.name === name))
      throw new Error(
        `no scenario ${name}; there are ${all.map((one) => one.name).join(", ")}${trace === undefined ? "; T-openb where OPENB_CSV names its file" : ""}`,
      );
  return all.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** The pods at the start or the end of the scenario, as a workload for plans and bounds. */
export function workloadOf(
  { name, pools, deployments }: ScenarioC,
  phase: "up" | "down",
): Workload {
  return {
    name,
    preferencePolicy: "Respect",
    instanceTypes: kwokInstanceTypes().map(describeType),
    nodePools: pools as readonly NodePool[],
    pods: deployments.flatMap(({ name: app, object, [phase]: count }) =>
      count === 0 ? [] : [{ name: app, count, template: (object as AppsDeployment).spec.template }],
    ),
  };
}

/**
 * Which of `up` pods (by index) remain when `down` are left. The order is random but fixed for each Deployment, so a
 * smaller number is always a subset of a larger one.
 */
export function survivors({ name, up, down }: Deployment): readonly number[] {
  const random = new Random(`survivors ${name}`);
  return Array.from({ length: up }, (_, index) => ({ index, lot: random.fraction() }))
    .sort((a, b) => a.lot - b.lot || a.index - b.index)
    .slice(0, down)
    .map(({ index }) => index)
    .sort((a, b) => a - b);
}

/**
 * The busiest moment of a public trace, and the pods of it that still exist a day later. Pods are multiplied until
 * there are about `pods`. Their GPU requests are dropped, because the catalogue has no GPUs.
 */
function openbDayAfter(path: string, pods: number): ScenarioC {
  const traced = readOpenb(path);
  const atS = busiest(traced);
  const up = traced.filter(({ fromS, untilS }) => fromS <= atS && untilS > atS);
  const copies = Math.max(1, Math.round(pods / up.length));
  const deployments = [...alike(up.map((one) => ({ ...one, gpus: 0 })))].map(
    ([{ cpuMilli, memoryMi }, list], index) => {
      const stay = list.filter(({ untilS }) => untilS > atS + DAY_S).length;
      const requests = { cpu: `${cpuMilli}m`, memory: `${memoryMi}Mi` };
      return deployment(`openb-${index}`, list.length * copies, stay * copies, requests);
    },
  );
  return {
    name: "T-openb",
    about: "a trace's busiest moment, and a day later",
    pools: [pool(AFTER, [ON_DEMAND])],
    deployments,
    bound: "quick",
  };
}

const DAY_S = 24 * 60 * 60;

/** The first moment with the most pods. */
function busiest(pods: readonly TracedPod[]): number {
  const changes = pods.flatMap(({ fromS, untilS }) => [
    { atS: fromS, by: 1 },
    { atS: untilS, by: -1 },
  ]);
  let [there, most, atMostS] = [0, 0, 0];
  for (const { atS, by } of changes.sort((a, b) => a.atS - b.atS || a.by - b.by)) {
    there += by;
    if (there > most) [most, atMostS] = [there, atS];
  }
  return atMostS;
}

type Made = Pick<ScenarioC, "pools" | "deployments">;

interface Maker extends Pick<ScenarioC, "about" | "bound"> {
  readonly make: (nodes: number, random: Random) => Made;
}

const MAKERS: Readonly<Record<string, Maker>> = {
  empty: {
    about: "half of the Deployments end: their pods were alone on their nodes, or nearly",
    make: (nodes, random) => {
      const large = { cpu: "14", memory: "24Gi" };
      const few = Math.max(2, Math.round(nodes / 2));
      const mixed = classes(nodes * 5, nodes / 2, random, (up) => up);
      return one([
        ...mixed,
        deployment("ends", few, 0, large),
        deployment("ends-too", few, 0, { cpu: "7", memory: "50Gi" }),
      ]);
    },
  },
  delete: {
    about: "every Deployment goes down to a half: nodes can go, their pods on others",
    make: (nodes, random) =>
      one(classes(nodes * PODS_PER_NODE, nodes, random, (up) => Math.ceil(up * 0.5))),
  },
  replace: {
    about:
      "one pod stays on each node, apart from its like: large machines must give way to small ones",
    make: (nodes, random) => {
      const anchors = deployment(
        "anchor",
        nodes,
        nodes,
        { cpu: "800m", memory: "2Gi" },
        { spec: apart("anchor") },
      );
      return one([
        anchors,
        ...classes(nodes * PODS_PER_NODE, nodes / 2, random, (up) => Math.floor(up * 0.1)),
      ]);
    },
  },
  families: {
    about: "what asked for cores goes, what asks for memory stays: other families would do",
    make: (nodes, random) => {
      const half = (nodes * PODS_PER_NODE) / 2;
      const cores = classes(half, nodes / 4, random, (up) => Math.ceil(up * 0.1), {
        milliCpu: [1_000, 3_000],
        gib: [1, 3],
        name: "cores",
      });
      const memory = classes(half, nodes / 4, random, (up) => up, {
        milliCpu: [300, 900],
        gib: [3, 9],
        name: "memory",
      });
      return one([...cores, ...memory]);
    },
  },
  "anti-affinity": {
    about: "one pod a node, all apart from each other: nothing can be merged",
    make: (nodes) =>
      one([
        deployment(
          "apart",
          nodes,
          Math.ceil(nodes * 0.8),
          { cpu: "1", memory: "1500Mi" },
          { spec: apart("apart") },
        ),
      ]),
  },
  spread: {
    about: "Deployments spread over zones, some over hosts too, go down to 40 percent",
    make: (nodes, random) => {
      const drawn = classes(nodes * PODS_PER_NODE, nodes / 2, random, (up) => Math.ceil(up * 0.4));
      const rules = drawn.map(({ object, ...rest }, index) => {
        const own = spread(rest.name, ...(index % 4 === 0 ? [ZONE, HOST] : [ZONE]));
        return { ...rest, object: withSpec(object, own) };
      });
      return one(rules);
    },
  },
  pools: {
    about: "twenty NodePools, each with Deployments of its own, down to 60 percent",
    make: (nodes, random) => teams(20, nodes * PODS_PER_NODE, Math.max(2, nodes / 40), random),
  },
  many: {
    about:
      "fifteen NodePools for each node of the size, each with a few pods of its own, down to 60 percent",
    bound: "quick",
    make: (nodes, random) => teams(nodes * 15, nodes * 75, 2, random),
  },
  rollouts: {
    about: "Deployments of many sizes go down by anything between nothing and nine tenths",
    make: (nodes, random) =>
      one(
        classes(
          nodes * PODS_PER_NODE,
          nodes / 2,
          random,
          (up) => Math.ceil(up * (0.1 + 0.9 * random.fraction())),
          { milliCpu: [200, 7_000] },
        ),
      ),
  },
};

/** `count` NodePools, each with `kinds` Deployments that fit no other NodePool. */
function teams(count: number, pods: number, kinds: number, random: Random): Made {
  const names = Array.from({ length: count }, (_, index) => `team-${index}`);
  const deployments = names.flatMap((team) =>
    classes(pods / count, kinds, random, (up) => Math.ceil(up * 0.6), {
      name: team,
      spec: { nodeSelector: { "karpenter.sh/nodepool": team } },
    }),
  );
  return { pools: names.map((team) => pool(AFTER, [...SIZES, ON_DEMAND], team)), deployments };
}

function withSpec(object: KubeObject, spec: object): KubeObject {
  const { spec: outer } = object as KubeObject & {
    readonly spec: { readonly template: { readonly spec: object } };
  };
  const template = { ...outer.template, spec: { ...outer.template.spec, ...spec } };
  return { ...object, spec: { ...outer, template } } as KubeObject;
}

function one(deployments: readonly Deployment[]): Made {
  return { pools: [pool(AFTER, [...SIZES, ON_DEMAND])], deployments };
}

interface Drawn {
  readonly name?: string;
  readonly milliCpu?: readonly [number, number];
  /** GiB for each pod. Absent: one to eight for each core. */
  readonly gib?: readonly [number, number];
  readonly spec?: object;
}

/** About `pods` pods in Deployments with different requests. Small requests are more frequent than large ones. */
function classes(
  pods: number,
  count: number,
  random: Random,
  down: (up: number) => number,
  { name = "app", milliCpu: [least, most] = [200, 4_000], gib, spec }: Drawn = {},
): readonly Deployment[] {
  const kinds = Math.max(2, Math.min(2_000, Math.round(count)));
  return Array.from({ length: kinds }, (_, index) => {
    const up = Math.max(1, Math.round((pods / kinds) * (0.5 + random.fraction())));
    const cpu = Math.round((least + (most - least) * random.fraction() ** 2) / 50) * 50;
    const perPod =
      gib === undefined
        ? (cpu / 1_000) * (1 + 7 * random.fraction() ** 2)
        : gib[0] + (gib[1] - gib[0]) * random.fraction();
    const requests = {
      cpu: `${cpu}m`,
      memory: `${Math.max(128, Math.round((perPod * 1_024) / 64) * 64)}Mi`,
    };
    return deployment(
      `${name}-${index}`,
      up,
      Math.min(up, down(up)),
      requests,
      spec === undefined ? {} : { spec },
    );
  });
}
