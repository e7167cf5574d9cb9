/**
 * The sandbox's scheduler decides as the real kube-scheduler did in 2,000 generated cases. The same nodes are
 * feasible, the reasons are the same when none is, and the same pods are preempted. The node that kube-scheduler
 * chose is among the sandbox's best.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ReplicaSet } from "../../src/apis/apps/kinds.ts";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Service,
} from "../../src/apis/core/kinds.ts";
import { controllerOf, type KubeObject } from "../../src/apis/meta.ts";
import type { CSINode, StorageClass } from "../../src/apis/storage/kinds.ts";
import { labelsChosenBy } from "../../src/sandbox/kube-scheduler/cluster-view.ts";
import { type Feasible, feasibleNodes } from "../../src/sandbox/kube-scheduler/feasible.ts";
import { unschedulableMessage } from "../../src/sandbox/kube-scheduler/message.ts";
import { podInfo } from "../../src/sandbox/kube-scheduler/pod-info.ts";
import { findPreemption, type Preemption } from "../../src/sandbox/kube-scheduler/preemption.ts";
import { scoreNodes } from "../../src/sandbox/kube-scheduler/scores.ts";
import type { Surroundings } from "../../src/sandbox/kube-scheduler/snapshot.ts";
import { NO_SURROUNDINGS, snapshotOf } from "../../src/sandbox/testing/snapshots.ts";
import { type SchedulingCase, SHARED, schedulingCase } from "./scheduler/cases.ts";
import { CASES, RECORDING, type Recorded, type SchedulerAnswer } from "./scheduler/recording.ts";

const { first = 0, answers } = JSON.parse(readFileSync(RECORDING, "utf8")) as Recorded;

interface Ours {
  /** Names of the feasible nodes, sorted. */
  readonly feasible: readonly string[];
  readonly scores: Readonly<Record<string, number>>;
  readonly refused: string;
  readonly preemption: Preemption | undefined;
}

function decide(asked: SchedulingCase): Ours {
  const { nodes, placed, pending } = asked;
  const snapshot = snapshotOf(nodes, placed, surroundingsOf(asked));
  const pod = podInfo(pending);
  const result: Feasible = feasibleNodes(pod, snapshot);
  const feasible = result.nodes.map(({ name }) => name).sort();
  if (feasible.length === 0) {
    const preemption = findPreemption(pod, result, snapshot);
    const refused = unschedulableMessage(result, nodes.length, preemption);
    return { feasible, scores: {}, refused, preemption };
  }
  const totals = scoreNodes(pod, result.nodes, snapshot);
  const scores = Object.fromEntries(result.nodes.map(({ name }, at) => [name, totals[at] ?? 0]));
  return { feasible, scores, refused: "", preemption: undefined };
}

function surroundingsOf({ volumes, budgets, owners }: SchedulingCase): Surroundings {
  const all = [...SHARED, ...volumes];
  const find = <T>(kind: string, name: string): T | undefined =>
    all.find((one) => one.kind === kind && one.metadata.name === name) as T | undefined;
  return {
    ...NO_SURROUNDINGS,
    volumes: {
      claim: (_, name) => find<PersistentVolumeClaim>("PersistentVolumeClaim", name),
      volume: (name) => find<PersistentVolume>("PersistentVolume", name),
      volumes: () => all.filter(({ kind }) => kind === "PersistentVolume") as PersistentVolume[],
      storageClass: (name) => find<StorageClass>("StorageClass", name),
      csiNode: (name) => find<CSINode>("CSINode", name),
    },
    namespaceLabels: (name) => ({
      "kubernetes.io/metadata.name": name,
      ...find<KubeObject>("Namespace", name)?.metadata.labels,
    }),
    budgets: (namespace) => (namespace === "default" ? budgets : []),
    services: () => owners.filter(({ kind }) => kind === "Service") as Service[],
    ownerSelector: (pod) => {
      const { kind, name } = controllerOf(pod) ?? {};
      const owner = owners.find((one) => one.kind === kind && one.metadata.name === name);
      if (kind === "ReplicationController") return labelsChosenBy(owner);
      return (owner as ReplicaSet | undefined)?.spec.selector;
    },
  };
}

const ours = answers.map((_, index) => decide(schedulingCase(first + index)));

/** The cases about which `differs` returns something, with what it returned. */
function faults(
  differs: (real: SchedulerAnswer, mine: Ours, index: number) => unknown,
): readonly unknown[] {
  return answers.flatMap((real, index) => {
    const fault = differs(real, ours[index] as Ours, index);
    return fault === undefined ? [] : [{ index: first + index, fault }];
  });
}

describe("the simulated scheduler, compared with recorded decisions of kube-scheduler", () => {
  it("finds the same nodes feasible", () => {
    const different = faults((real, { feasible }) => {
      const wanted = "refused" in real ? [] : Object.keys(real.scores ?? { [real.node]: 0 }).sort();
      return wanted.join() === feasible.join() ? undefined : { real: wanted, ours: feasible };
    });
    expect(different).toEqual([]);
    if (first === 0) expect(answers).toHaveLength(CASES);
  });

  it("gives the same message for a pod that fits nowhere", () => {
    const different = faults((real, { refused }) => {
      if (!("refused" in real) || real.refused === refused) return undefined;
      return { real: real.refused, ours: refused };
    });
    expect(different).toEqual([]);
  });

  it("preempts the same pods", () => {
    const different = faults((real, { preemption }) => {
      if (!("refused" in real)) return undefined;
      const mine = preemption?.kind === "preempt" ? preemption.candidate : undefined;
      // The recording has no pods that were terminating already.
      const told = mine?.victims.filter(({ terminating }) => !terminating);
      const victims = told?.map(({ pod }) => pod.metadata.name).sort();
      const { preempts } = real;
      if (preempts?.node === mine?.node && preempts?.victims.join() === victims?.join())
        return undefined;
      return { real: preempts, ours: { node: mine?.node, victims } };
    });
    expect(different).toEqual([]);
    expect(answers.filter((real) => "preempts" in real).length).toBeGreaterThan(
      answers.length / 100,
    );
  });

  it("gives each feasible node the same score, and so the same best nodes", () => {
    const different = faults((real, { scores }) => {
      if (!("node" in real) || real.scores === undefined) return undefined;
      const same = Object.entries(real.scores).every(([name, score]) => scores[name] === score);
      const best = Math.max(...Object.values(scores));
      return same && scores[real.node] === best ? undefined : { real, ours: scores };
    });
    expect(different).toEqual([]);
  });
});
