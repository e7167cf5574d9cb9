/**
 * Admission: plugins and webhooks that may change or refuse a write before it is stored. The order:
 * 1. the built-in plugins that change objects (priority, tolerations, default classes, service account);
 * 2. mutating webhooks;
 * 3. validation, which is not done here;
 * 4. the built-in checks, validating policies and validating webhooks.
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

/**
 * The object after mutating admission. After each webhook's change, its types are checked and its defaults
 * added again.
 */
export async function mutate(call: Call, admission: Admission<KubeObject>): Promise<KubeObject> {
  const object = admission.subresource ? admission.object : admitBuiltIn(call, admission);
  return callMutatingWebhooks(call, { ...admission, object });
}

/**
 * Runs the checks after validation. Throws the refusal of a LimitRange, a class rule, a policy or a validating webhook.
 */
export async function review(call: Call, admission: Admission): Promise<void> {
  checkLimits(call, admission);
  checkOverhead(call, admission);
  checkDefaultPriority(call, admission);
  checkGrowth(call, admission);
  await checkPolicies(call, admission);
  await callValidatingWebhooks(call, admission);
}

/** Checks a deletion. Mutating webhooks are called too: they cannot change anything, but they can refuse. */
export async function reviewDeletion(call: Call, old: KubeObject): Promise<void> {
  const admission = { operation: "DELETE", object: undefined, old } as const;
  await askMutatingWebhooks(call, admission);
  await review(call, admission);
}
