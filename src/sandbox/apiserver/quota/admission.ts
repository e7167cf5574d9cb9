/**
 * The ResourceQuota plugin of kube-apiserver. A write that would exceed a quota is refused. Otherwise its usage is
 * added to the quota at once, without an await before the object is stored. `counting.ts` counts again later.
 * upstream: kubernetes pkg/quota/v1 and apiserver pkg/admission/plugin/resourcequota/controller.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Admission } from "../admission/admission-request.ts";
import type { Call } from "../engine.ts";
import { writeOwned } from "../objects/direct-write.ts";
import { callOn, storageDefinition } from "../request/internal-call.ts";
import { forbidden } from "../request/status.ts";
import { nano, type QuotaAmounts } from "./amounts.ts";
import { isAbout, type Quota } from "./scopes.ts";
import { added, subtracted, unnamed, usageOf } from "./usage.ts";

export const QUOTAS = "resourcequotas";
/** Kinds whose updates can use more of a quota. For other kinds only new objects count. */
const GROWING: ReadonlySet<string> = new Set(["services", "persistentvolumeclaims"]);

/**
 * Throws 403 if a quota does not allow the write. Returns a function that adds the usage to the status of the quotas.
 */
export function admitToQuotas(call: Call, admission: Admission<KubeObject>): () => void {
  const { definition, engine } = call;
  const { object, old, operation, subresource = "" } = admission;
  const namespace = object.metadata.namespace;
  if (namespace === undefined || subresource !== "") return nothing;
  const isGrowing = definition.group === "" && GROWING.has(definition.plural);
  if (operation !== "CREATE" && !isGrowing) return nothing;
  const quotas = engine.store.list(QUOTAS, namespace).objects as readonly Quota[];
  if (quotas.length === 0) return nothing;
  const nowMs = engine.clock.now();
  const usage = usageOf(definition, object, nowMs);
  const delta = old === undefined ? usage : subtracted(usage, usageOf(definition, old, nowMs));
  const charged = quotas.flatMap((quota) => {
    const used = charge(call, admission, quota, delta);
    return used === undefined ? [] : [{ quota, used }];
  });
  return () => {
    for (const { quota, used } of charged)
      writeStatus(call, quota, { ...quota.status, used }, "kube-apiserver");
  };
}

function nothing(): void {
  // No quota counts this write.
}

/** The usage after the write. Undefined: the object does not count against this quota. */
function charge(
  call: Call,
  { object, operation }: Admission<KubeObject>,
  quota: Quota,
  delta: QuotaAmounts,
): QuotaAmounts | undefined {
  const { definition } = call;
  const refuse = (why: string) => forbidden(definition, object.metadata.name, why);
  const { name } = quota.metadata;
  const hard = quota.status?.hard ?? {};
  if (!isAbout(quota, hard, definition, object)) return undefined;
  const isPod = definition.group === "" && definition.plural === "pods";
  const left = isPod && operation === "CREATE" ? unnamed(hard, object) : "";
  if (left !== "") throw refuse(`failed quota: ${name}: must specify ${left}`);
  const wanted = Object.fromEntries(
    Object.entries(delta).filter(([key, amount]) => key in hard && nano(amount) !== 0n),
  );
  const resources = Object.keys(wanted).sort();
  if (resources.length === 0) return undefined;
  const used = quota.status?.used ?? {};
  const unknown = resources.filter((resource) => used[resource] === undefined);
  if (unknown.length > 0)
    throw refuse(`status unknown for quota: ${name}, resources: ${unknown.join(",")}`);
  const after = added(used, wanted);
  const exceeded = resources.filter(
    (resource) =>
      nano(wanted[resource] as string) > 0n &&
      nano(after[resource] as string) > nano(hard[resource] as string),
  );
  if (exceeded.length === 0) return after;
  const print = (amounts: QuotaAmounts) =>
    exceeded.map((key) => `${key}=${amounts[key]}`).join(",");
  throw refuse(
    `exceeded quota: ${name}, requested: ${print(wanted)}, used: ${print(used)}, limited: ${print(hard)}`,
  );
}

/** Writes the status as `manager`: the API server at a write, or the controller when it counts. */
export function writeStatus(
  { engine }: Pick<Call, "engine">,
  quota: Quota,
  status: NonNullable<Quota["status"]>,
  manager: string,
): void {
  const definition = storageDefinition(engine, QUOTAS);
  if (definition === undefined) return;
  const asController = callOn(engine, definition, quota, "resourcequota-controller");
  const call = { ...asController, headers: { "user-agent": manager } };
  writeOwned(call, quota, { ...quota, status } as KubeObject, "status");
}
