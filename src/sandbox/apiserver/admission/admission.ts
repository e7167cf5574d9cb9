/**
 * Admission: who may change or refuse a write before it is stored. First what is built in (priority,
 * default tolerations and classes, service account), then mutating webhooks, then, after validation, validating
 * ones. Without webhook configurations in the store this costs nothing.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Call } from "../engine.ts";
import { checkLimits } from "../quota/limit-ranger.ts";
import type { Admission } from "./admission-request.ts";
import { admitBuiltIn } from "./built-in-admission.ts";
import { checkDefaultPriority, checkGrowth } from "./class-admission.ts";
import { checkPolicies } from "./policy-admission.ts";
import { checkOverhead } from "./runtime-class-admission.ts";
import {
  askMutatingWebhooks,
  callMutatingWebhooks,
  callValidatingWebhooks,
} from "./webhook-admission.ts";

/** The object after mutating admission. It is validated and defaulted again after each webhook's change. */
export async function mutate(call: Call, admission: Admission<KubeObject>): Promise<KubeObject> {
  const object = admission.subresource ? admission.object : admitBuiltIn(call, admission);
  return callMutatingWebhooks(call, { ...admission, object });
}

/** Throws what limit ranges or a validating webhook deny. */
export async function review(call: Call, admission: Admission): Promise<void> {
  checkLimits(call, admission);
  checkOverhead(call, admission);
  checkDefaultPriority(call, admission);
  checkGrowth(call, admission);
  await checkPolicies(call, admission);
  await callValidatingWebhooks(call, admission);
}

/** A deletion, which mutating webhooks are asked about, too: they can refuse it. */
export async function reviewDeletion(call: Call, old: KubeObject): Promise<void> {
  const admission = { operation: "DELETE", object: undefined, old } as const;
  await askMutatingWebhooks(call, admission);
  await review(call, admission);
}
