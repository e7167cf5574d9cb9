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
  /** What a value below `min` is told, where upstream has words of its own. */
  readonly belowMin?: string;
  /** Largest legal value of a number. */
  readonly max?: number;
  readonly notActedOn?: string;
}

const LAST_PORT = 65_535;

/** Every flag: name, type, default, meaning. The settings page and the parser are made from it. */
export const OPTIONS = {
  karpenterService: core(
    "karpenter-service",
    "string",
    "",
    "Service of the webhooks, in the controller's namespace; empty = karpenter.",
  ),
  webhookPort: core("webhook-port", "integer", "8443", "Port of the webhooks (HTTPS).", {
    min: 1,
    max: LAST_PORT,
  }),
  disableWebhook: core(
    "disable-webhook",
    "boolean",
    "false",
    "Do not serve webhooks. There is then no conversion between v1beta1 and v1, and no admission of v1alpha5.",
  ),
  webhookMetricsPort: core(
    "webhook-metrics-port",
    "integer",
    "8001",
    "Port of the webhooks' metrics, as in releases with v1beta1.",
    { min: 0, max: LAST_PORT, notActedOn: "all metrics are served at --metrics-port" },
  ),
  metricsPort: core("metrics-port", "integer", "8080", "Port of /metrics; 0 = none.", {
    min: 0,
    max: LAST_PORT,
  }),
  consolePort: ours(
    "console-port",
    "CONSOLE_PORT",
    "integer",
    "0",
    "Port of the console, on loopback: kubectl port-forward reaches it. Whoever looks gives a token of the cluster, whose user may get /console; 0 = none.",
    { min: 0, max: LAST_PORT },
  ),
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
    "Requests to the API server that may exceed kube-client-qps for a moment.",
    { min: 1 },
  ),
  enableProfiling: core(
    "enable-profiling",
    "boolean",
    "false",
    "Serve profiles at /debug/pprof/{profile,heap,memory} of the metrics port, to callers on loopback whose token may get the path.",
  ),
  disableControllerWarmup: core(
    "disable-controller-warmup",
    "boolean",
    "true",
    "Do not fill caches before this replica leads.",
    { notActedOn: "caches are always full before a replica leads" },
  ),
  disableLeaderElection: core(
    "disable-leader-election",
    "boolean",
    "false",
    "Run without a Lease. Run one replica only.",
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
    "Leave out the gauges of nodes, and the events about conditions that change.",
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
  memoryLimit: core(
    "memory-limit",
    "integer",
    "-1",
    "Memory limit of the container in bytes: the heap may have four fifths of it. Needs Node 22.15 or later; -1 = as Node decides.",
  ),
  cpuRequests: core(
    "cpu-requests",
    "integer",
    "1000",
    "CPU request of the container in millicores. It sets how many objects are worked on at once.",
  ),
  logLevel: core("log-level", "string", "info", "Least level that is logged.", {
    values: ["", "debug", "info", "error"],
  }),
  logOutputPaths: core(
    "log-output-paths",
    "string",
    "stdout",
    "Where logs go: stdout, stderr or files, separated by commas.",
  ),
  logErrorOutputPaths: core(
    "log-error-output-paths",
    "string",
    "stderr",
    "Where the logger writes its own errors.",
  ),
  batchMaxDuration: core(
    "batch-max-duration",
    "duration",
    "10s",
    "Longest wait for more pods before a batch is planned.",
    { min: 1_000 },
  ),
  batchIdleDuration: core(
    "batch-idle-duration",
    "duration",
    "1s",
    "Plan the batch when no new pod has arrived for this long.",
    { min: 1_000 },
  ),
  preferencePolicy: core(
    "preference-policy",
    "string",
    "Respect",
    "Whether preferred affinities and spreads are respected or ignored.",
    { values: ["Respect", "Ignore"] },
  ),
  minValuesPolicy: core("min-values-policy", "string", "Strict", "What minValues counts for.", {
    values: ["Strict", "BestEffort"],
  }),
  ignoreDraRequests: core(
    "ignore-dra-requests",
    "boolean",
    "true",
    "Do not plan pods that have resource claims.",
  ),
  consolidationRepack: core(
    "consolidation-repack",
    "boolean",
    "true",
    "Replace several nodes by several cheaper ones where other consolidation saves less. Has no effect with planner-policy greedy. karpenter-ts only.",
  ),
  consolidationSplit: core(
    "consolidation-split",
    "boolean",
    "true",
    "Consolidation may replace one v1 node, or some, by up to ten smaller ones that cost less together. karpenter-ts only; upstream launches at most one.",
  ),
  consolidationSpotToOnDemand: core(
    "consolidation-spot-to-on-demand",
    "boolean",
    "true",
    "Replace spot nodes by on-demand nodes that cost at most half as much, while the gate SpotToSpotConsolidation is off. karpenter-ts only; upstream only deletes such nodes.",
  ),
  consolidationMinSavings: core(
    "consolidation-min-savings",
    "integer",
    "5",
    "Percent of the price that a replacement must save; a deletion may save any amount. karpenter-ts only; upstream accepts any saving.",
    { min: 0, max: 100 },
  ),
  consolidationMaxPayback: core(
    "consolidation-max-payback",
    "duration",
    "4h",
    "Longest time in which a replacement must save what it costs to run old and new nodes at the same time; 0 = no limit. karpenter-ts only.",
    { min: 0 },
  ),
  consolidationReplacementRest: core(
    "consolidation-replacement-rest",
    "duration",
    "1h",
    "How long consolidation leaves a node alone that replaced another one. karpenter-ts only.",
    { min: 0 },
  ),
  consolidationMaxPodMoves: core(
    "consolidation-max-pod-moves",
    "integer",
    "4",
    "How often an hour consolidation may move the pods of one workload, on average. karpenter-ts only.",
    { min: 1 },
  ),
  disruptionBudgets: core(
    "disruption-budgets",
    "string",
    "",
    "Disruption budgets for the nodes of all NodePools together, in YAML or JSON, in the form of spec.disruption.budgets. karpenter-ts only.",
  ),
  involuntaryDisruptionLimit: core(
    "involuntary-disruption-limit",
    "string",
    "5,10%",
    "How many nodes may end within ten minutes by garbage collection, node repair or initialization timeout: a count, a percentage of all nodes, or both (the greater counts). Above it no node ends this way for an hour. 0 = never; 100% = no limit. karpenter-ts only.",
  ),
  pauseDisruption: core(
    "pause-disruption",
    "boolean",
    "false",
    "Stop voluntary disruption in the whole cluster. karpenter-ts only.",
  ),
  expirationRespectsBudgets: core(
    "expiration-respects-budgets",
    "boolean",
    "false",
    "Replace expired v1 nodes before they end, within budgets, as v1beta1 did. karpenter-ts only; upstream ends them at once.",
  ),
  expirationSpread: core(
    "expiration-spread",
    "integer",
    "0",
    "Percent of expireAfter by which a node may expire early. Each node gets its own share, so that nodes of one age do not expire together. karpenter-ts only.",
    { min: 0, max: 90 },
  ),
  initializationTimeout: core(
    "initialization-timeout",
    "duration",
    "30m",
    "How long a registered node may take to initialize before it is ended. A node with a pod that would need another node stays. 0 = no limit. karpenter-ts only; upstream waits for ever.",
    { min: 0 },
  ),
  surgeTimeout: core(
    "surge-timeout",
    "duration",
    "10m",
    "How long a drain waits for the new pod of a workload that is moved without downtime; 0 = evict all pods at once. karpenter-ts only.",
    { min: 0 },
  ),
  surgeNamespaces: core(
    "surge-namespaces",
    "string",
    "",
    "Namespaces, separated by commas, whose Deployments may be restarted to move pods without downtime; * = all, empty = none. The controller needs the right to patch Deployments there. karpenter-ts only.",
  ),
  legacyNodeRepair: core(
    "legacy-node-repair",
    "boolean",
    "false",
    "With the gate NodeRepair: delete unhealthy nodes at once, as v1.14 did, instead of replacing them within budgets.",
  ),
  featureGates: core(
    "feature-gates",
    "string",
    "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false,TerminateFirstDrift=false,TerminateFirstRepair=false,PodDeletionCostManagement=false,Drift=true",
    "Feature gates as Name=true or Name=false, separated by commas. Unknown names are ignored.",
    {
      notActedOn:
        "of the gates only Drift (v1beta1), SpotToSpotConsolidation, NodeRepair, ReservedCapacity, StaticCapacity, NodeOverlay, CapacityBuffer, TerminateFirstDrift, TerminateFirstRepair and PodDeletionCostManagement have an effect yet",
    },
  ),
  schedulerConfig: core(
    "scheduler-config",
    "string",
    "",
    "Topology spread for pods that have no topologySpreadConstraints, as YAML or JSON.",
  ),
  clusterName: aws(
    "cluster-name",
    "string",
    "",
    "Name of the cluster, for tags, bootstrap and profile names. Required with the AWS provider.",
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
    "Make no call to AWS services that have no VPC endpoint (pricing).",
  ),
  eksControlPlane: aws(
    "eks-control-plane",
    "boolean",
    "false",
    "The control plane is EKS: ask EKS for its version, not the API server.",
  ),
  vmMemoryOverheadPercent: aws(
    "vm-memory-overhead-percent",
    "number",
    "0.075",
    "Share of an instance's memory that the hypervisor takes (0.075 = 7.5 %).",
    { min: 0 },
  ),
  interruptionQueue: aws(
    "interruption-queue",
    "string",
    "",
    "Name of the SQS queue with interruption events; empty = off.",
  ),
  reservedEnis: aws("reserved-enis", "integer", "0", "Interfaces left out of pod density.", {
    min: 0,
  }),
  disableDryRun: aws(
    "disable-dry-run",
    "boolean",
    "false",
    "Do not check AWS permissions by dry-run calls.",
  ),
  enableZonalShift: aws(
    "enable-zonal-shift",
    "boolean",
    "false",
    "Follow ARC zonal shifts: launch nothing in a zone while traffic is shifted away from it.",
  ),
  enableQuotaAwareness: aws(
    "enable-quota-awareness",
    "boolean",
    "false",
    "Plan only what EC2's vCPU quotas of the account still allow. Needs the right servicequotas:ListServiceQuotas.",
  ),
  amiRefreshInterval: aws(
    "ami-refresh-interval",
    "duration",
    "1m",
    "How often images (AMIs) are looked up again.",
    { min: 60_000 },
  ),
  subnetRefreshInterval: aws(
    "subnet-refresh-interval",
    "duration",
    "1m",
    "How often subnets are looked up again.",
    { min: 60_000 },
  ),
  securityGroupRefreshInterval: aws(
    "security-group-refresh-interval",
    "duration",
    "1m",
    "How often security groups are looked up again.",
    { min: 60_000, belowMin: "security-group-refresh-interval must be at least 1m" },
  ),
  awsFeatureGates: aws(
    "aws-feature-gates",
    "string",
    "NodeClassCEL=false,DRANVIDIAGPU=false,DRAEFA=false,DRANeuron=false,RebootForRepair=false",
    "Feature gates of the AWS provider. NodeClassCEL allows kubelet settings that are expressions over the instance type. DRANVIDIAGPU and DRAEFA plan pods that claim GPUs and EFA interfaces; DRANeuron (karpenter-ts only, experimental) Neuron devices. These three need ignore-dra-requests=false. RebootForRepair lets node repair reboot an instance where that mends its GPU (needs ec2:RebootInstances).",
  ),
  defaultInstanceProfile: ours(
    "default-instance-profile",
    "AWS_DEFAULT_INSTANCE_PROFILE",
    "string",
    "",
    "Instance profile for AWSNodeTemplates that name none.",
  ),
  awsTags: ours(
    "aws-tags",
    "AWS_TAGS",
    "string",
    "",
    "Tags on everything that is launched for v1alpha5 and v1beta1, as a JSON object of strings. Tags of the class win.",
  ),
  eniLimitedPodDensity: ours(
    "eni-limited-pod-density",
    "ENI_LIMITED_POD_DENSITY",
    "boolean",
    "true",
    "Limit the pods on a Machine by its network interfaces; false = 110 pods.",
  ),
  podEni: ours(
    "pod-eni",
    "POD_ENI",
    "boolean",
    "true",
    "Count the branch network interfaces that pods on a Machine can have.",
  ),
  actOnRebalance: ours(
    "act-on-rebalance-recommendations",
    "ACT_ON_REBALANCE_RECOMMENDATIONS",
    "boolean",
    "false",
    "Replace a spot node when EC2 recommends to rebalance it, before it is interrupted.",
  ),
  webhookUrl: ours(
    "webhook-url",
    "WEBHOOK_URL",
    "string",
    "",
    "URL of the webhooks of a controller outside the cluster, as the API server reaches it: https://host:port.",
  ),
  webhookClientCaFile: ours(
    "webhook-client-ca-file",
    "WEBHOOK_CLIENT_CA_FILE",
    "string",
    "",
    "PEM file of the authority that signed the API server's client certificate. If set, admission reviews of other callers are refused.",
  ),
  alphaDrift: ours(
    "alpha-drift",
    "ALPHA_DRIFT",
    "boolean",
    "false",
    "Detect drift of Machines, as featureGates.driftEnabled of karpenter-global-settings does.",
  ),
  observeOnly: ours(
    "observe-only",
    "OBSERVE_ONLY",
    "boolean",
    "false",
    "Decide, and say by events and metrics what would be done, but change nothing. It takes no Lease and serves no webhooks, so it runs beside a working Karpenter.",
  ),
  preset: ours(
    "preset",
    "PRESET",
    "string",
    "balanced",
    "Defaults of the settings that are karpenter-ts only: upstream-compatible = all of them off; frugal = save more, disrupt more. A setting that is given wins over the preset. docs/reference/presets.md has the table.",
    { values: ["upstream-compatible", "balanced", "frugal"] },
  ),
  plannerPolicy: ours(
    "planner-policy",
    "PLANNER_POLICY",
    "string",
    "cost",
    "How pods are planned: cost = the cheapest plan of several plan sources; greedy = upstream's rules alone.",
    { values: ["cost", "greedy"] },
  ),
  plannerEffort: ours(
    "planner-effort",
    "PLANNER_EFFORT",
    "number",
    "1",
    "Budget of the planner's search, as a multiple of the default. It counts steps, not time, so equal batches get equal plans.",
    { min: 0 },
  ),
  plannerMinSaving: ours(
    "planner-min-saving",
    "PLANNER_MIN_SAVING",
    "number",
    "2",
    "Percent of the price that a plan must save to replace the plan of upstream's rules.",
    { min: 0, max: 100 },
  ),
  plannerMinPods: ours(
    "planner-min-pods",
    "PLANNER_MIN_PODS",
    "integer",
    "100",
    "Smallest batch for which packing is tried. For pods that are spread over zones a fifth of it is enough.",
    { min: 0 },
  ),
  plannerNodeCost: ours(
    "planner-node-cost",
    "PLANNER_NODE_COST",
    "number",
    "0.02",
    "Cost of a node in $/h beyond its instance: disk, address, agents.",
    { min: 0 },
  ),
} as const satisfies Readonly<Record<string, OptionDefinition>>;

type Extra = Partial<Pick<OptionDefinition, "values" | "min" | "belowMin" | "max" | "notActedOn">>;

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
