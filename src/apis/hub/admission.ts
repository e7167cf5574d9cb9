/**
 * Admission webhooks for the kinds of v1alpha5, whose schemas check little. One sets defaults in Provisioners. Others
 * validate Provisioners, AWSNodeTemplates and the ConfigMap config-logging. The functions take and return an
 * AdmissionReview; the operator serves them. For later kinds the schemas are enough.
 */

import { base64Encode } from "../../base/base64.ts";
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { deepEqual, isObject, textOf, withoutNulls } from "../../base/json.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import type { AWSNodeTemplate } from "../aws/awsnodetemplate.ts";
import {
  LABEL_INSTANCE_CATEGORY,
  LABEL_INSTANCE_FAMILY,
  LABEL_INSTANCE_GENERATION,
} from "../aws/labels.ts";
import { WEBHOOK_SERVICE } from "../crds/definition.ts";
import {
  ARCH_LABEL_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  normalizedLabel,
  OS_LABEL_KEY,
} from "../karpenter/labels.ts";
import type { RequirementSpec } from "../karpenter/nodepool.ts";
import type { Provisioner } from "../karpenter/provisioner.ts";
import type { KubeObject } from "../meta.ts";
import { alphaTypeProblem } from "./alpha-types.ts";
import { conversionReview, type KubeReview } from "./conversion.ts";
import { validateAwsBlock, validateInlineProvider } from "./validate-aws.ts";
import { validateProvisioner } from "./validate-provisioner.ts";
import { cut, type FieldProblem, problem, problemsText } from "./validation.ts";

/** Settings on which defaults and validation of objects depend. */
export interface AdmissionSettings {
  readonly clusterName: string;
  /** Whether `ttlSecondsAfterEmpty: -1` is accepted as "never". Upstream refuses every negative number. */
  readonly acceptMinusOne: boolean;
  /** The setting aws.defaultInstanceProfile. If it is set, an inline provider need not name a profile. */
  readonly defaultInstanceProfile: string | undefined;
}

const DEFAULTING_PATH = "/default/karpenter.k8s.aws";
const VALIDATING_AWS_PATH = "/validate/karpenter.k8s.aws";
const VALIDATING_PATH = "/validate/karpenter.sh";
const VALIDATING_CONFIG_PATH = "/validate/config.karpenter.sh";
const CONVERSION_PATHS = ["/conversion/karpenter.sh", "/conversion/karpenter.k8s.aws"] as const;

/** Answers a review. Undefined: the path is not that of a webhook. */
export function answerWebhook(
  path: string,
  review: unknown,
  settings: AdmissionSettings,
): KubeReview | undefined {
  return atOnce(answerWebhookInSteps(path, review, settings));
}

/** The same in steps, which are short for conversions. An admission review is answered in one step. */
export function* answerWebhookInSteps(
  path: string,
  review: unknown,
  settings: AdmissionSettings,
): Steps<KubeReview | undefined> {
  if ((CONVERSION_PATHS as readonly string[]).includes(path))
    return yield* conversionReview(review);
  if (path === DEFAULTING_PATH) return defaultingReview(review, settings);
  if (path === VALIDATING_PATH || path === VALIDATING_AWS_PATH || path === VALIDATING_CONFIG_PATH)
    return validatingReview(review, settings, path);
  return undefined;
}

/** Adds the defaults of v1alpha5, as a JSON patch in the answer. */
function defaultingReview(review: unknown, settings: AdmissionSettings): KubeReview {
  const { uid, object } = requestOf(review);
  // An object with wrong types gets no defaults. The validating webhook refuses it with a message.
  if (object?.kind !== "Provisioner" || alphaTypeProblem(object) !== undefined)
    return answer(uid, { allowed: true });
  const before = object as Provisioner;
  const after = defaultedProvisioner(before, settings);
  if (deepEqual(before.spec, after.spec)) return answer(uid, { allowed: true });
  const op = before.spec === undefined ? "add" : "replace";
  const patch = base64Encode(JSON.stringify([{ op, path: "/spec", value: after.spec }]));
  return answer(uid, { allowed: true, patchType: "JSONPatch", patch });
}

/**
 * Validates the object, with upstream's messages. Kubernetes never sends deletions here, because the webhooks are not
 * registered for DELETE.
 */
function validatingReview(review: unknown, settings: AdmissionSettings, path: string): KubeReview {
  const { uid, object } = requestOf(review);
  const wrong = object === undefined ? undefined : alphaTypeProblem(object);
  const problems =
    object === undefined || wrong !== undefined ? [] : problemsOf(object, settings, path);
  if (wrong === undefined && problems.length === 0) return answer(uid, { allowed: true });
  const message = `validation failed: ${wrong === undefined ? problemsText(problems) : cut(wrong)}`;
  const status = { status: "Failure", reason: "BadRequest", code: 400, message };
  return answer(uid, { allowed: false, status });
}

function problemsOf(
  object: KubeObject,
  settings: AdmissionSettings,
  path: string,
): readonly FieldProblem[] {
  if (path === VALIDATING_CONFIG_PATH) return validateLoggingConfig(object);
  if (object.kind === "AWSNodeTemplate")
    return path === VALIDATING_AWS_PATH
      ? validateAwsBlock((object as AWSNodeTemplate).spec ?? {}, "template")
      : [];
  if (object.kind !== "Provisioner") return [];
  const provisioner = object as Provisioner;
  return path === VALIDATING_PATH
    ? validateProvisioner(provisioner, settings)
    : validateInlineProvider(provisioner.spec?.provider, settings);
}

/**
 * Adds the default requirements of v1alpha5 for missing keys. With an inline provider, the oldest form, it adds
 * capacity type, architecture and two selectors. In that form labels count as present keys.
 */
export function defaultedProvisioner(
  provisioner: Provisioner,
  settings: AdmissionSettings,
): Provisioner {
  const spec: Provisioner["spec"] = provisioner.spec ?? {};
  const given = new Set((spec.requirements ?? []).map((one) => normalizedLabel(one.key)));
  const added: RequirementSpec[] = [];
  const add = (key: string, operator: RequirementSpec["operator"], values: readonly string[]) => {
    if (!given.has(key)) added.push({ key, operator, values });
  };
  const inline = spec.provider !== undefined && spec.providerRef === undefined;
  if (inline) {
    for (const key of Object.keys(spec.labels ?? {})) given.add(normalizedLabel(key));
    add(CAPACITY_TYPE_LABEL_KEY, "In", ["on-demand"]);
    add(ARCH_LABEL_KEY, "In", ["amd64"]);
  } else {
    add(OS_LABEL_KEY, "In", ["linux"]);
    add(ARCH_LABEL_KEY, "In", ["amd64"]);
    add(CAPACITY_TYPE_LABEL_KEY, "In", ["on-demand"]);
    const instanceKeys = [
      INSTANCE_TYPE_LABEL_KEY,
      LABEL_INSTANCE_FAMILY,
      LABEL_INSTANCE_CATEGORY,
      LABEL_INSTANCE_GENERATION,
    ];
    if (!instanceKeys.some((key) => given.has(key))) {
      add(LABEL_INSTANCE_CATEGORY, "In", ["c", "m", "r"]);
      add(LABEL_INSTANCE_GENERATION, "Gt", ["2"]);
    }
  }
  return {
    ...provisioner,
    spec: {
      ...spec,
      ...(inline ? { provider: withSelectors(spec.provider ?? {}, settings) } : {}),
      ...(added.length > 0 ? { requirements: [...(spec.requirements ?? []), ...added] } : {}),
    },
  };
}

/** Adds selectors of the cluster's own subnets and security groups, unless the provider has selectors. */
function withSelectors(
  provider: Readonly<Record<string, unknown>>,
  settings: AdmissionSettings,
): Readonly<Record<string, unknown>> {
  const discovery = { [`kubernetes.io/cluster/${settings.clusterName}`]: "*" };
  const result = { ...provider };
  if (provider["subnetSelector"] === undefined) result["subnetSelector"] = discovery;
  if (provider["securityGroupSelector"] === undefined && provider["launchTemplate"] === undefined)
    result["securityGroupSelector"] = discovery;
  return result;
}

const LEVELS = ["debug", "info", "warn", "error", "dpanic", "panic", "fatal"];

/**
 * Checks the ConfigMap config-logging: invalid JSON and unknown log levels are refused before the controller reads
 * them.
 */
function validateLoggingConfig(object: KubeObject): readonly FieldProblem[] {
  const { data: given } = object as { data?: unknown };
  const data = isObject(given) ? given : {};
  const problems: FieldProblem[] = [];
  const text = data["zap-logger-config"];
  if (text !== undefined && !isJsonObject(text))
    problems.push(problem("invalid value: not a JSON object", "data.zap-logger-config"));
  for (const key of Object.keys(data).sort()) {
    const level = textOf(data[key]);
    if (!key.startsWith("loglevel.") || LEVELS.includes(level)) continue;
    const details = `"${level}" is none of ${LEVELS.join(", ")}`;
    problems.push(problem(`invalid value: ${level}`, `data.${key}`, details));
  }
  return problems;
}

/** Whether the value is the text of a JSON object, or empty text. */
function isJsonObject(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    return text.trim() === "" || isObject(parseBoundedJson(text));
  } catch {
    return false;
  }
}

function requestOf(review: unknown): { uid: string; object: KubeObject | undefined } {
  const request = isObject(review) && isObject(review["request"]) ? review["request"] : {};
  const object = isObject(request["object"])
    ? (withoutNulls(request["object"]) as unknown as KubeObject)
    : undefined;
  return { uid: textOf(request["uid"]), object };
}

function answer(uid: unknown, response: Readonly<Record<string, unknown>>): KubeReview {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid, ...response },
  };
}

/**
 * The webhook configurations for the kinds of v1alpha5. `caBundle`: the certificate authority of a Service with TLS.
 */
export function webhookConfigurations(
  service: { readonly name: string; readonly namespace: string } = WEBHOOK_SERVICE,
  caBundle?: string,
): readonly KubeObject[] {
  const webhook = (name: string, path: string, rules: readonly unknown[], more: object = {}) => ({
    name,
    admissionReviewVersions: ["v1"],
    clientConfig: {
      service: { name: service.name, namespace: service.namespace, path, port: 8443 },
      ...(caBundle === undefined ? {} : { caBundle }),
    },
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    rules,
    ...more,
  });
  const logging = { objectSelector: { matchLabels: { "app.kubernetes.io/part-of": "karpenter" } } };
  const configuration = (kind: string, one: { readonly name: string }) =>
    ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name: one.name },
      webhooks: [one],
    }) as KubeObject;
  return [
    configuration(
      "MutatingWebhookConfiguration",
      webhook("defaulting.webhook.karpenter.k8s.aws", DEFAULTING_PATH, [PROVISIONERS]),
    ),
    configuration(
      "ValidatingWebhookConfiguration",
      webhook("validation.webhook.karpenter.k8s.aws", VALIDATING_AWS_PATH, [
        TEMPLATES,
        PROVISIONERS,
      ]),
    ),
    configuration(
      "ValidatingWebhookConfiguration",
      webhook("validation.webhook.karpenter.sh", VALIDATING_PATH, [PROVISIONERS]),
    ),
    configuration(
      "ValidatingWebhookConfiguration",
      webhook(
        "validation.webhook.config.karpenter.sh",
        VALIDATING_CONFIG_PATH,
        [CONFIG_MAPS],
        logging,
      ),
    ),
  ];
}

const OPERATIONS = ["CREATE", "UPDATE"];
const PROVISIONERS = {
  apiGroups: ["karpenter.sh"],
  apiVersions: ["v1alpha5"],
  operations: OPERATIONS,
  resources: ["provisioners"],
  scope: "*",
};
const TEMPLATES = {
  apiGroups: ["karpenter.k8s.aws"],
  apiVersions: ["v1alpha1"],
  operations: OPERATIONS,
  resources: ["awsnodetemplates"],
  scope: "*",
};
const CONFIG_MAPS = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: OPERATIONS,
  resources: ["configmaps"],
  scope: "*",
};
