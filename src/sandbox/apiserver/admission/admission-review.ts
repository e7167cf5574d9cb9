/**
 * Builds the AdmissionReview that a webhook receives: the write, its user, and the options of the request.
 * upstream: apiserver pkg/admission/plugin/webhook/request/admissionreview.go
 */
import { isObject } from "../../../base/json.ts";
import { type Call, isDryRun } from "../engine.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Admission } from "./admission-request.ts";

/** The body that a webhook receives. */
export interface AdmissionReview {
  readonly apiVersion: "admission.k8s.io/v1";
  readonly kind: "AdmissionReview";
  readonly request: Readonly<Record<string, unknown>> & { readonly uid: string };
}

/**
 * The review for a webhook. `definition`: the version in which the webhook sees the object. The request may use another
 * version.
 */
export function admissionReview(
  call: Call,
  definition: ResourceDefinition,
  admission: Admission,
): AdmissionReview {
  const { engine, path } = call;
  const { object, old, operation, subresource = "" } = admission;
  // A request for a collection has no name.
  const name = path.name ?? object?.metadata.name;
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: engine.random.uuid(),
      kind: admission.kind ?? kindOf(definition),
      resource: resourceOf(definition),
      ...(subresource === "" ? {} : { subResource: subresource, requestSubResource: subresource }),
      requestKind: admission.kind ?? kindOf(call.definition),
      requestResource: resourceOf(call.definition),
      ...(name === undefined || name === "" ? {} : { name }),
      ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
      operation,
      userInfo: userInfo(call),
      object: object ?? null,
      oldObject: old ?? null,
      dryRun: isDryRun(call),
      options: optionsOf(call, operation),
    },
  };
}

function kindOf({ group, version, kind }: ResourceDefinition): object {
  return { group, version, kind };
}

function resourceOf({ group, version, plural }: ResourceDefinition): object {
  return { group, version, resource: plural };
}

function userInfo({ user }: Call): object {
  const { name, uid, groups, extra } = user;
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}

/**
 * The options object for the webhook. A patch gets UpdateOptions, or CreateOptions if it creates the object.
 */
function optionsOf({ query, body }: Call, operation: string): object {
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  const asked = {
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun.length === 0 ? {} : { dryRun }),
  };
  if (operation === "DELETE") {
    const sent = isObject(body) ? body : {};
    const { apiVersion: _a, kind: _k, ...options } = sent;
    const policy = query.get("propagationPolicy");
    const grace = query.get("gracePeriodSeconds");
    return {
      ...asked,
      kind: "DeleteOptions",
      ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
      ...(policy === null ? {} : { propagationPolicy: policy }),
      ...options,
    };
  }
  const named = ["fieldManager", "fieldValidation"].flatMap((option) => {
    const value = query.get(option);
    return value === null || value === "" ? [] : [[option, value]];
  });
  const kind = operation === "CREATE" ? "CreateOptions" : "UpdateOptions";
  return { ...asked, kind, ...Object.fromEntries(named) };
}
