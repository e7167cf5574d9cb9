/**
 * The values that `--preset` frugal and upstream-compatible give to settings that upstream does not have. The preset
 * balanced leaves every setting at its default, so it is not listed. `docs/reference/presets.md` is generated from it.
 */
import type { OPTIONS } from "./options.ts";

/** One setting that upstream lacks, and its value in each preset. Values are texts, as flags have them. */
export interface PresetRow {
  readonly setting: keyof typeof OPTIONS;
  readonly does: string;
  readonly saves: string;
  readonly risk: string;
  readonly upstreamCompatible: string;
  /** The value in the preset `frugal`. Absent: the same as in `balanced`. */
  readonly frugal?: string;
}

/** All settings for which a preset has a value. */
export const PRESET_ROWS: readonly PresetRow[] = [
  {
    setting: "plannerPolicy",
    does: "Plans a batch in several ways and launches the cheapest plan.",
    saves: "Money: see docs/cost.md for each workload, beside upstream's price.",
    risk: "More and smaller nodes than upstream launches, of other types.",
    upstreamCompatible: "greedy",
  },
  {
    setting: "plannerMinSaving",
    does: "Percent that a packed plan must save to replace the greedy plan.",
    saves: "Lower values take smaller savings.",
    risk: "More instance types for little money.",
    upstreamCompatible: "2",
    frugal: "0.5",
  },
  {
    setting: "plannerMinPods",
    does: "Smallest batch that is packed.",
    saves: "Lower values pack small batches, too.",
    risk: "The planner takes longer for small batches.",
    upstreamCompatible: "100",
    frugal: "20",
  },
  {
    setting: "plannerEffort",
    does: "Multiplies the steps of the planner's search.",
    saves: "More steps find cheaper plans of large batches.",
    risk: "Each batch takes more CPU time, up to as many times as this says.",
    upstreamCompatible: "1",
    frugal: "4",
  },
  {
    setting: "consolidationRepack",
    does: "Replaces several nodes by several cheaper ones.",
    saves: "Money that one replacement at a time does not reach.",
    risk: "One command moves the pods of many nodes, within budgets.",
    upstreamCompatible: "false",
  },
  {
    setting: "consolidationSplit",
    does: "Replaces a large node by several smaller ones.",
    saves: "Money where a large node is badly filled.",
    risk: "More nodes, so more DaemonSet pods.",
    upstreamCompatible: "false",
  },
  {
    setting: "consolidationSpotToOnDemand",
    does: "Replaces spot nodes by on-demand nodes that cost at most half.",
    saves: "Money while spot prices are high.",
    risk: "On-demand nodes stay when spot is cheap again.",
    upstreamCompatible: "false",
  },
  {
    setting: "consolidationMinSavings",
    does: "Percent of the price that a replacement must save.",
    saves: "Evictions: small gains do not move pods.",
    risk: "Gains below it are left. Without it nodes are replaced for a cent.",
    upstreamCompatible: "0",
    frugal: "2",
  },
  {
    setting: "consolidationMaxPayback",
    does: "Longest time in which a replacement earns back the time when both nodes run.",
    saves: "Money that a replacement would cost and not earn back.",
    risk: "Slow gains are left.",
    upstreamCompatible: "0s",
    frugal: "12h",
  },
  {
    setting: "consolidationReplacementRest",
    does: "How long a node that replaced another is left alone.",
    saves: "Evictions: no pod moves twice in a short time.",
    risk: "A better node waits as long.",
    upstreamCompatible: "0s",
    frugal: "15m",
  },
  {
    setting: "consolidationMaxPodMoves",
    does: "How often an hour the pods of one workload are moved, on average.",
    saves: "Evictions.",
    risk: "Workloads at the limit keep expensive nodes for the hour.",
    upstreamCompatible: "1000000",
    frugal: "8",
  },
  {
    setting: "involuntaryDisruptionLimit",
    does: "Stops garbage collection, node repair and initialization timeouts when too many nodes end at once.",
    saves: "The fleet, when what Karpenter sees is wrong.",
    risk: "Broken nodes above the limit stay for an hour.",
    upstreamCompatible: "100%",
  },
  {
    setting: "expirationRespectsBudgets",
    does: "Replaces expired v1 nodes before they end, within budgets.",
    saves: "Downtime of pods on expired nodes.",
    risk: "A node may live longer than expireAfter.",
    upstreamCompatible: "false",
  },
  {
    setting: "expirationSpread",
    does: "Lets nodes of one age expire at different times.",
    saves: "A wave of replacements.",
    risk: "Nodes expire earlier than expireAfter.",
    upstreamCompatible: "0",
  },
  {
    setting: "initializationTimeout",
    does: "Ends a registered node that does not initialize.",
    saves: "Money for nodes that no pod can use.",
    risk: "A node that only starts slowly is ended.",
    upstreamCompatible: "0s",
    frugal: "15m",
  },
  {
    setting: "surgeTimeout",
    does: "Lets the drain wait for the new pod of a workload that asks for a move without downtime.",
    saves: "Downtime of single replicas.",
    risk: "A drain takes longer.",
    upstreamCompatible: "0s",
  },
  {
    setting: "actOnRebalance",
    does: "Replaces a spot node when EC2 recommends it, before it is interrupted.",
    saves: "Interruptions with two minutes' notice only.",
    risk: "Nodes end that would not have been interrupted.",
    upstreamCompatible: "false",
  },
];

/** The value that the preset has for this setting. Undefined: the setting's own default applies. */
export function presetValue(preset: string, setting: string): string | undefined {
  if (preset !== "upstream-compatible" && preset !== "frugal") return undefined;
  const row = PRESET_ROWS.find((one) => one.setting === setting);
  return preset === "frugal" ? row?.frugal : row?.upstreamCompatible;
}
