/**
 * The disruption controller: keeps the status of PodDisruptionBudgets, by which the eviction API
 * decides. It is prompt: a pod that becomes ready or leaves changes its budgets in the same instant.
 */
import { DAEMON_SET, DEPLOYMENT, JOB, REPLICA_SET, STATEFUL_SET } from "../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import type { Condition, KubeObject } from "../../apis/meta.ts";
import { controllerOf } from "../../apis/meta.ts";
import { POD_DISRUPTION_BUDGET, type PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../parts.ts";
import { Pacer, scaledValue } from "./controls.ts";

/** An eviction that the pod's deletion has not followed by then is forgotten. */
const DISRUPTED_TIMEOUT_MS = 120_000;
/** A budget over 1,000 pods is looked at every tenth of a second at most; over a few, at once. */
const PACE_MS_PER_POD = 0.1;

export function pdbStatusController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const budgets = mirrors.of(POD_DISRUPTION_BUDGET);
  const pods = podMirror(mirrors);
  const scaled = new Map<string, { get(key: string): KubeObject | undefined }>([
    ["Deployment", mirrors.of(DEPLOYMENT)],
    ["ReplicaSet", mirrors.of(REPLICA_SET)],
    ["StatefulSet", mirrors.of(STATEFUL_SET)],
    ["DaemonSet", mirrors.of(DAEMON_SET)],
    ["Job", mirrors.of(JOB)],
  ]);
  const recorder = createPartRecorder(deps, "controllermanager");
  const pacer = new Pacer(PACE_MS_PER_POD);
  budgets.on((event, budget) => {
    if (event === "removed") pacer.forget(budget);
  });
  /** Pods of a namespace are looked through once a change, not the whole cluster's. */
  const byNamespace = new Map<string, Map<string, Pod>>();
  pods.on((event, pod) => {
    const namespace = pod.metadata.namespace ?? "";
    const known = byNamespace.get(namespace) ?? new Map<string, Pod>();
    byNamespace.set(namespace, known);
    if (event === "removed") known.delete(pod.metadata.name);
    else known.set(pod.metadata.name, pod);
  });

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const budget = budgets.get(`${namespace}/${name}`);
    if (budget === undefined) return AWAIT_CHANGE;
    const waitMs = pacer.waitMs(budget, budget.status?.expectedPods ?? 0, clock.now());
    if (waitMs > 0) return requeueAfter(waitMs);
    const selected = podsOf(budget);
    const now = clock.now();
    if (selected.length === 0) {
      const object = subject(POD_DISRUPTION_BUDGET, budget);
      const message = "No matching pods found";
      recorder.publish({ object, type: "Normal", reason: "NoPods", message });
    }
    const disrupted = stillDisrupted(budget, selected, now);
    const expected = expectedOf(budget, selected);
    const currentHealthy = selected.filter(
      (pod) =>
        isReady(pod) &&
        pod.metadata.deletionTimestamp === undefined &&
        disrupted[pod.metadata.name] === undefined,
    ).length;
    const allowed = expected.pods > 0 ? Math.max(0, currentHealthy - expected.desiredHealthy) : 0;
    const status = {
      ...budget.status,
      disruptionsAllowed: allowed,
      currentHealthy,
      desiredHealthy: expected.desiredHealthy,
      expectedPods: expected.pods,
      observedGeneration: budget.metadata.generation,
      disruptedPods: Object.keys(disrupted).length === 0 ? undefined : disrupted,
      conditions: [allowedCondition(budget, allowed, now)],
    };
    await patchObject(kube, POD_DISRUPTION_BUDGET, budget, {
      ...budget,
      status,
    } as PodDisruptionBudget);
    const waiting = Object.keys(disrupted).length > 0;
    return waiting ? requeueAfter(DISRUPTED_TIMEOUT_MS) : AWAIT_CHANGE;
  }

  /** Pods the budget is about: those that have not ended. */
  function podsOf(budget: PodDisruptionBudget): readonly Pod[] {
    const { selector } = budget.spec;
    const known = byNamespace.get(budget.metadata.namespace ?? "");
    return [...(known?.values() ?? [])]
      .filter(
        ({ metadata, status }) =>
          status?.phase !== "Succeeded" &&
          status?.phase !== "Failed" &&
          matchesLabelSelector(selector, metadata.labels),
      )
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  function expectedOf(
    budget: PodDisruptionBudget,
    selected: readonly Pod[],
  ): { readonly pods: number; readonly desiredHealthy: number } {
    const { minAvailable, maxUnavailable } = budget.spec;
    if (maxUnavailable !== undefined) {
      const total = scaleOfOwners(selected);
      const unavailable = scaledValue(maxUnavailable, total, "up");
      return { pods: total, desiredHealthy: Math.max(0, total - unavailable) };
    }
    if (typeof minAvailable === "string" && minAvailable.endsWith("%")) {
      const total = scaleOfOwners(selected);
      return { pods: total, desiredHealthy: scaledValue(minAvailable, total, "up") };
    }
    // A plain count needs no owner: the pods that are there are the pods that are expected.
    const desiredHealthy = scaledValue(minAvailable, 0, "up");
    return { pods: selected.length, desiredHealthy };
  }

  /** What the owners of the pods are meant to run together; pods without a known owner count 0. */
  function scaleOfOwners(selected: readonly Pod[]): number {
    const scales = new Map<string, number>();
    for (const pod of selected) {
      let owner = lookUp(pod);
      const above = owner === undefined ? undefined : lookUp(owner);
      owner = above ?? owner;
      if (owner?.metadata.uid === undefined) continue;
      const { spec } = owner as { spec?: { replicas?: number; parallelism?: number } };
      scales.set(owner.metadata.uid, spec?.replicas ?? spec?.parallelism ?? 1);
    }
    return [...scales.values()].reduce((sum, scale) => sum + scale, 0);
  }

  function lookUp(object: KubeObject): KubeObject | undefined {
    const owner = controllerOf(object);
    if (owner === undefined) return undefined;
    const found = scaled.get(owner.kind)?.get(`${object.metadata.namespace}/${owner.name}`);
    return found?.metadata.uid === owner.uid ? found : undefined;
  }

  function ofNamespace(namespace: string | undefined, labels?: Pod): Request[] {
    return budgets
      .list()
      .filter(
        (budget) =>
          budget.metadata.namespace === namespace &&
          (labels === undefined ||
            matchesLabelSelector(budget.spec.selector, labels.metadata.labels)),
      )
      .map(({ metadata: { name } }) => ({ kind: "PodDisruptionBudget", namespace, name }));
  }

  const onScale = (object: KubeObject): Request[] => ofNamespace(object.metadata.namespace);
  return {
    name: "disruption",
    watches: [
      source(POD_DISRUPTION_BUDGET),
      source(POD, (pod, _event, before) => [
        ...ofNamespace(pod.metadata.namespace, pod),
        ...(before === undefined ? [] : ofNamespace(before.metadata.namespace, before)),
      ]),
      source(DEPLOYMENT, (object, event, before) =>
        event === "updated" && before?.metadata.generation === object.metadata.generation
          ? []
          : onScale(object),
      ),
      source(STATEFUL_SET, (object, event, before) =>
        event === "updated" && before?.metadata.generation === object.metadata.generation
          ? []
          : onScale(object),
      ),
    ],
    concurrency: 8,
    reconcile,
  };
}

/** Evicted pods whose deletion has not been seen yet. */
function stillDisrupted(
  budget: PodDisruptionBudget,
  selected: readonly Pod[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const [name, at] of Object.entries(budget.status?.disruptedPods ?? {})) {
    const pod = selected.find(({ metadata }) => metadata.name === name);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    if ((fromRfc3339(at) ?? 0) + DISRUPTED_TIMEOUT_MS > nowMs) kept[name] = at;
  }
  return kept;
}

function allowedCondition(
  budget: PodDisruptionBudget,
  allowed: number,
  nowMs: number,
): Condition & { readonly message: string } {
  const known = budget.status?.conditions?.find(({ type }) => type === "DisruptionAllowed");
  const status = allowed > 0 ? "True" : "False";
  return {
    type: "DisruptionAllowed",
    status,
    reason: allowed > 0 ? "SufficientPods" : "InsufficientPods",
    message: "",
    ...(budget.metadata.generation === undefined
      ? {}
      : { observedGeneration: budget.metadata.generation }),
    lastTransitionTime:
      known?.status === status && known.lastTransitionTime !== undefined
        ? known.lastTransitionTime
        : toRfc3339(nowMs),
  };
}
