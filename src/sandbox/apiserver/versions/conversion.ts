/**
 * Converts objects between the stored version and the client's version. With strategy None only apiVersion
 * changes; otherwise the kind's conversion webhook is called. A result is kept as long as the object exists,
 * so a thousand watches need only one conversion.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { errorText } from "../../../base/error-text.ts";
import { deepFreeze, isObject } from "../../../base/json.ts";
import { type Engine, groupVersionOf, isCustom } from "../engine.ts";
import { ApiError } from "../request/status.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { newerAutoscalerOf, olderAutoscalerOf } from "./autoscaler-versions.ts";
import { coreEventOf, newEventOf } from "./event-versions.ts";

/**
 * Conversions of each stored object, by definition. A changed CRD has new definitions, so its old results are
 * not used.
 */
const converted = new WeakMap<
  KubeObject,
  Map<ResourceDefinition, KubeObject | Promise<KubeObject>>
>();

/** Converts a stored object to `definition`'s version. Synchronous unless a webhook must be called. */
export function fromStorage(
  engine: Engine,
  definition: ResourceDefinition,
  object: KubeObject,
): KubeObject | Promise<KubeObject> {
  const wanted = groupVersionOf(definition);
  if (object.apiVersion === wanted) return definition.reread?.(object) ?? object;
  let versions = converted.get(object);
  if (versions === undefined) {
    versions = new Map();
    converted.set(object, versions);
  }
  const known = versions.get(definition);
  if (known !== undefined) return known;
  const made = convert(engine, definition, object, wanted);
  const shape = (one: KubeObject): KubeObject => shaped(definition, one);
  const result = made instanceof Promise ? made.then(shape) : shape(made);
  versions.set(definition, result);
  if (result instanceof Promise) {
    const kept = versions;
    result.then(
      (value) => kept.set(definition, value),
      () => kept.delete(definition),
    );
  }
  return result;
}

/** Removes fields that a custom kind's wanted version does not have. Defaults are only added on writes. */
function shaped(definition: ResourceDefinition, object: KubeObject): KubeObject {
  if (!isCustom(definition)) return object;
  return deepFreeze(definition.prune(object).value);
}

/** Converts an object from the request's version to the stored version. */
export function toStorage(
  engine: Engine,
  definition: ResourceDefinition,
  object: KubeObject,
): KubeObject | Promise<KubeObject> {
  const storage = isNewEvent(definition)
    ? "v1"
    : groupVersionOf({ group: definition.group, version: definition.storageVersion });
  return object.apiVersion === storage ? object : convert(engine, definition, object, storage);
}

/** Converts many stored objects, with one webhook call instead of one for each. */
export async function listFromStorage(
  engine: Engine,
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
): Promise<readonly KubeObject[]> {
  const wanted = groupVersionOf(definition);
  if (definition.conversion?.strategy !== "Webhook") {
    const { reread } = definition;
    if (reread === undefined && objects.every((object) => object.apiVersion === wanted))
      return objects;
    return objects.map((object) => fromStorage(engine, definition, object) as KubeObject);
  }
  const strange = objects.filter(
    (object) => object.apiVersion !== wanted && !converted.get(object)?.has(definition),
  );
  if (strange.length > 0) {
    const answers = await callWebhook(engine, definition, strange, wanted);
    strange.forEach((object, index) => {
      const versions = converted.get(object) ?? new Map<ResourceDefinition, KubeObject>();
      versions.set(definition, shaped(definition, answers[index] as KubeObject));
      converted.set(object, versions);
    });
  }
  return Promise.all(objects.map((object) => fromStorage(engine, definition, object)));
}

function convert(
  engine: Engine,
  definition: ResourceDefinition,
  object: KubeObject,
  wanted: string,
): KubeObject | Promise<KubeObject> {
  if (definition.conversion?.strategy === "Webhook") {
    return callWebhook(engine, definition, [object], wanted).then((all) => all[0] as KubeObject);
  }
  if (object.kind === "Event") {
    if (wanted === "v1") return deepFreeze(coreEventOf(object));
    if (object.apiVersion === "v1") return deepFreeze(newEventOf(object, wanted));
  }
  if (wanted === "autoscaling/v1") return deepFreeze(olderAutoscalerOf(object));
  if (wanted === "autoscaling/v2") return deepFreeze(newerAutoscalerOf(object));
  return Object.freeze({ ...object, apiVersion: wanted });
}

async function callWebhook(
  engine: Engine,
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  wanted: string,
): Promise<readonly KubeObject[]> {
  const said = (what: string): ApiError => {
    const which = `${objects[0]?.apiVersion}, Kind=${definition.kind}`;
    return new ApiError(500, "", `conversion webhook for ${which} ${what}`);
  };
  const fail = (why: string): ApiError => said(`failed: ${why}`);
  const config = definition.conversion?.webhook;
  if (config === undefined) throw fail("spec.conversion.webhook.clientConfig is not set");
  const uid = engine.random.uuid();
  const review = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "ConversionReview",
    request: { uid, desiredAPIVersion: wanted, objects },
  };
  let answer: unknown;
  try {
    answer = await engine.webhooks(config, review);
  } catch (error) {
    throw fail(errorText(error));
  }
  const response = isObject(answer) ? answer["response"] : undefined;
  if (!isObject(response)) throw fail("the answer has no response");
  const result = response["result"];
  if (!isObject(result) || result["status"] !== "Success") {
    throw fail(String((isObject(result) ? result["message"] : undefined) ?? "no result"));
  }
  const list = response["convertedObjects"];
  if (!Array.isArray(list) || list.length !== objects.length) {
    const count = Array.isArray(list) ? list.length : 0;
    throw said(`returned ${count} objects, expected ${objects.length}`);
  }
  const version = wanted.slice(wanted.indexOf("/") + 1);
  const target = engine.registry.find(definition.group, version, definition.plural);
  return list.map((item: KubeObject, index) => {
    if (item.apiVersion !== wanted) {
      throw said(
        `returned invalid object at index ${index}: invalid groupVersion (expected ${wanted}, received ${item.apiVersion})`,
      );
    }
    // A webhook may change labels and annotations, but no other metadata.
    const original = objects[index] as KubeObject;
    const { labels, annotations } = item.metadata;
    const { labels: _l, annotations: _a, ...rest } = original.metadata;
    // Fields that the wanted version does not have are removed.
    const { value } = target?.prune(item) ?? { value: item };
    return deepFreeze({
      ...value,
      metadata: {
        ...rest,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations }),
      },
    });
  });
}

function isNewEvent(definition: ResourceDefinition): boolean {
  return definition.group === "events.k8s.io";
}
