/**
 * Profiles of the simulated scheduler, as a KubeSchedulerConfiguration has them. A pod chooses one by
 * `spec.schedulerName`. A profile decides the topology spread of pods that have no constraints of their own.
 * upstream: kubernetes pkg/scheduler/apis/config (v1), plugins/podtopologyspread
 */
import { defaultConstraintsProblems, unknownFields } from "../../apis/core/default-spread.ts";
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
import { isObject } from "../../base/json.ts";

/** The profile of pods that name none. */
export const DEFAULT_SCHEDULER = "default-scheduler";

/** The spread of pods without constraints of their own. */
export interface ProfileSpread {
  readonly constraints: readonly TopologySpreadConstraint[];
  /**
   * Whether the constraints are kube-scheduler's own. If so, a node without one of their labels still gets a score; if
   * not, it gets none.
   */
  readonly isSystem: boolean;
}

/** One profile. */
export interface SchedulerProfile {
  readonly schedulerName: string;
  readonly defaultSpread: ProfileSpread;
}

/** kube-scheduler's own default spread: hosts, then zones, both soft. */
const SYSTEM_SPREAD: ProfileSpread = {
  isSystem: true,
  constraints: [
    {
      topologyKey: "kubernetes.io/hostname",
      maxSkew: 3,
      whenUnsatisfiable: "ScheduleAnyway",
    },
    {
      topologyKey: "topology.kubernetes.io/zone",
      maxSkew: 5,
      whenUnsatisfiable: "ScheduleAnyway",
    },
  ],
};

/** The profiles of a scheduler without a configuration. */
export const DEFAULT_PROFILES: readonly SchedulerProfile[] = [
  { schedulerName: DEFAULT_SCHEDULER, defaultSpread: SYSTEM_SPREAD },
];

/** Finds a profile by the `schedulerName` of a pod. */
export function profileOf(
  profiles: readonly SchedulerProfile[],
): (schedulerName: string | undefined) => SchedulerProfile | undefined {
  return (wanted = DEFAULT_SCHEDULER) =>
    profiles.find(({ schedulerName }) => schedulerName === wanted);
}

const API_VERSION = "kubescheduler.config.k8s.io/v1";
const KIND = "KubeSchedulerConfiguration";
const SPREAD_PLUGIN = "PodTopologySpread";

/** Fields about the process of a real scheduler. They change no decision of a simulated one, so they are not read. */
const IGNORED = [
  "clientConnection",
  "delayCacheUntilActive",
  "enableContentionProfiling",
  "enableProfiling",
  "leaderElection",
  "parallelism",
  "percentageOfNodesToScore",
  "podInitialBackoffSeconds",
  "podMaxBackoffSeconds",
];

/**
 * What is wrong with a parsed configuration, each problem with its field. What the simulated scheduler cannot do is a
 * problem too, so that no field is ignored in silence that would change decisions.
 */
export function schedulerConfigurationProblems(config: unknown): readonly string[] {
  if (!isObject(config)) return [`wanted an object of kind ${KIND}`];
  const { apiVersion, kind, profiles = [] } = config;
  if (apiVersion !== API_VERSION || kind !== KIND)
    return [`wanted apiVersion: ${API_VERSION} and kind: ${KIND}`];
  const problems = unknownFields(config, ["apiVersion", "kind", "profiles", ...IGNORED], "");
  if (!Array.isArray(profiles)) return [...problems, "profiles: wanted a list"];
  const names = new Set<unknown>();
  profiles.forEach((profile, index) => {
    const at = `profiles[${index}]`;
    if (!isObject(profile)) {
      problems.push(`${at}: wanted an object`);
      return;
    }
    problems.push(...profileProblems(profile, at, profiles.length > 1));
    const name = profile["schedulerName"] ?? DEFAULT_SCHEDULER;
    if (names.has(name)) problems.push(`${at}.schedulerName: ${String(name)} is there already`);
    names.add(name);
  });
  return problems;
}

/** The profiles of a configuration without problems. */
export function schedulerProfiles(config: object): readonly SchedulerProfile[] {
  const { profiles = [] } = config as { readonly profiles?: readonly ProfileFields[] };
  if (profiles.length === 0) return DEFAULT_PROFILES;
  return profiles.map(({ schedulerName = DEFAULT_SCHEDULER, pluginConfig = [] }) => {
    const args = pluginConfig.find(({ name }) => name === SPREAD_PLUGIN)?.args;
    const isList = args?.defaultingType === "List";
    return {
      schedulerName,
      defaultSpread: isList
        ? { constraints: args.defaultConstraints ?? [], isSystem: false }
        : SYSTEM_SPREAD,
    };
  });
}

interface ProfileFields {
  readonly schedulerName?: string;
  readonly pluginConfig?: readonly {
    readonly name: string;
    readonly args?: {
      readonly defaultingType?: string;
      readonly defaultConstraints?: readonly TopologySpreadConstraint[];
    };
  }[];
}

function profileProblems(
  profile: Readonly<Record<string, unknown>>,
  at: string,
  mustHaveName: boolean,
): readonly string[] {
  const { schedulerName, pluginConfig = [] } = profile;
  const problems = unknownFields(profile, ["schedulerName", "pluginConfig"], `${at}.`);
  const hasName = typeof schedulerName === "string" && schedulerName !== "";
  if (!hasName && (mustHaveName || schedulerName !== undefined))
    problems.push(`${at}.schedulerName: wanted a name`);
  if (!Array.isArray(pluginConfig)) return [...problems, `${at}.pluginConfig: wanted a list`];
  const seen = new Set<unknown>();
  pluginConfig.forEach((one, index) => {
    const place = `${at}.pluginConfig[${index}]`;
    const { name, args = {} } = isObject(one) ? one : {};
    if (seen.has(name)) problems.push(`${place}: ${String(name)} is there already`);
    seen.add(name);
    if (name !== SPREAD_PLUGIN)
      problems.push(
        `${place}.name: the simulated scheduler has arguments for ${SPREAD_PLUGIN} only`,
      );
    else problems.push(...spreadProblems(args, `${place}.args`));
  });
  return problems;
}

function spreadProblems(args: unknown, at: string): readonly string[] {
  if (!isObject(args)) return [`${at}: wanted an object`];
  const { defaultingType = "System", defaultConstraints = [] } = args;
  const known = ["apiVersion", "kind", "defaultingType", "defaultConstraints"];
  const problems = unknownFields(args, known, `${at}.`);
  problems.push(...defaultConstraintsProblems(defaultConstraints, `${at}.defaultConstraints`));
  if (defaultingType !== "System" && defaultingType !== "List")
    problems.push(`${at}.defaultingType: wanted System or List`);
  const hasConstraints = Array.isArray(defaultConstraints) && defaultConstraints.length > 0;
  if (defaultingType === "System" && hasConstraints)
    problems.push(`${at}.defaultConstraints: they need defaultingType: List`);
  return problems;
}
