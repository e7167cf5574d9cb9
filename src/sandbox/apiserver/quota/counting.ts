/**
 * The resource quota controller. It counts what is used and writes it to the status of a ResourceQuota. It runs when
 * the quota is new or changed, and when a counted object was deleted or has ended. `admission.ts` counts new objects.
 * upstream: kubernetes pkg/controller/resourcequota
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import type { Engine } from "../engine.ts";
import type { StoreEvent } from "../store/store.ts";
import { QUOTAS, writeStatus } from "./admission.ts";
import { nano, type QuotaAmounts } from "./amounts.ts";
import { isAbout, type Quota } from "./scopes.ts";
import { added, takes, usageOf } from "./usage.ts";

/** Milliseconds from a write until its consequences are handled. */
const REACTION_MS = 50;

/** Starts the controller. Returns a function that stops it. */
export function countQuotas(engine: Engine): () => void {
  const { store, clock } = engine;
  const due = new Set<string>();
  let isClosed = false;
  const countDue = (): void => {
    const namespaces = [...due].sort();
    due.clear();
    if (isClosed) return;
    for (const namespace of namespaces)
      for (const quota of store.list(QUOTAS, namespace).objects) count(engine, quota as Quota);
  };
  const stop = store.subscribeAll((event) => {
    const { namespace } = event.object.metadata;
    if (namespace === undefined || store.count(QUOTAS) === 0 || !frees(event)) return;
    if (due.size === 0) clock.after(REACTION_MS, countDue);
    due.add(namespace);
  });
  return () => {
    isClosed = true;
    stop();
  };
}

/**
 * Whether quotas of the namespace must be counted again: a quota was created or changed, or a write may have
 * reduced usage. Admission counts only what adds usage.
 */
function frees({ type, storageKey, object, previous }: StoreEvent): boolean {
  const spec = (one: KubeObject | undefined) => (one as Quota | undefined)?.spec;
  if (storageKey === QUOTAS && type !== "DELETED") return spec(object) !== spec(previous);
  if (type !== "MODIFIED") return type === "DELETED";
  if (storageKey === "services" || storageKey === "persistentvolumeclaims")
    return spec(object) !== spec(previous);
  return storageKey === "pods" && hasEnded(object) && !hasEnded(previous);
}

function hasEnded(pod: KubeObject | undefined): boolean {
  const { phase } = (pod as { status?: { phase?: string } } | undefined)?.status ?? {};
  return phase === "Succeeded" || phase === "Failed";
}

function count(engine: Engine, quota: Quota): void {
  const hard = quota.spec?.hard ?? {};
  const resources = Object.keys(hard).sort();
  let sum: QuotaAmounts = Object.fromEntries(resources.map((resource) => [resource, "0"]));
  const kinds = engine.registry
    .list()
    .filter(
      (definition) =>
        definition.namespaced &&
        definition.version === definition.storageVersion &&
        resources.some((resource) => takes(definition, resource)),
    );
  const nowMs = engine.clock.now();
  for (const kind of kinds)
    for (const object of engine.store.list(kind.storageKey, quota.metadata.namespace).objects) {
      if (!isAbout(quota, hard, kind, object)) continue;
      const usage = Object.entries(usageOf(kind, object, nowMs));
      sum = added(sum, Object.fromEntries(usage.filter(([resource]) => resource in hard)));
    }
  const { used = {} } = quota.status ?? {};
  const isRight =
    deepEqual(quota.status?.hard, hard) &&
    Object.keys(used).length === resources.length &&
    resources.every((key) => key in used && nano(used[key] ?? 0) === nano(sum[key] ?? 0));
  if (!isRight) writeStatus({ engine }, quota, { hard, used: sum }, "kube-controller-manager");
}
