/**
 * Admission webhooks: which configured webhooks a write concerns, what they are sent, and what their answers
 * do. Webhooks are called one after another, in the order of their configurations' names.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { errorText } from "../../../base/error-text.ts";
import { bindingsOf, evaluateIn } from "../cel/conditions.ts";
import { CONDITIONS_BUDGET, OUT_OF_BUDGET } from "../cel/meter.ts";
import type { Call } from "../engine.ts";
import { ApiError } from "../request/status.ts";
import type { ResourceDefinition, WebhookClientConfig } from "../resource-definition.ts";
import type { Admission } from "./admission-request.ts";
import { admissionReview } from "./admission-review.ts";
import { authorizerOf } from "./authorizer-of.ts";
import {
  asWanted,
  inVersion,
  type Rules,
  type Selectors,
  selectsObject,
  wantedVersion,
} from "./matching.ts";
import { type Answer, answerIn, patchedBy, UndecodablePatchError } from "./webhook-answer.ts";

interface Webhook extends Rules, Selectors {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
  readonly timeoutSeconds?: number;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
}

/** Timeout for a configuration without one. Defaulting normally sets a timeout. */
const DEFAULT_TIMEOUT_SECONDS = 10;
const MUTATING = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
const VALIDATING = "admissionregistration.k8s.io/validatingwebhookconfigurations";

/** A webhook that must be called, and the version of the resource that it sees. */
interface Concerned {
  readonly webhook: Webhook;
  readonly definition: ResourceDefinition;
}

/**
 * Calls mutating webhooks in the order of their configurations' names. Each sees the changes of earlier ones.
 */
export async function callMutatingWebhooks(
  call: Call,
  admission: Admission<KubeObject>,
): Promise<KubeObject> {
  let object = admission.object;
  /** Webhooks with reinvocationPolicy IfNeeded are called again if a later webhook changed the object. */
  const again = new Map<Concerned, KubeObject>();
  const askOne = async (one: Concerned): Promise<void> => {
    const shown = await asWanted(call, one.definition, { ...admission, object });
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

/**
 * Calls mutating webhooks for a request without an object to change, such as a deletion. They can only
 * refuse.
 */
export async function askMutatingWebhooks(call: Call, admission: Admission): Promise<void> {
  await askAll(call, MUTATING, admission);
}

/** Calls validating webhooks one after another. The first refusal is thrown, and no later webhook is called. */
export async function callValidatingWebhooks(call: Call, admission: Admission): Promise<void> {
  await askAll(call, VALIDATING, admission);
}

async function askAll(call: Call, storageKey: string, admission: Admission): Promise<void> {
  for (const one of concerned(call, storageKey, admission))
    await ask(call, one, await asWanted(call, one.definition, admission), storageKey);
}

function concerned(call: Call, storageKey: string, admission: Admission): readonly Concerned[] {
  const { store } = call.engine;
  // Objects that configure webhooks are exempt from webhooks. Otherwise a wrong webhook could not be
  // repaired.
  if (call.definition.group === "admissionregistration.k8s.io" || store.count(storageKey) === 0) {
    return [];
  }
  const configurations = store.list(storageKey).objects as readonly (KubeObject & {
    readonly webhooks?: readonly Webhook[];
  })[];
  return configurations
    .flatMap((configuration) => configuration.webhooks ?? [])
    .flatMap((webhook) => {
      const definition = wantedVersion(call, webhook, admission);
      const isConcerned = definition !== undefined && selectsObject(call, webhook, admission);
      return isConcerned ? [{ webhook, definition }] : [];
    });
}

/** True if all conditions are true. A condition that fails to evaluate is treated as a failed call. */
function conditionsHold(
  call: Call,
  webhook: Webhook,
  request: Readonly<Record<string, unknown>>,
): boolean {
  const { name, object, oldObject } = request;
  const budget = { left: CONDITIONS_BUDGET };
  const bindings = {
    ...bindingsOf({ object, oldObject, request }),
    authorizer: authorizerOf(call, typeof name === "string" ? name : ""),
  };
  for (const { name: condition, expression } of webhook.matchConditions ?? []) {
    const outcome = evaluateIn("webhook", expression, bindings, budget);
    if (budget.left < 0) throw new Error(OUT_OF_BUDGET);
    if (outcome.problem !== undefined)
      throw new Error(`match condition "${condition}" cannot be evaluated: ${outcome.problem}`);
    if (outcome.value !== true) return false;
  }
  return true;
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
    if (!conditionsHold(call, webhook, review.request)) return undefined;
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

/**
 * The error for a refusal: the webhook's own Status, with the webhook's name in front. A code that is not an
 * error code becomes 400.
 */
function denial(name: string, { status = {} }: Answer): ApiError {
  const prefix = `admission webhook "${name}" denied the request`;
  const { code = 0, details, message = "", reason = "" } = status;
  let text = `${prefix} without explanation`;
  if (message !== "") text = `${prefix}: ${message}`;
  else if (reason !== "") text = `${prefix}: ${reason}`;
  // Codes of more than three digits are not valid in HTTP.
  return new ApiError(code > 999 ? 500 : Math.max(code, 400), reason, text, details);
}

/**
 * The object after the patch. Undefined if the patch is unreadable and the failure policy says to ignore
 * that.
 */
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
