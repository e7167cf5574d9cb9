/**
 * pods/eviction: deletes a pod if its disruption budget allows it. Pods that are not healthy may not need the budget,
 * as its unhealthyPodEvictionPolicy says. An allowed eviction is counted in the budget's status at once, before the
 * controller of budgets sees the deletion.
 * upstream: kubernetes pkg/registry/core/pod/storage/eviction.go
 */
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { Condition, KubeObject } from "../../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../../apis/policy/kinds.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { mutate, review } from "../admission/admission.ts";
import type { Call } from "../engine.ts";
import { type DeleteOptions, deleteObject, deleteOptionsOf } from "../objects/delete.ts";
import { withCondition, writeDirectly, writeOwned } from "../objects/direct-write.ts";
import { headOf } from "../objects/object-meta.ts";
import { getObject } from "../objects/read.ts";
import { ApiError, badRequest, forbidden, type Status } from "../request/status.ts";
import { postedBody } from "./posted-body.ts";

const EVICTION = { group: "policy", version: "v1", kind: "Eviction" } as const;
const BUDGETS = "policy/poddisruptionbudgets";
const REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget.";
/** Evictions that the budget's controller has not counted yet. Beyond this number, no pod is evicted. */
const MAX_DISRUPTED_PODS = 2_000;
/** How long a client should wait for a budget whose controller is behind. */
const RETRY_AFTER_SECONDS = 10;

interface PodShape extends KubeObject {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

/**
 * Deletes the pod if PodDisruptionBudgets allow it; else 429. upstream: pkg/registry/core/pod/storage/eviction.go.
 */
export async function evictPod(call: Call): Promise<KubeResponse> {
  const admission = {
    operation: "CREATE",
    object: evictionOf(call),
    old: undefined,
    subresource: "eviction",
    kind: EVICTION,
  } as const;
  const eviction = await mutate(call, admission);
  const { deleteOptions } = eviction as { readonly deleteOptions?: unknown };
  const options = deleteOptionsOf({ ...call, body: deleteOptions });
  const pod = (await getObject(call)) as PodShape;
  await review(call, { ...admission, object: eviction });
  if (!passesByBudgets(pod)) {
    const refused = askBudget(call, pod, options);
    if (refused !== undefined) return refused;
  }
  if (options.dryRun !== true) noteEviction(call);
  const { namespace, name } = pod.metadata;
  await deleteObject(call, namespace, name, { ...options, isEviction: true });
  return answerOf(201, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    code: 201,
  });
}

function evictionOf(call: Call): KubeObject {
  const { path } = call;
  const body = postedBody(EVICTION, call.body);
  const { kind = "Eviction", apiVersion = "policy/v1" } = headOf(body);
  if (kind !== "Eviction") {
    const [version] = apiVersion.split("/").slice(-1);
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a Eviction: converting (${version}.${kind}) to (policy.Eviction): unknown conversion`,
    );
  }
  const sent = isObject(body["metadata"]) ? body["metadata"] : {};
  const { name, ...rest } = sent;
  if (name !== path.name) throw badRequest("name in URL does not match name in Eviction object");
  const metadata = { name, namespace: path.namespace, ...rest };
  return { ...body, metadata } as unknown as KubeObject;
}

/** Whether no PodDisruptionBudget protects the pod, because it has ended, has not started, or is being deleted. */
function passesByBudgets(pod: PodShape): boolean {
  const phase = pod.status?.phase;
  return (
    phase === "Succeeded" ||
    phase === "Failed" ||
    phase === "Pending" ||
    pod.metadata.deletionTimestamp !== undefined
  );
}

/** The refusal of an eviction. Undefined: the eviction is allowed, and it was counted unless it is a dry run. */
function askBudget(call: Call, pod: PodShape, options: DeleteOptions): KubeResponse | undefined {
  const { namespace } = pod.metadata;
  const all = call.engine.store.list(BUDGETS, namespace).objects as readonly unknown[];
  const budgets = (all as readonly PodDisruptionBudget[]).filter(({ spec }) =>
    matchesLabelSelector(spec.selector, pod.metadata.labels),
  );
  const [budget, second] = budgets;
  if (budget === undefined) return undefined;
  if (second !== undefined) {
    return answerOf(500, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message:
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
      code: 500,
    });
  }
  if (isUnprotected(budget, pod)) return undefined;
  const counted = decrement(call, budget, pod.metadata.name);
  if (options.dryRun !== true) {
    writeOwned(budgetCall(call), budget, counted, "status");
  }
  return undefined;
}

/**
 * Whether the budget allows evicting this unready pod: it is satisfied anyway, or its policy does not protect such
 * pods.
 */
function isUnprotected(budget: PodDisruptionBudget, pod: PodShape): boolean {
  const ready = pod.status?.conditions?.some(
    ({ type, status }) => type === "Ready" && status === "True",
  );
  if (ready === true) return false;
  if (budget.spec.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

/** The budget with this eviction counted. Throws 429 if the budget allows no further eviction. */
function decrement(call: Call, budget: PodDisruptionBudget, podName: string): PodDisruptionBudget {
  const { name, generation = 0 } = budget.metadata;
  const { status = {} } = budget;
  const { disruptionsAllowed = 0, disruptedPods = {}, observedGeneration = 0 } = status;
  if (observedGeneration < generation) {
    throw tooMany(
      `The disruption budget ${name} is still being processed by the server.`,
      RETRY_AFTER_SECONDS,
    );
  }
  const resource = { group: "policy", plural: "poddisruptionbudget" };
  if (disruptionsAllowed < 0) {
    throw forbidden(resource, name, "pdb disruptions allowed is negative");
  }
  if (Object.keys(disruptedPods).length > MAX_DISRUPTED_PODS) {
    throw forbidden(
      resource,
      name,
      "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
    );
  }
  if (disruptionsAllowed === 0) throw tooMany(shortageOf(budget), 0);
  const left = disruptionsAllowed - 1;
  const nowText = toRfc3339(call.engine.clock.now());
  const counted = {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: left,
      disruptedPods: { ...disruptedPods, [podName]: nowText },
    },
  };
  if (left > 0) return counted;
  return withCondition(counted, {
    type: "DisruptionAllowed",
    status: "False",
    reason: "InsufficientPods",
    message: "",
    observedGeneration: generationOf(budget),
    lastTransitionTime: nowText,
  }) as PodDisruptionBudget;
}

function generationOf({ metadata }: PodDisruptionBudget): number {
  return metadata.generation ?? 0;
}

function shortageOf({ metadata, status = {} }: PodDisruptionBudget): string {
  const condition = status.conditions?.find(({ type }) => type === "DisruptionAllowed");
  if (condition?.reason === "SyncFailed") {
    return `The disruption budget ${metadata.name} does not allow evicting pods currently because it failed sync: ${condition.message ?? ""}`;
  }
  return `The disruption budget ${metadata.name} needs ${status.desiredHealthy ?? 0} healthy pods and has ${status.currentHealthy ?? 0} currently`;
}

function tooMany(cause: string, retryAfterSeconds: number): ApiError {
  return new ApiError(429, "TooManyRequests", REFUSAL, {
    causes: [{ reason: "DisruptionBudget", message: cause }],
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  });
}

/** Sets the condition DisruptionTarget on the pod, from which Jobs and other controllers recognise evictions. */
function noteEviction(call: Call): void {
  const { definition, engine, path } = call;
  const stored = engine.store.get(definition.storageKey, path.namespace, path.name as string);
  if (stored === undefined) return;
  const next = withCondition(stored, {
    type: "DisruptionTarget",
    status: "True",
    lastProbeTime: null,
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastTransitionTime: toRfc3339(engine.clock.now()),
  });
  writeDirectly(call, stored, next);
}

/** A request of the server itself on the budget. */
function budgetCall(call: Call): Call {
  const definition = call.engine.registry.find("policy", "v1", "poddisruptionbudgets");
  return {
    ...call,
    query: new URLSearchParams({ fieldManager: "kube-apiserver" }),
    definition: definition ?? { ...call.definition, storageKey: BUDGETS },
  };
}

function answerOf(status: number, body: Status): KubeResponse {
  return { status, headers: { "content-type": "application/json" }, body };
}
