/**
 * The kubelet's settings: those that every image family passes on, and all that its KubeletConfiguration v1beta1
 * knows, which AL2023 hands to the kubelet as written. upstream: k8s.io/kubelet/config/v1beta1
 */

/** What a value must look like. A duration is text such as 1m30s. */
export type SettingKind =
  | "boolean"
  | "duration"
  | "integer"
  | "list"
  | "map"
  | "number"
  | "object"
  | "text"
  | "texts";

/** upstream: the typed block of v1.14, all of which each family words in its own way */
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

const OF_KIND: Readonly<Record<SettingKind, string>> = {
  boolean: `cgroupsPerQOS cpuCFSQuota enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler
    enableDebuggingHandlers enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery failCgroupV1
    failSwapOn kernelMemcgNotification localStorageCapacityIsolation makeIPTablesUtilChains mergeDefaultEvictionSettings
    protectKernelDefaults registerNode rotateCertificates runOnce seccompDefault serializeImagePulls serverTLSBootstrap
    singleProcessOOMKill`,
  duration: `containerLogMonitorInterval cpuCFSQuotaPeriod
    cpuManagerReconcilePeriod evictionPressureTransitionPeriod fileCheckFrequency httpCheckFrequency imageMaximumGCAge
    imageMinimumGCAge nodeStatusReportFrequency nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod
    shutdownGracePeriodCriticalPods streamingConnectionIdleTimeout syncFrequency volumeStatsAggPeriod`,
  integer: `containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS evictionMaxPodGracePeriod healthzPort
    imageGCHighThresholdPercent imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst kubeAPIQPS
    maxOpenFiles maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages oomScoreAdj podPidsLimit
    podsPerCore port readOnlyPort registryBurst registryPullQPS`,
  list: "reservedMemory shutdownGracePeriodByPodPriority",
  map: `cpuManagerPolicyOptions evictionHard evictionMinimumReclaim evictionSoft evictionSoftGracePeriod kubeReserved
    qosReserved systemReserved topologyManagerPolicyOptions`,
  number: "memoryThrottlingFactor",
  object: `authentication authorization crashLoopBackOff featureGates logging memorySwap staticPodURLHeader tracing
    userNamespaces`,
  text: `address apiVersion cgroupDriver cgroupRoot clusterDomain configMapAndSecretChangeDetectionStrategy
    containerLogMaxSize containerRuntimeEndpoint contentType cpuManagerPolicy hairpinMode healthzBindAddress
    imagePullCredentialsVerificationPolicy imageServiceEndpoint kind kubeReservedCgroup kubeletCgroups
    memoryManagerPolicy podCIDR podLogsDir providerID reservedSystemCPUs resolvConf showHiddenMetricsForVersion
    staticPodPath staticPodURL systemCgroups systemReservedCgroup tlsCertFile tlsMinVersion tlsPrivateKeyFile
    topologyManagerPolicy topologyManagerScope volumePluginDir`,
  texts:
    "allowedUnsafeSysctls clusterDNS enforceNodeAllocatable preloadedImagesVerificationAllowlist tlsCipherSuites",
};

/** By the setting's name. */
export const SETTINGS: ReadonlyMap<string, SettingKind> = new Map(
  Object.entries(OF_KIND).flatMap(([kind, names]) =>
    names.split(/\s+/).map((name) => [name, kind as SettingKind] as const),
  ),
);
