/**
 * Admission webhooks: which configured webhook a write concerns, what it is asked and what becomes of
 * its answer. Mutating ones run one after the other by configuration name, validating ones after.
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

/** When a configuration says nothing, which defaults prevent. */
const DEFAULT_TIMEOUT_SECONDS = 10;
const MUTATING = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
const VALIDATING = "admissionregistration.k8s.io/validatingwebhookconfigurations";

/** A webhook that a write concerns, and the version of the resource that it wants to see. */
interface Concerned {
  readonly webhook: Webhook;
  readonly definition: ResourceDefinition;
}

/** Calls mutating webhooks in the order of their configurations' names; each sees the changes of earlier ones. */
export async function callMutatingWebhooks(
  call: Call,
  admission: Admission<KubeObject>,
): Promise<KubeObject> {
  let object = admission.object;
  /** Webhooks with reinvocationPolicy, which see the changes of later webhooks too. */
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

/** Where there is nothing to change. */
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

/** Whether all conditions hold; one that cannot be evaluated counts as a failed call. */
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
