/**
 * Admission webhooks: which configured webhook a write concerns, what it is asked and what becomes of
 * its answer. Mutating ones run one after the other by configuration name, validating ones after.
 */

import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { KubeObject, LabelSelector } from "../../../apis/meta.ts";
import { errorText } from "../../../base/error-text.ts";
import { evaluateCondition } from "../cel/conditions.ts";
import { CONDITIONS_BUDGET } from "../cel/meter.ts";
import type { Call } from "../engine.ts";
import { ApiError } from "../request/status.ts";
import type { ResourceDefinition, WebhookClientConfig } from "../resource-definition.ts";
import { fromStorage, toStorage } from "../versions/conversion.ts";
import type { Admission } from "./admission-request.ts";
import { admissionReview } from "./admission-review.ts";
import { type Answer, answerIn, patchedBy, UndecodablePatchError } from "./webhook-answer.ts";

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
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
  readonly timeoutSeconds?: number;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  readonly matchPolicy?: "Exact" | "Equivalent";
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

/** When a configuration says nothing, which defaults prevent. */
const DEFAULT_TIMEOUT_SECONDS = 10;
const MUTATING = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
const VALIDATING = "admissionregistration.k8s.io/validatingwebhookconfigurations";

/** A webhook that a write concerns, and the version of the resource that it wants to see. */
interface Concerned {
  readonly webhook: Webhook;
  readonly definition: ResourceDefinition;
}

export async function callMutatingWebhooks(
  call: Call,
  admission: Admission<KubeObject>,
): Promise<KubeObject> {
  let object = admission.object;
  /** Those that wish to see what others made of the object after them. */
  const again = new Map<Concerned, KubeObject>();
  const askOne = async (one: Concerned): Promise<void> => {
    const shown = await asWanted(call, one, { ...admission, object });
    const answer = await ask(call, one, shown, MUTATING);
    if ((answer?.patch ?? "") === "" || answer === undefined || shown.object === undefined) return;
    const changed = patched(one, answer, shown.object, admission.kind === undefined);
    if (changed !== undefined)
      object = await inVersion(call, one.definition, call.definition, changed);
  };
  for (const one of concerned(call, MUTATING, admission)) {
    await askOne(one);
    if (one.webhook.reinvocationPolicy === "IfNeeded") again.set(one, object);
  }
  for (const [one, seen] of again) if (seen !== object) await askOne(one);
  return object;
}

/** Where there is nothing to change. */
export async function askMutatingWebhooks(call: Call, admission: Admission): Promise<void> {
  await askAll(call, MUTATING, admission);
}

export async function callValidatingWebhooks(call: Call, admission: Admission): Promise<void> {
  await askAll(call, VALIDATING, admission);
}

async function askAll(call: Call, storageKey: string, admission: Admission): Promise<void> {
  for (const one of concerned(call, storageKey, admission))
    await ask(call, one, await asWanted(call, one, admission), storageKey);
}

function concerned(call: Call, storageKey: string, admission: Admission): readonly Concerned[] {
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
    .filter((webhook) => selectsObject(call, webhook, admission))
    .flatMap((webhook) => {
      const definition = wantedVersion(call, webhook, admission);
      return definition === undefined ? [] : [{ webhook, definition }];
    });
}

/** The request's own version if a rule names it, else another of the same resource that one names. */
function wantedVersion(
  call: Call,
  webhook: Webhook,
  admission: Admission,
): ResourceDefinition | undefined {
  const { definition, engine } = call;
  if (isRuledIn(webhook, definition, admission)) return definition;
  if (webhook.matchPolicy === "Exact" || admission.kind !== undefined) return undefined;
  return engine.registry
    .list()
    .find(
      (other) =>
        other.storageKey === definition.storageKey &&
        other !== definition &&
        isRuledIn(webhook, other, admission),
    );
}

function isRuledIn(
  webhook: Webhook,
  definition: ResourceDefinition,
  { operation, subresource = "" }: Admission,
): boolean {
  const resource = subresource === "" ? definition.plural : `${definition.plural}/${subresource}`;
  return (webhook.rules ?? []).some(
    (rule) =>
      includes(rule.operations, operation) &&
      includes(rule.apiGroups, definition.group) &&
      includes(rule.apiVersions, definition.version) &&
      coversResource(rule.resources ?? [], resource) &&
      (rule.scope === undefined ||
        rule.scope === "*" ||
        (rule.scope === "Namespaced") === definition.namespaced),
  );
}

function selectsObject(call: Call, webhook: Webhook, admission: Admission): boolean {
  const { definition, engine, path } = call;
  const labels = [admission.object, admission.old]
    .filter((object) => object !== undefined)
    .map((object) => object.metadata.labels ?? {});
  if (!labels.some((each) => selects(webhook.objectSelector, each))) return false;
  if (definition.kind === "Namespace" && definition.group === "") {
    const itself = admission.object ?? admission.old;
    return selects(webhook.namespaceSelector, itself?.metadata.labels ?? {});
  }
  if (path.namespace === undefined) return true;
  const stored = engine.store.get("namespaces", undefined, path.namespace);
  return selects(webhook.namespaceSelector, stored?.metadata.labels ?? {});
}

async function asWanted(
  call: Call,
  { definition }: Concerned,
  admission: Admission,
): Promise<Admission> {
  if (definition === call.definition) return admission;
  const shown = async (object: KubeObject | undefined): Promise<KubeObject | undefined> =>
    object === undefined ? undefined : inVersion(call, call.definition, definition, object);
  const { object, old } = admission;
  return { ...admission, object: await shown(object), old: await shown(old) };
}

async function inVersion(
  { engine }: Call,
  from: ResourceDefinition,
  to: ResourceDefinition,
  object: KubeObject,
): Promise<KubeObject> {
  if (from === to) return object;
  return fromStorage(engine, to, await toStorage(engine, from, object));
}

/** Whether all conditions hold; one that cannot be evaluated counts as a failed call. */
function conditionsHold(webhook: Webhook, request: Readonly<Record<string, unknown>>): boolean {
  const { object, oldObject } = request;
  const budget = { left: CONDITIONS_BUDGET };
  for (const { name, expression } of webhook.matchConditions ?? []) {
    const outcome = evaluateCondition(expression, { object, oldObject, request }, budget);
    if (budget.left < 0)
      throw new Error(
        "validation failed due to running out of cost budget, no further validation rules will be run",
      );
    if (outcome.problem !== undefined)
      throw new Error(`match condition "${name}" cannot be evaluated: ${outcome.problem}`);
    if (outcome.value !== true) return false;
  }
  return true;
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
  { webhook, definition }: Concerned,
  admission: Admission,
  storageKey: string,
): Promise<Answer | undefined> {
  const review = admissionReview(call, definition, admission);
  let answer: Answer;
  try {
    if (!conditionsHold(webhook, review.request)) return undefined;
    answer = await answerTo(call, webhook, review, storageKey === MUTATING);
  } catch (error) {
    if (webhook.failurePolicy === "Ignore") return undefined;
    throw failedCall(webhook, errorText(error));
  }
  call.warnings.push(...(answer.warnings ?? []));
  if (answer.allowed === true) return answer;
  throw denial(webhook.name, answer);
}

async function answerTo(
  call: Call,
  { clientConfig, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: Webhook,
  review: { readonly request: { readonly uid: string } },
  isMutating: boolean,
): Promise<Answer> {
  let answered: unknown;
  try {
    answered = await call.engine.webhooks(clientConfig, review, timeoutSeconds * 1_000);
  } catch (error) {
    throw new Error(`failed to call webhook: ${error instanceof Error ? error.message : error}`);
  }
  return answerIn(answered, review.request.uid, isMutating);
}

function failedCall({ name }: Webhook, why: string): ApiError {
  const message = `failed calling webhook "${name}": ${why}`;
  return new ApiError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

/** The webhook's own Status with who denied in front; a code that is no refusal counts as 400. */
function denial(name: string, { status = {} }: Answer): ApiError {
  const prefix = `admission webhook "${name}" denied the request`;
  const { code = 0, details, message = "", reason = "" } = status;
  let text = `${prefix} without explanation`;
  if (message !== "") text = `${prefix}: ${message}`;
  else if (reason !== "") text = `${prefix}: ${reason}`;
  // HTTP has no more than three digits.
  return new ApiError(code > 999 ? 500 : Math.max(code, 400), reason, text, details);
}

/** The object after the patch; undefined when a patch that cannot be read is to be ignored. */
function patched(
  { webhook, definition }: Concerned,
  answer: Answer,
  object: KubeObject,
  isOwnKind: boolean,
): KubeObject | undefined {
  try {
    return patchedBy(answer, definition, object, isOwnKind);
  } catch (error) {
    if (!(error instanceof UndecodablePatchError)) throw error;
    if (webhook.failurePolicy === "Ignore") return undefined;
    throw failedCall(webhook, `received undecodable patch in webhook response: ${error.message}`);
  }
}
