/** Candidates and rounds for tests of disruption methods. */
import type { Pod } from "../apis/core/pod.ts";
import type { Generation } from "../apis/hub/generation.ts";
import type { Pool, PoolDisruption } from "../apis/hub/pool.ts";
import { toRfc3339 } from "../base/clock.ts";
import { atOnce, type Steps } from "../base/steps.ts";
import type { InstanceType } from "../core/cloudprovider/instance-type.ts";
import { balancedTotals } from "../core/disruption/balanced.ts";
import { type Candidate, findCandidates } from "../core/disruption/candidates.ts";
import type { Command } from "../core/disruption/command.ts";
import type { Method, ValidationFailure } from "../core/disruption/methods/method.ts";
import type {
  Round,
  RoundBudgets,
  RoundFacts,
  RoundHoldOffs,
  RoundSettings,
} from "../core/disruption/round.ts";
import { createSimulator } from "../core/disruption/simulate.ts";
import type { TerminateFirst } from "../core/disruption/terminate-first.ts";
import { DEFAULT_PLANNER } from "../core/planner/planner-options.ts";
import type { SchedulingInput } from "../core/provisioning/scheduling-input.ts";
import { planStaticNodes } from "../core/provisioning/static-nodes.ts";
import {
  pool as buildPool,
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  schedulingInput,
} from "./builders.ts";

/** No node is removed before it is replaced. */
export const NEVER_FIRST: TerminateFirst = { drift: false, repair: false };

/** The clock in tests of disruption. */
export const NOW = Date.UTC(2026, 0, 5);

/** Instance types with 2, 4, 8 and 16 cpu at 0.05 dollars for each cpu and hour. */
const TYPES: readonly InstanceType[] = [2, 4, 8, 16].map((cpu) => instanceType({ cpu }));

/** Fields of a test candidate. */
export interface CandidateOptions {
  readonly generation?: Generation;
  readonly pool?: Partial<Pool>;
  readonly disruption?: Partial<PoolDisruption>;
  readonly types?: readonly InstanceType[];
  /** Name of an instance type in `types`. It decides the node's capacity and price. */
  readonly type?: string;
  readonly capacityType?: string;
  /** The cpu requests of the pods on the node, one for each pod. */
  readonly pods?: readonly string[];
  readonly podLabels?: Readonly<Record<string, string>>;
  /** Conditions that are True, and for how many milliseconds they have been. */
  readonly conditions?: Readonly<Record<string, number>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A generator of steps that ends at once with this value. */
export function* answered<T>(value: T): Steps<T> {
  yield;
  return value;
}

/** A node of pool `default` in zone-a with its claim, quiet for long enough. */
export function candidate(name: string, options: CandidateOptions = {}): Candidate {
  const { generation = "v1", types = TYPES, type = "m-4x", capacityType = "on-demand" } = options;
  const pool = buildPool({
    generation,
    ...options.pool,
    disruption: { ...buildPool().disruption, ...options.disruption },
  });
  const cpu = (types.find((one) => one.name === type)?.capacity["cpu"] ?? 0) / 1_000;
  const owner = generation === "alpha" ? "provisioner-name" : "nodepool";
  const labels = {
    [`karpenter.sh/${owner}`]: pool.name,
    "karpenter.sh/registered": "true",
    "karpenter.sh/initialized": "true",
    "karpenter.sh/capacity-type": capacityType,
    "node.kubernetes.io/instance-type": type,
  };
  const found = atOnce(
    findCandidates({
      nowMs: NOW,
      nodes: [
        nodeView({
          node: {
            name,
            labels,
            capacity: { cpu: String(cpu), memory: `${cpu * 4}Gi` },
            ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
          },
          claim: claimOf(name, pool, options.conditions ?? { Consolidatable: 0 }, labels),
          pods: (options.pods ?? []).map((wanted, index) => running(name, index, wanted, options)),
        }),
      ],
      pools: [{ pool, instanceTypes: types }],
      pdbs: [],
      queued: new Set(),
      disruptionClass: "graceful",
    }),
  );
  const [only] = found.candidates;
  if (only === undefined) throw new Error(`no candidate: ${found.blocked[0]?.message}`);
  return only;
}

function claimOf(
  name: string,
  { generation }: Pool,
  conditions: Readonly<Record<string, number>>,
  labels: Readonly<Record<string, string>>,
) {
  const claim = nodeClaim({
    name,
    metadata: { labels },
    ...(generation === "beta"
      ? {
          metadata: { labels, annotations: { "compatibility.karpenter.sh/generation": "v1beta1" } },
        }
      : {}),
    status: {
      providerID: `test://${name}`,
      nodeName: name,
      conditions: Object.entries(conditions).map(([type, forMs]) => ({
        type,
        status: "True" as const,
        lastTransitionTime: toRfc3339(NOW - forMs),
      })),
    },
  });
  return generation === "alpha"
    ? { ...claim, apiVersion: "karpenter.sh/v1alpha5", kind: "Machine" }
    : claim;
}

function running(node: string, index: number, cpu: string, options: CandidateOptions): Pod {
  return pod({
    name: `${node}-${index}`,
    nodeName: node,
    cpu,
    ...(options.podLabels === undefined ? {} : { labels: options.podLabels }),
  });
}

/** Fields of a test round. */
export interface RoundOptions
  extends Partial<
    Pick<Round, "nowMs"> &
      Pick<RoundFacts, "simulator" | "protectedPods" | "alphaBusy"> &
      Pick<RoundBudgets, "pdbs"> &
      RoundSettings &
      Pick<RoundHoldOffs, "fromRepack" | "isSettling" | "minRepackShare" | "backingOff">
  > {
  /** Number of nodes in each pool that budgets allow to disrupt. */
  readonly allowed?: number;
  /** Number of nodes that the cluster-wide budget allows. */
  readonly allowedInAll?: number;
  readonly types?: readonly InstanceType[];
  /** Fields of the scheduling input to replace. `nodes` are added to those of the candidates. */
  readonly scheduling?: Partial<SchedulingInput>;
  readonly holdOff?: RoundHoldOffs["of"];
  readonly turns?: Partial<RoundHoldOffs["turns"]>;
}

/** The round for these candidates. By default nothing blocks a command. */
export function roundOf(candidates: readonly Candidate[], options: RoundOptions = {}): Round {
  const { allowed = 10, types = TYPES, scheduling = {}, repack, turns = {} } = options;
  const everywhere = { nodes: 10, disrupting: 0, allowed: options.allowedInAll ?? 1_000 };
  const nodes = [...candidates.map(({ node }) => node), ...(scheduling.nodes ?? [])];
  const pools = [...new Map(candidates.map(({ pool }) => [pool.id, pool])).values()];
  const poolInputs = pools.map((pool) => ({ pool, instanceTypes: types, usage: {} }));
  const input = schedulingInput({ pools: poolInputs, ...scheduling, nodes });
  return {
    nowMs: options.nowMs ?? NOW,
    facts: {
      candidates,
      nodes,
      simulator: options.simulator ?? createSimulator(input),
      protectedPods: options.protectedPods ?? (() => new Set()),
      balancedTotals: () => atOnce(balancedTotals(nodes, poolInputs)),
      planStatic: ({ poolId, count, instead }) => {
        const own = poolInputs.find(({ pool }) => pool.id === poolId);
        if (own === undefined) return undefined;
        return atOnce(
          planStaticNodes(schedulingInput({ ...scheduling, nodes }), own, count, instead),
        );
      },
      typesOf: () => types,
      alphaBusy: options.alphaBusy ?? false,
    },
    budgets: {
      allowances: new Map(
        pools.map((pool) => [
          pool.id,
          { pool, nodes: 10, disrupting: 0, allowed, atOnce: allowed, everywhere },
        ]),
      ),
      pdbs: options.pdbs ?? [],
    },
    settings: {
      forSpot: options.forSpot ?? "onDemand",
      repack,
      splits: options.splits ?? true,
      nodeMicroUsdPerHour: DEFAULT_PLANNER.nodeMicroUsdPerHour,
      repair: options.repair,
      terminateFirst: options.terminateFirst ?? NEVER_FIRST,
    },
    holdOffs: {
      of: options.holdOff ?? (() => undefined),
      fromRepack: options.fromRepack ?? (() => false),
      isSettling: options.isSettling ?? (() => answered(false)),
      turns: {
        waitLeftMs: (...asked) => turns.waitLeftMs?.(...asked) ?? 30_000,
        lastMs: (...asked) => turns.lastMs?.(...asked) ?? 0,
      },
      minRepackShare: options.minRepackShare ?? (() => (repack?.minSavingsPercent ?? 0) / 100),
      backingOff: options.backingOff ?? new Map(),
    },
  };
}

/** The same round with some facts replaced. */
export function withFacts(round: Round, facts: Partial<RoundFacts>): Round {
  return { ...round, facts: { ...round.facts, ...facts } };
}

/** The command after its validation. Undefined if it is no longer valid. */
export function validated(
  method: Pick<Method, "validate">,
  command: Command,
  round: Round,
): Command | ValidationFailure {
  return atOnce(method.validate(command, round));
}
