/**
 * The disruption controller. It keeps the status of PodDisruptionBudgets up to date, because the eviction API
 * decides by it. When a pod becomes ready or is deleted, its budgets change at once.
 */
import {
  DAEMON_SET,
  DEPLOYMENT,
  JOB,
  REPLICA_SET,
  STATEFUL_SET,
} from "../../../apis/apps/kinds.ts";
import { isTerminal, POD, type Pod } from "../../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { controllerOf } from "../../../apis/meta.ts";
import { POD_DISRUPTION_BUDGET, type PodDisruptionBudget } from "../../../apis/policy/kinds.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import type { Mirror, Mirrors } from "../../../kube/mirror/mirror.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../../parts.ts";
import { pacerOf } from "../controls.ts";
import { budgetStatus, DISRUPTED_TIMEOUT_MS, type OwnerLookup } from "./pdb-allowance.ts";

/** Milliseconds of pause for each pod: a budget over 1,000 pods is reconciled every 100 ms at most. */
const PACE_MS_PER_POD = 0.1;

/** Keeps the status of PodDisruptionBudgets. upstream: pkg/controller/disruption of Kubernetes. */
export function pdbStatusController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const budgets = mirrors.of(POD_DISRUPTION_BUDGET);
  const podsIn = podsByNamespace(podMirror(mirrors));
  const ownerOf = ownersIn(mirrors);
  const recorder = createPartRecorder(deps, "controllermanager");
  const pacer = pacerOf(budgets, PACE_MS_PER_POD);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const budget = budgets.get(`${namespace}/${name}`);
    if (budget === undefined) return AWAIT_CHANGE;
    const waitMs = pacer.waitMs(budget, budget.status?.expectedPods ?? 0, clock.now());
    if (waitMs > 0) return requeueAfter(waitMs);
    const selected = podsOf(budget, podsIn(namespace ?? ""));
    if (selected.length === 0) {
      const object = subject(POD_DISRUPTION_BUDGET, budget);
      const message = "No matching pods found";
      recorder.publish({ object, type: "Normal", reason: "NoPods", message });
    }
    const status = budgetStatus(budget, selected, ownerOf, clock.now());
    await patchObject(kube, POD_DISRUPTION_BUDGET, budget, { ...budget, status });
    return status.disruptedPods === undefined ? AWAIT_CHANGE : requeueAfter(DISRUPTED_TIMEOUT_MS);
  }

  /** The reconcile requests for all budgets of a namespace, or for those that select `pod`. */
  function requestsIn(namespace: string | undefined, pod?: Pod): Request[] {
    return budgets
      .list()
      .filter(
        ({ metadata, spec }) =>
          metadata.namespace === namespace &&
          (pod === undefined || matchesLabelSelector(spec.selector, pod.metadata.labels)),
      )
      .map(({ metadata: { name } }) => ({ kind: "PodDisruptionBudget", namespace, name }));
  }

  function onScale(object: KubeObject, event: string, before: KubeObject | undefined): Request[] {
    const isStatus = before?.metadata.generation === object.metadata.generation;
    return event === "updated" && isStatus ? [] : requestsIn(object.metadata.namespace);
  }

  return {
    name: "disruption",
    watches: [
      source(POD_DISRUPTION_BUDGET),
      source(POD, (pod, _event, before) => [
        ...requestsIn(pod.metadata.namespace, pod),
        ...(before === undefined ? [] : requestsIn(before.metadata.namespace, before)),
      ]),
      source(DEPLOYMENT, onScale),
      source(STATEFUL_SET, onScale),
    ],
    concurrency: 8,
    reconcile,
  };
}

/** The pods of a budget that have not ended. */
function podsOf({ spec }: PodDisruptionBudget, pods: Iterable<Pod>): readonly Pod[] {
  return [...pods]
    .filter((pod) => !isTerminal(pod) && matchesLabelSelector(spec.selector, pod.metadata.labels))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Pods by namespace, so that a change does not search the pods of the whole cluster. */
function podsByNamespace(pods: Mirror<Pod>): (namespace: string) => Iterable<Pod> {
  const byNamespace = new Map<string, Map<string, Pod>>();
  pods.on((event, pod) => {
    const namespace = pod.metadata.namespace ?? "";
    const known = byNamespace.get(namespace) ?? new Map<string, Pod>();
    byNamespace.set(namespace, known);
    if (event === "removed") known.delete(pod.metadata.name);
    else known.set(pod.metadata.name, pod);
  });
  return (namespace) => byNamespace.get(namespace)?.values() ?? [];
}

function ownersIn(mirrors: Mirrors): OwnerLookup {
  const scaled = new Map<string, { get(key: string): KubeObject | undefined }>([
    ["Deployment", mirrors.of(DEPLOYMENT)],
    ["ReplicaSet", mirrors.of(REPLICA_SET)],
    ["StatefulSet", mirrors.of(STATEFUL_SET)],
    ["DaemonSet", mirrors.of(DAEMON_SET)],
    ["Job", mirrors.of(JOB)],
  ]);
  return (object) => {
    const owner = controllerOf(object);
    if (owner === undefined) return undefined;
    const found = scaled.get(owner.kind)?.get(`${object.metadata.namespace}/${owner.name}`);
    return found?.metadata.uid === owner.uid ? found : undefined;
  };
}
