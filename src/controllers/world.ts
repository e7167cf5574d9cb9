/**
 * What controllers may use: the settings, and the World with its clock, randomness, API client, cloud and log.
 * Everything that is not deterministic comes from the World, so a test can replace it. This file has types only.
 */

import type { TopologySpreadConstraint } from "../apis/core/pod.ts";
import type { Budget } from "../apis/karpenter/nodepool.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Metrics } from "../base/metrics.ts";
import type { Random } from "../base/random.ts";
import type { CloudProvider } from "../core/cloudprovider/cloud-provider.ts";
import type { CompileSelector } from "../core/devices/selectors.ts";
import type { ForSpot } from "../core/disruption/cheaper.ts";
import type { Restraint } from "../core/disruption/ledger.ts";
import type { Repack } from "../core/disruption/round.ts";
import type { TerminateFirst } from "../core/disruption/terminate-first.ts";
import type { ExpiryRules } from "../core/nodeclaim/expired.ts";
import type { PlannerOptions } from "../core/planner/planner-options.ts";
import type { Brake, BrakeLimit } from "../core/safety/brake.ts";
import type { ClusterState } from "../core/state/cluster.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Mirrors } from "../kube/mirror/mirror.ts";
import type { SpanNotes } from "./spans/span-notes.ts";

/** The settings for controllers, parsed and immutable. The table of all flags is operator/settings/options.ts. */
export interface Settings {
  readonly batchIdleMs: number;
  readonly batchMaxMs: number;
  readonly preferencePolicy: "Respect" | "Ignore";
  readonly minValuesPolicy: "Strict" | "BestEffort";
  /** Options of the planner: how pods are placed on new nodes. */
  readonly planner: PlannerOptions;
  /** The topology spread of pods that have none of their own. Absent: none. */
  readonly defaultSpread?: readonly TopologySpreadConstraint[];
  /** Whether pods that do not exist yet are planned with VerticalPodAutoscaler recommendations. Absent: no. */
  readonly readsRecommendations?: boolean;
  /** Compiles CEL selectors of devices. Absent: pods with resource claims are not planned. */
  readonly compileSelector?: CompileSelector;
  /**
   * The CPU request of the controller, in thousandths of a core. It decides how many requests are handled at the same
   * time.
   */
  readonly cpuRequestsMilli: number;
  readonly clusterName: string;
  /**
   * Settings of repack, which replaces several nodes by several cheaper ones. Undefined: repack is off, or the cost
   * planner is, which repack needs.
   */
  readonly repack: Repack | undefined;
  /** Whether one consolidation command may launch several nodes. */
  readonly splits: boolean;
  /** Limits on how much consolidation does. */
  readonly restraint: Restraint;
  /** Budgets over the nodes of all pools together, in addition to each pool's own. */
  readonly clusterBudgets: readonly Budget[];
  readonly expiry: ExpiryRules;
  /** How long a registered node may take to initialize. 0: no limit. */
  readonly initializationTimeoutMs: number;
  /** How long a node waits for a pod that is moved without downtime. 0: such moves are off. */
  readonly surgeTimeoutMs: number;
  /** How many nodes may be terminated within ten minutes without a user's request. */
  readonly involuntaryLimit: BrakeLimit;
  /** Namespaces in which pods may be moved without downtime. `*`: all. */
  readonly surgeNamespaces: readonly string[];
  /** Whether all voluntary disruption is stopped. */
  readonly pauseDisruption: boolean;
  /** Whether decisions are only logged and published as events, not carried out. */
  readonly observeOnly: boolean;
  /** What may replace a node, or a group of nodes, that are all spot. */
  readonly forSpot: ForSpot;
  /** Which disruption methods may remove a node before its replacement is launched. */
  readonly terminateFirst: TerminateFirst;
  /**
   * Features that can be switched on and off. `betaDrift` and `alphaDrift` are for v1beta1 and v1alpha5; drift of v1 is
   * always on.
   */
  readonly gates: {
    readonly betaDrift: boolean;
    readonly alphaDrift: boolean;
    readonly nodeRepair: boolean;
    /** Whether broken nodes are deleted at once, without budgets. Needs `nodeRepair`. */
    readonly legacyNodeRepair: boolean;
    /** Whether node repair may reboot an instance if its repair policy says so. */
    readonly rebootForRepair: boolean;
    readonly staticCapacity: boolean;
    readonly nodeOverlay: boolean;
    readonly capacityBuffer: boolean;
    readonly podDeletionCost: boolean;
  };
}

/** What controllers may use. They access time, randomness, the API server and the cloud only through it. */
export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly kube: KubeClient;
  readonly mirrors: Mirrors;
  readonly cloud: CloudProvider;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly settings: Settings;
  /** The cluster state, which the controllers in controllers/state update. */
  readonly cluster: ClusterState;
  /** Stops terminations that no user requested, when there are too many of them. */
  readonly brake: Brake;
  /**
   * This process's clock minus the API server's, in milliseconds, by the server's last answer with a time. Undefined:
   * no answer with a time has come yet.
   */
  readonly clockSkewMs: () => number | undefined;
  /** Collects facts for traces. Absent: no traces are exported. */
  readonly spans?: SpanNotes;
}
