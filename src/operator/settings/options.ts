/**
 * The table of every setting of the controller: flag, environment variable, default, unit, meaning. Flags are parsed
 * by it (parse-options.ts) and `docs/reference/settings.md` is made from it. Long because it is one table.
 * upstream: pkg/operator/options of the core and of the AWS provider.
 */

/** One setting. `acted` says what is not built yet; such a setting is logged when it is changed. */
export interface OptionDefinition {
  readonly flag: string;
  readonly env: string;
  readonly type: "string" | "boolean" | "integer" | "number" | "duration";
  /** As text, before parsing. */
  readonly default: string;
  readonly help: string;
  readonly scope: "core" | "aws" | "ours";
  readonly values?: readonly string[];
  /** Smallest legal value: a number, or milliseconds for durations. */
  readonly min?: number;
  /** Largest legal value of a number. */
  readonly max?: number;
  readonly notActedOn?: string;
}

const LAST_PORT = 65_535;
const LATER = "accepted, no effect yet";

export const OPTIONS = {
  karpenterService: core(
    "karpenter-service",
    "string",
    "",
    "Name of the webhooks' Service in the controller's namespace; empty = karpenter.",
  ),
  webhookPort: core("webhook-port", "integer", "8443", "Port of the webhooks (HTTPS).", {
    min: 1,
    max: LAST_PORT,
  }),
  disableWebhook: core(
    "disable-webhook",
    "boolean",
    "false",
    "Serve no webhooks: no conversion between v1beta1 and v1, no admission of v1alpha5.",
  ),
  webhookMetricsPort: core(
    "webhook-metrics-port",
    "integer",
    "8001",
    "Port of the webhooks' own metrics in v1beta1's releases.",
    { min: 0, max: LAST_PORT, notActedOn: "all metrics are served at --metrics-port" },
  ),
  metricsPort: core("metrics-port", "integer", "8080", "Port of /metrics; 0 = none.", {
    min: 0,
    max: LAST_PORT,
  }),
  healthProbePort: core(
    "health-probe-port",
    "integer",
    "8081",
    "Port of /healthz and /readyz; 0 = none.",
    { min: 0, max: LAST_PORT },
  ),
  kubeClientQps: core(
    "kube-client-qps",
    "integer",
    "200",
    "Requests per second to the API server.",
    { min: 1 },
  ),
  kubeClientBurst: core(
    "kube-client-burst",
    "integer",
    "300",
    "Requests at once above that rate.",
    { min: 1 },
  ),
  enableProfiling: core("enable-profiling", "boolean", "false", "Serve /debug/pprof.", {
    notActedOn: "Go's profiles do not exist here; use node --cpu-prof",
  }),
  disableControllerWarmup: core(
    "disable-controller-warmup",
    "boolean",
    "true",
    "Do not fill caches before leading.",
    { notActedOn: "caches are always full before a replica leads" },
  ),
  disableLeaderElection: core(
    "disable-leader-election",
    "boolean",
    "false",
    "Run without a Lease: one replica only.",
  ),
  leaderElect: core(
    "leader-elect",
    "boolean",
    "true",
    "v1beta1's opposite of disable-leader-election: either turns it off.",
  ),
  disableClusterStateObservability: core(
    "disable-cluster-state-observability",
    "boolean",
    "false",
    "Leave out the gauges of nodes and the events of conditions that change.",
  ),
  leaderElectionName: core(
    "leader-election-name",
    "string",
    "karpenter-leader-election",
    "Name of the Lease.",
  ),
  leaderElectionNamespace: core(
    "leader-election-namespace",
    "string",
    "",
    "Namespace of the Lease; empty = the controller's own.",
  ),
  memoryLimit: core("memory-limit", "integer", "-1", "Memory limit of the container in bytes.", {
    notActedOn: "Node takes its limit at the start: NODE_OPTIONS=--max-old-space-size=<MiB>",
  }),
  cpuRequests: core(
    "cpu-requests",
    "integer",
    "1000",
    "CPU request of the container in milli-cores: scales concurrency.",
  ),
  logLevel: core("log-level", "string", "info", "Least level that is logged.", {
    values: ["", "debug", "info", "error"],
  }),
  logOutputPaths: core(
    "log-output-paths",
    "string",
    "stdout",
    "Where logs go: stdout, stderr or files, by comma.",
  ),
  logErrorOutputPaths: core(
    "log-error-output-paths",
    "string",
    "stderr",
    "Where the logger's own errors go.",
  ),
  batchMaxDuration: core(
    "batch-max-duration",
    "duration",
    "10s",
    "Longest wait for more pods before planning.",
    { min: 1_000 },
  ),
  batchIdleDuration: core(
    "batch-idle-duration",
    "duration",
    "1s",
    "Plan when no pod came for this long.",
    { min: 1_000 },
  ),
  preferencePolicy: core(
    "preference-policy",
    "string",
    "Respect",
    "What preferred terms count for.",
    { values: ["Respect", "Ignore"] },
  ),
  minValuesPolicy: core("min-values-policy", "string", "Strict", "What minValues counts for.", {
    values: ["Strict", "BestEffort"],
  }),
  ignoreDraRequests: core(
    "ignore-dra-requests",
    "boolean",
    "true",
    "Pass over pods with resource claims.",
    { notActedOn: LATER },
  ),
  consolidationRepack: core(
    "consolidation-repack",
    "boolean",
    "true",
    "Where other consolidations would save less, several nodes give way to several that are cheaper together; not with planner-policy greedy. Ours.",
  ),
  consolidationSpotToOnDemand: core(
    "consolidation-spot-to-on-demand",
    "boolean",
    "true",
    "Without the gate SpotToSpotConsolidation, nodes that are all spot give way to on-demand ones that cost at most half as much. Ours; upstream only deletes them.",
  ),
  consolidationMinSavings: core(
    "consolidation-min-savings",
    "integer",
    "5",
    "Percent of the price that a replacement must save; deletions always count. Ours; upstream: any saving.",
    { min: 0, max: 100 },
  ),
  consolidationMaxPayback: core(
    "consolidation-max-payback",
    "duration",
    "4h",
    "What a replacement costs while old and new nodes run side by side must be saved within so long. Ours; 0 = no limit.",
    { min: 0 },
  ),
  consolidationReplacementRest: core(
    "consolidation-replacement-rest",
    "duration",
    "1h",
    "A node that came in place of another is not replaced by consolidation for so long. Ours.",
    { min: 0 },
  ),
  consolidationMaxPodMoves: core(
    "consolidation-max-pod-moves",
    "integer",
    "4",
    "Times an hour that consolidation may move a workload's pods, on average. Ours.",
    { min: 1 },
  ),
  disruptionBudgets: core(
    "disruption-budgets",
    "string",
    "",
    "Budgets over the nodes of all pools together, as a NodePool's disruption.budgets, in YAML or JSON. Ours.",
  ),
  involuntaryDisruptionLimit: core(
    "involuntary-disruption-limit",
    "string",
    "5,10%",
    "How many nodes may end within ten minutes for reasons that nobody asked for (garbage collection, node repair, initialization timeout): a count, a share of all nodes, or both, of which the greater counts. Beyond it none ends for an hour. 0 = none ever; 100% = no limit. karpenter-ts only.",
  ),
  pauseDisruption: core(
    "pause-disruption",
    "boolean",
    "false",
    "No voluntary disruption in the whole cluster. Ours.",
  ),
  expirationRespectsBudgets: core(
    "expiration-respects-budgets",
    "boolean",
    "false",
    "v1 nodes that expire are replaced first, within budgets, as v1beta1 did. Ours; upstream ends them at once.",
  ),
  expirationSpread: core(
    "expiration-spread",
    "integer",
    "0",
    "Percent of its lifetime that a node may expire early, each by another share: nodes of one age do not go together. Ours.",
    { min: 0, max: 90 },
  ),
  initializationTimeout: core(
    "initialization-timeout",
    "duration",
    "30m",
    "A node that has registered and is not usable for so long is given up, unless a pod that would want another place is bound to it; 0 = never. Ours; upstream waits for ever.",
    { min: 0 },
  ),
  surgeTimeout: core(
    "surge-timeout",
    "duration",
    "10m",
    "How long a node that leaves waits for the new pod of a workload that is moved without downtime; 0 = all pods are evicted at once. Ours.",
    { min: 0 },
  ),
  surgeNamespaces: core(
    "surge-namespaces",
    "string",
    "",
    "Namespaces, by comma, whose Deployments may be rolled over so that their pods move without downtime; * = all, empty = none. The controller needs the right to patch Deployments there. Ours.",
  ),
  featureGates: core(
    "feature-gates",
    "string",
    "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false,Drift=true",
    "Name=true|false by comma; unknown names are ignored.",
    {
      notActedOn:
        "of the gates only Drift (v1beta1), SpotToSpotConsolidation, NodeRepair, ReservedCapacity, StaticCapacity and NodeOverlay have an effect yet",
    },
  ),
  schedulerConfig: core(
    "scheduler-config",
    "string",
    "",
    "Topology spread of pods that ask for none, as YAML or JSON.",
  ),
  clusterName: aws(
    "cluster-name",
    "string",
    "",
    "Name of the cluster: tags, bootstrap, profile names. Required with the AWS provider.",
  ),
  clusterEndpoint: aws(
    "cluster-endpoint",
    "string",
    "",
    "URL of the API server for nodes; empty = ask EKS.",
  ),
  clusterCaBundle: aws(
    "cluster-ca-bundle",
    "string",
    "",
    "Base64 CA bundle for nodes; empty = the controller's own.",
  ),
  isolatedVpc: aws(
    "isolated-vpc",
    "boolean",
    "false",
    "Make no call to services without a VPC endpoint (pricing).",
  ),
  eksControlPlane: aws(
    "eks-control-plane",
    "boolean",
    "false",
    "The control plane is EKS: its version is asked of EKS, not of the API server.",
  ),
  vmMemoryOverheadPercent: aws(
    "vm-memory-overhead-percent",
    "number",
    "0.075",
    "Share of memory the hypervisor takes.",
    { min: 0 },
  ),
  interruptionQueue: aws(
    "interruption-queue",
    "string",
    "",
    "SQS queue with interruption events; empty = off.",
  ),
  reservedEnis: aws("reserved-enis", "integer", "0", "Interfaces left out of pod density.", {
    min: 0,
  }),
  disableDryRun: aws(
    "disable-dry-run",
    "boolean",
    "false",
    "Do not check permissions by dry-run calls.",
  ),
  enableZonalShift: aws(
    "enable-zonal-shift",
    "boolean",
    "false",
    "Follow ARC zonal shifts: launch nothing in zones that traffic is shifted away from.",
  ),
  amiRefreshInterval: aws(
    "ami-refresh-interval",
    "duration",
    "1m",
    "How often images are looked up again.",
    { min: 60_000 },
  ),
  subnetRefreshInterval: aws(
    "subnet-refresh-interval",
    "duration",
    "1m",
    "How often subnets are looked up again.",
    { min: 60_000 },
  ),
  awsFeatureGates: aws(
    "aws-feature-gates",
    "string",
    "NodeClassCEL=false",
    "Gates of the AWS provider: NodeClassCEL lets kubelet settings be expressions of the instance type.",
  ),
  defaultInstanceProfile: ours(
    "default-instance-profile",
    "AWS_DEFAULT_INSTANCE_PROFILE",
    "string",
    "",
    "Profile for alpha templates that name none.",
  ),
  awsTags: ours(
    "aws-tags",
    "AWS_TAGS",
    "string",
    "",
    "Tags on everything launched for alpha and v1beta1, below the class' own: a JSON object of strings.",
  ),
  eniLimitedPodDensity: ours(
    "eni-limited-pod-density",
    "ENI_LIMITED_POD_DENSITY",
    "boolean",
    "true",
    "Pods on a Machine by its network interfaces; false: 110.",
  ),
  podEni: ours(
    "pod-eni",
    "POD_ENI",
    "boolean",
    "true",
    "Count the interfaces that pods can have for themselves on a Machine.",
  ),
  actOnRebalance: ours(
    "act-on-rebalance-recommendations",
    "ACT_ON_REBALANCE_RECOMMENDATIONS",
    "boolean",
    "false",
    "Replace spot nodes that EC2 says are at risk, before it takes them.",
  ),
  webhookUrl: ours(
    "webhook-url",
    "WEBHOOK_URL",
    "string",
    "",
    "Where the API server finds the webhooks of a controller outside the cluster: https://host:port.",
  ),
  webhookClientCaFile: ours(
    "webhook-client-ca-file",
    "WEBHOOK_CLIENT_CA_FILE",
    "string",
    "",
    "PEM file of the authority of the API server's client certificate; set, admission reviews of other callers are refused.",
  ),
  alphaDrift: ours(
    "alpha-drift",
    "ALPHA_DRIFT",
    "boolean",
    "false",
    "Drift of Machines: featureGates.driftEnabled of karpenter-global-settings.",
  ),
  plannerPolicy: ours(
    "planner-policy",
    "PLANNER_POLICY",
    "string",
    "cost",
    "How pods become nodes: the cheaper of upstream's rules and a packing by price, or the rules alone.",
    { values: ["cost", "greedy"] },
  ),
  plannerEffort: ours(
    "planner-effort",
    "PLANNER_EFFORT",
    "number",
    "1",
    "How long the planner searches, as a multiple; counted in steps, so plans repeat.",
    { min: 0 },
  ),
  plannerMinSaving: ours(
    "planner-min-saving",
    "PLANNER_MIN_SAVING",
    "number",
    "2",
    "Percent of the price that a packing must save over upstream's rules to be taken instead.",
    { min: 0, max: 100 },
  ),
  plannerMinPods: ours(
    "planner-min-pods",
    "PLANNER_MIN_PODS",
    "integer",
    "100",
    "Batches of fewer pods follow upstream's rules alone; of pods spread over zones a fifth is enough.",
    { min: 0 },
  ),
  plannerNodeCost: ours(
    "planner-node-cost",
    "PLANNER_NODE_COST",
    "number",
    "0.02",
    "Dollars an hour that a node costs beyond its machine: disk, address, agents.",
    { min: 0 },
  ),
} as const satisfies Readonly<Record<string, OptionDefinition>>;

type Extra = Partial<Pick<OptionDefinition, "values" | "min" | "max" | "notActedOn">>;

function core<T extends OptionDefinition["type"]>(
  flag: string,
  type: T,
  fallback: string,
  help: string,
  extra: Extra = {},
) {
  return {
    flag,
    env: toEnv(flag),
    type,
    default: fallback,
    help,
    scope: "core" as const,
    ...extra,
  };
}

function aws<T extends OptionDefinition["type"]>(
  flag: string,
  type: T,
  fallback: string,
  help: string,
  extra: Extra = {},
) {
  return { flag, env: toEnv(flag), type, default: fallback, help, scope: "aws" as const, ...extra };
}

function ours<T extends OptionDefinition["type"]>(
  flag: string,
  env: string,
  type: T,
  fallback: string,
  help: string,
  extra: Extra = {},
) {
  return { flag, env, type, default: fallback, help, scope: "ours" as const, ...extra };
}

function toEnv(flag: string): string {
  return flag.toUpperCase().replaceAll("-", "_");
}
