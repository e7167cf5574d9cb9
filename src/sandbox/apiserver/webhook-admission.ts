/**
 * Admission webhooks: which configured webhook a write concerns, what it is asked and what becomes of
 * its answer. Mutating ones run one after the other by configuration name, validating ones after.
 */
import { applyPatch, type Operation } from "rfc6902";
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import type { KubeObject, LabelSelector } from "../../apis/meta.ts";
import { clone, isObject } from "../../base/json.ts";
import type { Admission } from "./admission-request.ts";
import { type Call, isDryRun } from "./engine.ts";
import type { WebhookClientConfig } from "./resource-definition.ts";
import { ApiError, type StatusDetails } from "./status.ts";

interface Webhook {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly {
    readonly operations?: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly apiVersions?: readonly string[];
    readonly resources?: readonly string[];
    readonly scope?: string;
  }[];
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

interface Answer {
  readonly allowed?: boolean;
  readonly status?: {
    readonly code?: number;
    readonly message?: string;
    readonly reason?: string;
    readonly details?: StatusDetails;
  };
  readonly patch?: string;
  readonly patchType?: string;
  readonly warnings?: readonly string[];
}

const MUTATING = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
const VALIDATING = "admissionregistration.k8s.io/validatingwebhookconfigurations";

export async function callMutatingWebhooks(
  call: Call,
  admission: Admission<KubeObject>,
): Promise<KubeObject> {
  let object = admission.object;
  for (const webhook of concerned(call, MUTATING, admission)) {
    const answer = await ask(call, webhook, { ...admission, object });
    if (answer?.patch === undefined) continue;
    object = patched(call, webhook, object, answer.patch);
  }
  return object;
}

export async function callValidatingWebhooks(call: Call, admission: Admission): Promise<void> {
  for (const webhook of concerned(call, VALIDATING, admission)) await ask(call, webhook, admission);
}

function concerned(call: Call, storageKey: string, admission: Admission): readonly Webhook[] {
  const { store } = call.engine;
  // Webhooks never judge the objects that configure webhooks: they could lock everybody out.
  if (call.definition.group === "admissionregistration.k8s.io" || store.count(storageKey) === 0) {
    return [];
  }
  const configurations = store.list(storageKey).objects as readonly (KubeObject & {
    readonly webhooks?: readonly Webhook[];
  })[];
  return configurations
    .flatMap((configuration) => configuration.webhooks ?? [])
    .filter((webhook) => concerns(call, webhook, admission));
}

function concerns(call: Call, webhook: Webhook, admission: Admission): boolean {
  const { definition, engine, path } = call;
  const { operation, subresource = "" } = admission;
  const resource = subresource === "" ? definition.plural : `${definition.plural}/${subresource}`;
  const byRule = (webhook.rules ?? []).some(
    (rule) =>
      includes(rule.operations, operation) &&
      includes(rule.apiGroups, definition.group) &&
      includes(rule.apiVersions, definition.version) &&
      coversResource(rule.resources ?? [], resource) &&
      (rule.scope === undefined ||
        rule.scope === "*" ||
        (rule.scope === "Namespaced") === definition.namespaced),
  );
  if (!byRule) return false;
  const labels = [admission.object, admission.old]
    .filter((object) => object !== undefined)
    .map((object) => object.metadata.labels ?? {});
  if (!labels.some((each) => selects(webhook.objectSelector, each))) return false;
  const namespace = definition.kind === "Namespace" ? path.name : path.namespace;
  if (namespace === undefined) return true;
  const stored = engine.store.get("namespaces", undefined, namespace);
  return selects(webhook.namespaceSelector, stored?.metadata.labels ?? {});
}

/** Unlike elsewhere, a webhook without a selector is asked about everything. */
function selects(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  return selector === undefined || matchesLabelSelector(selector, labels);
}

function includes(list: readonly string[] | undefined, value: string): boolean {
  return list?.includes("*") === true || list?.includes(value) === true;
}

function coversResource(list: readonly string[], resource: string): boolean {
  const isPlain = !resource.includes("/");
  const [plural, subresource] = resource.split("/");
  return list.some(
    (entry) =>
      entry === resource ||
      entry === "*/*" ||
      (entry === "*" && isPlain) ||
      entry === `${plural}/*` ||
      (!isPlain && entry === `*/${subresource}`),
  );
}

async function ask(
  call: Call,
  webhook: Webhook,
  admission: Admission,
): Promise<Answer | undefined> {
  const { definition, engine, path, user } = call;
  const { group, version, kind, plural } = definition;
  const gvk = { group, version, kind };
  const gvr = { group, version, resource: plural };
  const review = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: engine.random.uuid(),
      kind: gvk,
      resource: gvr,
      requestKind: gvk,
      requestResource: gvr,
      ...(admission.subresource ? { subResource: admission.subresource } : {}),
      name: (admission.object ?? admission.old)?.metadata.name,
      ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
      operation: admission.operation,
      userInfo: { username: user.name, groups: user.groups },
      object: admission.object ?? null,
      oldObject: admission.old ?? null,
      dryRun: isDryRun(call),
      options: { apiVersion: "meta.k8s.io/v1", kind: optionsKind(admission.operation) },
    },
  };
  let answer: Answer;
  try {
    answer = answerOf(await engine.webhooks(webhook.clientConfig, review));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (webhook.failurePolicy === "Ignore") {
      call.warnings.push(`failed calling webhook "${webhook.name}", ignored: ${why}`);
      return undefined;
    }
    const message = `failed calling webhook "${webhook.name}": ${why}`;
    throw new ApiError(500, "InternalError", `Internal error occurred: ${message}`, {
      causes: [{ message }],
    });
  }
  call.warnings.push(...(answer.warnings ?? []));
  if (answer.allowed === true) return answer;
  throw denial(webhook.name, answer);
}

function answerOf(review: unknown): Answer {
  const response = isObject(review) ? review["response"] : undefined;
  if (!isObject(response)) throw new Error("the answer has no response");
  return response as Answer;
}

/** The webhook's own Status with who denied in front; a code that is no refusal counts as 400. */
function denial(name: string, { status = {} }: Answer): ApiError {
  const prefix = `admission webhook "${name}" denied the request`;
  const { code = 0, details, message = "", reason = "" } = status;
  let text = `${prefix} without explanation`;
  if (message !== "") text = `${prefix}: ${message}`;
  else if (reason !== "") text = `${prefix}: ${reason}`;
  return new ApiError(Math.max(code, 400), reason, text, details);
}

function patched(call: Call, webhook: Webhook, object: KubeObject, patch: string): KubeObject {
  const fail = (why: string): ApiError => {
    const message = `admission webhook "${webhook.name}" attempted to modify the object with a patch that cannot be applied: ${why}`;
    return new ApiError(500, "InternalError", `Internal error occurred: ${message}`);
  };
  const { definition } = call;
  const target = clone(object);
  let operations: unknown;
  try {
    operations = JSON.parse(Buffer.from(patch, "base64").toString("utf8"));
  } catch {
    throw fail("it is not base64 of a JSON patch");
  }
  if (!Array.isArray(operations)) throw fail("it is not a list of operations");
  const failed = applyPatch(target, operations as Operation[]).find((error) => error !== null);
  if (failed) throw fail(failed.message);
  return definition.applyDefaults(definition.prune(target).value);
}

function optionsKind(operation: string): string {
  if (operation === "CREATE") return "CreateOptions";
  return operation === "DELETE" ? "DeleteOptions" : "UpdateOptions";
}
