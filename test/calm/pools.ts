/**
 * NodePools of calm runs in each generation, as manifests that a user would write, and the facts that the checks need.
 * Each has a node class of its own and sets the label `team` on its nodes.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { Random } from "../../src/base/random.ts";

export interface BudgetFacts {
  readonly nodes: string;
  readonly reasons?: readonly string[];
  /** The schedule, which may have a time zone: `CRON_TZ=Europe/Zurich 0 9 * * *`. */
  readonly schedule?: string;
  /** The duration in Kubernetes' form: `2h0m`. */
  readonly duration?: string;
}

export interface PoolFacts {
  readonly name: string;
  readonly generation: "v1" | "v1beta1" | "v1alpha5";
  readonly kind: { readonly apiVersion: string; readonly kind: string };
  readonly manifests: readonly KubeObject[];
  /** The budgets of the NodePool. Undefined: its generation has no budgets. */
  readonly budgets: readonly BudgetFacts[] | undefined;
  readonly cpuLimit: number | undefined;
  readonly nodeLimit: number | undefined;
  /** Whether nodes expire, after 45 minutes. The cluster is then never quite idle. */
  readonly expires: boolean;
  /** Replicas of a static NodePool. */
  readonly replicas: number | undefined;
  /** Only empty nodes are consolidated. */
  readonly onlyEmpty: boolean;
  /** Nodes are not consolidated for this time after a pod came or left. */
  readonly quietMs: number;
}

const CLUSTER = "karpenter-demo";
const DISCOVERED = [{ tags: { "karpenter.sh/discovery": CLUSTER } }];
const IN_CLUSTER = [{ tags: { "alpha.eksctl.io/cluster-name": CLUSTER } }];

/** Instance families. Few enough for hundreds of days in an hour, and enough to choose from. */
const FAMILIES = ["c5", "m5", "r5", "m6i", "c6i"];
/** The region also sells types that no NodePool here allows: too small, another architecture, local disks. */
const SOLD: ReadonlySet<string> = new Set([...FAMILIES, "t3", "m7g", "m5d"]);

/** CPU limits of NodePools. The smaller ones are soon reached. */
const LIMITS = [8, 16, 40];

export function isSold(instanceType: string): boolean {
  return SOLD.has(instanceType.slice(0, instanceType.indexOf(".")));
}

export function drawPool(random: Random, at: number): PoolFacts {
  const generation = random.pick(["v1", "v1", "v1", "v1", "v1beta1", "v1alpha5"] as const);
  const replicas = generation === "v1" && at > 0 && random.int(6) === 0 ? random.int(4) : undefined;
  const expires = random.int(5) === 0 && replicas === undefined;
  const facts = {
    name: `pool-${at}`,
    generation,
    budgets: generation === "v1alpha5" ? undefined : drawBudgets(random, generation),
    cpuLimit: random.int(5) === 0 && replicas === undefined ? LIMITS[at] : undefined,
    expires,
    replicas,
    kind:
      generation === "v1alpha5"
        ? { apiVersion: "karpenter.sh/v1alpha5", kind: "Provisioner" }
        : { apiVersion: `karpenter.sh/${generation}`, kind: "NodePool" },
  };
  const manifests =
    generation === "v1"
      ? v1(random, facts)
      : generation === "v1beta1"
        ? v1beta1(random, facts)
        : v1alpha5(random, facts);
  return {
    ...facts,
    nodeLimit: undefined,
    ...consolidationOf(manifests[1] as PoolWords),
    manifests: manifests as unknown as KubeObject[],
  };
}

/** The NodePool, sometimes with a small limit of nodes, as v1 allows. */
export function withNodeLimit(random: Random, pool: PoolFacts): PoolFacts {
  const most = 2 + random.int(4);
  if (random.int(5) > 0 || pool.generation !== "v1") return pool;
  // For a static NodePool the limit is its replicas, or one more.
  const nodeLimit = pool.replicas === undefined ? most : Math.max(1, pool.replicas) + random.int(2);
  const manifests = pool.manifests.map((one) => {
    const { spec = {} } = one as { spec?: { limits?: object } };
    if (one.kind !== pool.kind.kind) return one;
    return { ...one, spec: { ...spec, limits: { ...spec.limits, nodes: nodeLimit } } };
  });
  return { ...pool, nodeLimit, manifests };
}

/** The consolidation fields of a NodePool, independent of its generation. */
interface PoolWords {
  readonly spec: {
    readonly ttlSecondsAfterEmpty?: number;
    readonly disruption?: {
      readonly consolidationPolicy: string;
      readonly consolidateAfter?: string;
    };
  };
}

function consolidationOf({ spec }: PoolWords): Pick<PoolFacts, "onlyEmpty" | "quietMs"> {
  const { disruption, ttlSecondsAfterEmpty } = spec;
  const [, amount = "0", unit] = /^(\d+)(s|m)$/.exec(disruption?.consolidateAfter ?? "") ?? [];
  return {
    onlyEmpty:
      disruption?.consolidationPolicy === "WhenEmpty" || ttlSecondsAfterEmpty !== undefined,
    quietMs: Number(amount) * (unit === "m" ? 60_000 : 1_000),
  };
}

type Facts = Omit<PoolFacts, "manifests" | "nodeLimit" | "onlyEmpty" | "quietMs">;

function requirements(random: Random): readonly object[] {
  const key = "karpenter.sh/capacity-type";
  const values = random.pick([["on-demand"], ["spot"], ["spot", "on-demand"]]);
  return [
    { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
    { key: "karpenter.k8s.aws/instance-family", operator: "In", values: FAMILIES },
    { key: "karpenter.k8s.aws/instance-cpu", operator: "Lt", values: ["17"] },
    { key, operator: "In", values },
  ];
}

function v1(
  random: Random,
  { name, budgets, cpuLimit, expires, replicas }: Facts,
): readonly object[] {
  const nodeClassRef = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name };
  const nodeClass = {
    apiVersion: "karpenter.k8s.aws/v1",
    kind: "EC2NodeClass",
    metadata: { name },
    spec: {
      role: `KarpenterNodeRole-${CLUSTER}`,
      amiSelectorTerms: [{ alias: "al2023@latest" }],
      subnetSelectorTerms: DISCOVERED,
      securityGroupSelectorTerms: DISCOVERED,
    },
  };
  const policies = [
    "WhenEmpty",
    "WhenEmptyOrUnderutilized",
    "WhenEmptyOrUnderutilized",
    "Balanced",
  ];
  const pool = {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: {
        metadata: { labels: { team: name } },
        spec: {
          requirements: requirements(random),
          nodeClassRef,
          expireAfter: expires ? "45m" : "720h",
          ...(random.int(3) === 0 ? { terminationGracePeriod: "10m" } : {}),
        },
      },
      ...(cpuLimit === undefined ? {} : { limits: { cpu: cpuLimit } }),
      ...(replicas === undefined ? {} : { replicas }),
      disruption: {
        consolidationPolicy: random.pick(policies),
        consolidateAfter: random.pick(["0s", "30s", "2m", "5m"]),
        ...(budgets === undefined || budgets.length === 0 ? {} : { budgets }),
      },
    },
  };
  return [nodeClass, pool];
}

function v1beta1(random: Random, { name, budgets, cpuLimit, expires }: Facts): readonly object[] {
  const nodeClass = {
    apiVersion: "karpenter.k8s.aws/v1beta1",
    kind: "EC2NodeClass",
    metadata: { name },
    spec: {
      amiFamily: "AL2",
      role: `KarpenterNodeRole-${CLUSTER}`,
      subnetSelectorTerms: IN_CLUSTER,
      securityGroupSelectorTerms: IN_CLUSTER,
    },
  };
  const whenEmpty = { consolidationPolicy: "WhenEmpty", consolidateAfter: "30s" };
  const pool = {
    apiVersion: "karpenter.sh/v1beta1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: {
        metadata: { labels: { team: name } },
        spec: { requirements: requirements(random), nodeClassRef: { name } },
      },
      ...(cpuLimit === undefined ? {} : { limits: { cpu: cpuLimit } }),
      disruption: {
        ...(random.int(3) === 0 ? whenEmpty : { consolidationPolicy: "WhenUnderutilized" }),
        expireAfter: expires ? "45m" : "Never",
        ...(budgets === undefined || budgets.length === 0 ? {} : { budgets }),
      },
    },
  };
  return [nodeClass, pool];
}

function v1alpha5(random: Random, { name, cpuLimit, expires }: Facts): readonly object[] {
  const template = {
    apiVersion: "karpenter.k8s.aws/v1alpha1",
    kind: "AWSNodeTemplate",
    metadata: { name },
    spec: {
      subnetSelector: { "alpha.eksctl.io/cluster-name": CLUSTER },
      securityGroupSelector: { [`kubernetes.io/cluster/${CLUSTER}`]: "owned" },
      instanceProfile: `KarpenterNodeInstanceProfile-${CLUSTER}`,
      amiFamily: "AL2",
    },
  };
  const pool = {
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name },
    spec: {
      providerRef: { name },
      labels: { team: name },
      requirements: requirements(random),
      ...(random.int(3) === 0
        ? { ttlSecondsAfterEmpty: 30 }
        : { consolidation: { enabled: true } }),
      ...(expires ? { ttlSecondsUntilExpired: 2_700 } : {}),
      ...(cpuLimit === undefined ? {} : { limits: { resources: { cpu: String(cpuLimit) } } }),
    },
  };
  return [template, pool];
}

/** Budgets of the whole cluster. None blocks disruption all the time, otherwise the cluster could not settle. */
export function drawClusterBudgets(random: Random): readonly BudgetFacts[] {
  return [
    { nodes: random.pick(["1", "2", "30%"]) },
    {
      nodes: "0",
      schedule: `${drawPlace(random)}${random.pick([0, 20, 40])} */2 * * *`,
      duration: random.pick(["10m0s", "30m0s"]),
    },
  ].slice(0, 1 + random.int(2));
}

function drawPlace(random: Random): string {
  return random.pick([
    "",
    "CRON_TZ=Europe/Zurich ",
    "CRON_TZ=America/New_York ",
    "TZ=Asia/Kolkata ",
    // Daylight saving time there shifts by half an hour.
    "CRON_TZ=Australia/Lord_Howe ",
    "CRON_TZ=Pacific/Auckland ",
  ]);
}

function drawBudgets(random: Random, generation: string): readonly BudgetFacts[] {
  const count = random.int(4);
  const hour = random.int(24);
  const minute = random.pick([0, 15, 30, 45]);
  const place = drawPlace(random);
  const drawn: BudgetFacts[] = [
    { nodes: random.pick(["1", "2", "10%", "50%"]) },
    {
      nodes: random.pick(["0", "1"]),
      schedule: `${place}${minute} ${random.pick(["*", `${hour}`, "1-3", "*/2"])} * * *`,
      duration: random.pick(["10m0s", "30m0s", "1h0m"]),
    },
    generation === "v1"
      ? { nodes: random.pick(["0", "1"]), reasons: [random.pick(["Drifted", "Underutilized"])] }
      : { nodes: "30%" },
  ];
  return drawn.slice(0, count);
}
