/**
 * Values of older charts and what happens to them now. A value has another name, or no effect (the notes say why).
 * If ignoring the value would change what the user gets, it is refused with a remedy. The chart's template, schema
 * and reference page are made from this table. upstream: the chart's values at v0.5 to v0.37
 */

export interface OlderValue {
  /** The value's name, such as `settings.aws.clusterName`. */
  readonly name: string;
  readonly type: "string" | "boolean" | "integer" | "number" | "object" | "array" | "any";
  /** Its path in the resolved values. */
  readonly to?: string;
  /** Its current name, if it differs from `to`. Empty: it has no newer name and works as before. */
  readonly now?: string;
  /** Why the value has no effect. Absent: it has one. */
  readonly ignored?: string;
  /** What to set instead of the value, which is refused. Absent: it is accepted. */
  readonly refused?: string;
}

const ROLE =
  "give the pod a role instead: serviceAccount.annotations.eks.amazonaws.com/role-arn, or EKS Pod Identity";

export const OLDER_VALUES: readonly OlderValue[] = [
  renamed("controller.clusterName", "settings.clusterName"),
  renamed("controller.clusterEndpoint", "settings.clusterEndpoint"),
  renamed("controller.replicas", "replicas", "integer"),
  renamed("controller.nodeSelector", "nodeSelector", "object"),
  renamed("controller.tolerations", "tolerations", "array"),
  renamed("controller.affinity", "affinity", "object"),
  renamed("controller.logLevel", "logLevel"),
  renamed("controller.outputPaths", "logOutputPaths", "array"),
  renamed("controller.errorOutputPaths", "logErrorOutputPaths", "array"),
  renamed("clusterName", "settings.clusterName"),
  renamed("clusterEndpoint", "settings.clusterEndpoint"),
  kept("aws.defaultInstanceProfile", "defaultInstanceProfile"),
  renamed("settings.aws.clusterName", "settings.clusterName"),
  renamed("settings.aws.clusterEndpoint", "settings.clusterEndpoint"),
  renamed("settings.aws.clusterCABundle", "settings.clusterCABundle"),
  renamed("settings.aws.interruptionQueueName", "settings.interruptionQueue"),
  renamed("settings.aws.isolatedVPC", "settings.isolatedVPC", "boolean"),
  renamed("settings.aws.vmMemoryOverheadPercent", "settings.vmMemoryOverheadPercent", "any"),
  renamed("settings.aws.reservedENIs", "settings.reservedENIs", "any"),
  kept("settings.aws.defaultInstanceProfile", "defaultInstanceProfile"),
  kept("settings.aws.enablePodENI", "podEni", "boolean"),
  kept("settings.aws.enableENILimitedPodDensity", "eniLimitedPodDensity", "boolean"),
  ignored("settings.aws.nodeNameConvention", "string", "nodes are named by their private DNS name"),
  kept("settings.aws.tags", "awsTags", "object"),
  refused("settings.aws.assumeRoleARN", "string", ROLE),
  ignored("settings.aws.assumeRoleDuration", "string", "no role is assumed by the controller"),
  refused("settings.assumeRoleARN", "string", ROLE),
  ignored("settings.assumeRoleDuration", "string", "no role is assumed by the controller"),
  kept("settings.featureGates.driftEnabled", "alphaDrift", "boolean"),
  renamed(
    "settings.featureGates.SpotToSpotConsolidation",
    "settings.featureGates.spotToSpotConsolidation",
    "boolean",
  ),
  renamed("logConfig.logLevel.global", "logLevel"),
  renamed("logConfig.logLevel.controller", "logLevel"),
  renamed("logConfig.outputPaths", "logOutputPaths", "array"),
  renamed("logConfig.errorOutputPaths", "logErrorOutputPaths", "array"),
  kept("logConfig.logLevel.webhook", "webhookLogLevel"),
  kept("logConfig.logEncoding", "logEncoding"),
  kept("logEncoding", "logEncoding"),
  kept("webhook.logLevel", "webhookLogLevel"),
  ignored("webhook.metrics.port", "integer", "webhooks have no metrics of their own"),
];

function renamed(name: string, to: string, type: OlderValue["type"] = "string"): OlderValue {
  return { name, to, type };
}

/** A value that works as before and has no newer name. */
function kept(name: string, to: string, type: OlderValue["type"] = "string"): OlderValue {
  return { name, to, type, now: "" };
}

function ignored(name: string, type: OlderValue["type"], why: string): OlderValue {
  return { name, type, ignored: why };
}

function refused(name: string, type: OlderValue["type"], remedy: string): OlderValue {
  return { name, type, refused: remedy };
}
