/**
 * The kubelet settings that every image family passes on, and all fields of KubeletConfiguration v1beta1 (as of
 * Kubernetes 1.37), which AL2023 passes to the kubelet as written.
 * upstream: k8s.io/kubelet/config/v1beta1, k8s.io/component-base/{logs,tracing}/api/v1
 */

/** The form that a value must have. */
export type KubeletShape =
  | Leaf
  | { readonly list: KubeletShape }
  | { readonly map: KubeletShape }
  | { readonly object: KubeletFields };

/** Kubelet fields by name, with the shape of their values. */
export type KubeletFields = ReadonlyMap<string, KubeletShape>;

/** A single value. A duration is text such as 1m30s; only a signed one may be negative. */
export type Leaf =
  | "boolean"
  | "duration"
  | "duration or nanoseconds"
  | "integer"
  | "IP address"
  | "number"
  | "quantity"
  | "signed duration"
  | "text";

/**
 * Kubelet settings that every image family passes on, each family in its own form. upstream: the typed block of v1.14
 */
export const EVERYWHERE: ReadonlySet<string> = new Set([
  "clusterDNS",
  "cpuCFSQuota",
  "evictionHard",
  "evictionMaxPodGracePeriod",
  "evictionSoft",
  "evictionSoftGracePeriod",
  "imageGCHighThresholdPercent",
  "imageGCLowThresholdPercent",
  "kubeReserved",
  "maxPods",
  "podsPerCore",
  "systemReserved",
]);

/** Fields named in one text, all of the same shape. */
type Row = readonly [names: string, shape: KubeletShape];

function fields(...rows: readonly Row[]): KubeletFields {
  return new Map(rows.flatMap(([names, shape]) => names.split(/\s+/).map((name) => [name, shape])));
}

function object(...rows: readonly Row[]): KubeletShape {
  return { object: fields(...rows) };
}

const AUTHENTICATION = object(
  ["x509", object(["clientCAFile", "text"])],
  ["webhook", object(["enabled", "boolean"], ["cacheTTL", "duration"])],
  ["anonymous", object(["enabled", "boolean"])],
);

const AUTHORIZATION = object(
  ["mode", "text"],
  ["webhook", object(["cacheAuthorizedTTL cacheUnauthorizedTTL", "duration"])],
);

const LOG_OUTPUT = object(["splitStream", "boolean"], ["infoBufferSize", "quantity"]);

const LOGGING = object(
  ["format", "text"],
  ["flushFrequency", "duration or nanoseconds"],
  ["verbosity", "integer"],
  ["vmodule", { list: object(["filePattern", "text"], ["verbosity", "integer"]) }],
  ["options", object(["text json", LOG_OUTPUT])],
);

/** Shapes by the name of the setting. registerWithTaints is left out, because Karpenter writes it. */
export const SETTINGS: KubeletFields = fields(
  [
    `cgroupsPerQOS cpuCFSQuota enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler
    enableDebuggingHandlers enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery failCgroupV1
    failSwapOn kernelMemcgNotification localStorageCapacityIsolation makeIPTablesUtilChains mergeDefaultEvictionSettings
    protectKernelDefaults registerNode rotateCertificates runOnce seccompDefault serializeImagePulls serverTLSBootstrap
    singleProcessOOMKill`,
    "boolean",
  ],
  [
    `containerLogMonitorInterval cpuCFSQuotaPeriod cpuManagerReconcilePeriod evictionPressureTransitionPeriod
    fileCheckFrequency httpCheckFrequency imageMaximumGCAge imageMinimumGCAge nodeStatusReportFrequency
    nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod shutdownGracePeriodCriticalPods
    streamingConnectionIdleTimeout syncFrequency`,
    "duration",
  ],
  // A negative duration switches the calculation off.
  ["volumeStatsAggPeriod", "signed duration"],
  [
    `containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS evictionMaxPodGracePeriod healthzPort
    imageGCHighThresholdPercent imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst kubeAPIQPS
    maxOpenFiles maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages oomScoreAdj podPidsLimit
    podsPerCore port readOnlyPort registryBurst registryPullQPS`,
    "integer",
  ],
  ["memoryThrottlingFactor", "number"],
  [
    `address apiVersion cgroupDriver cgroupRoot clusterDomain configMapAndSecretChangeDetectionStrategy
    containerLogMaxSize containerRuntimeEndpoint contentType cpuManagerPolicy hairpinMode healthzBindAddress
    imagePullCredentialsVerificationPolicy imageServiceEndpoint kind kubeReservedCgroup kubeletCgroups
    memoryManagerPolicy memoryReservationPolicy podCIDR podLogsDir providerID reservedSystemCPUs resolvConf
    showHiddenMetricsForVersion staticPodPath staticPodURL systemCgroups systemReservedCgroup tlsCertFile tlsMinVersion
    tlsPrivateKeyFile topologyManagerPolicy topologyManagerScope volumePluginDir`,
    "text",
  ],
  [
    "allowedUnsafeSysctls enforceNodeAllocatable preloadedImagesVerificationAllowlist tlsCipherSuites",
    { list: "text" },
  ],
  ["clusterDNS", { list: "IP address" }],
  ["tlsCurvePreferences", { list: "integer" }],
  [
    `cpuManagerPolicyOptions defaultPodSysctls evictionHard evictionMinimumReclaim evictionSoft evictionSoftGracePeriod
    kubeReserved qosReserved systemReserved topologyManagerPolicyOptions`,
    { map: "text" },
  ],
  ["featureGates", { map: "boolean" }],
  ["staticPodURLHeader", { map: { list: "text" } }],
  ["authentication", AUTHENTICATION],
  ["authorization", AUTHORIZATION],
  ["crashLoopBackOff", object(["maxContainerRestartPeriod", "duration"])],
  ["logging", LOGGING],
  ["memorySwap", object(["swapBehavior", "text"])],
  ["reservedMemory", { list: object(["numaNode", "integer"], ["limits", { map: "quantity" }]) }],
  [
    "shutdownGracePeriodByPodPriority",
    { list: object(["priority shutdownGracePeriodSeconds", "integer"]) },
  ],
  ["tracing", object(["endpoint", "text"], ["samplingRatePerMillion", "integer"])],
  ["userNamespaces", object(["idsPerPod", "integer"])],
);
