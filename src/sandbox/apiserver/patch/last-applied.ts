/**
 * The move from client-side to server-side apply. kubectl's server-side apply may change the fields in the
 * annotation last-applied-configuration without force. It also updates the annotation, for a later
 * client-side apply.
 * upstream: apimachinery pkg/util/managedfields/internal/lastappliedmanager.go, lastappliedupdater.go
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { parseBoundedJson } from "../../../base/bounded-json.ts";
import { canonicalJson, isObject } from "../../../base/json.ts";
import { type Call, groupVersionOf, isCustom } from "../engine.ts";
import { areTooLong } from "../schema/metadata.ts";
import { difference, EMPTY, type FieldSet } from "./field-set.ts";
import { ownable } from "./managed-fields.ts";
import { compare, fieldsOf } from "./typed-value.ts";

/**
 * The name that kubectl's server-side apply uses as manager. Only this manager may take over fields of
 * client-side apply.
 */
const KUBECTL = "kubectl";
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Fields that `manager` may take over without force: they still have the values that kubectl last applied. */
export function lastAppliedFields(call: Call, manager: string, live: KubeObject): FieldSet {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (manager !== KUBECTL || text === undefined) return EMPTY;
  const { definition } = call;
  const last = parsed(text);
  if (last === undefined || last.apiVersion !== groupVersionOf(definition)) return EMPTY;
  const { schema } = definition;
  const { changed, removed } = compare(ownable(last), ownable(live), schema, isCustom(definition));
  return difference(difference(fieldsOf(ownable(last), schema), changed), removed);
}

function parsed(text: string): KubeObject | undefined {
  try {
    const value: unknown = parseBoundedJson(text);
    return isObject(value) && isObject(value["metadata"])
      ? (value as unknown as KubeObject)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * For kubectl, updates the annotation last-applied-configuration if the object has it; removes it if it is too
 * long.
 */
export function withLastApplied(object: KubeObject, manager: string, config: unknown): KubeObject {
  const { annotations } = object.metadata;
  if (manager !== KUBECTL || !annotations?.[LAST_APPLIED]) return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  const noted = { ...others, [LAST_APPLIED]: `${goJson(withoutNote(config as KubeObject))}\n` };
  return {
    ...object,
    metadata: { ...object.metadata, annotations: areTooLong(noted) ? others : noted },
  };
}

function withoutNote(config: KubeObject): KubeObject {
  const { metadata } = config as Partial<KubeObject>;
  if (!metadata?.annotations) return config;
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
  return { ...config, metadata: { ...metadata, annotations } };
}

/** JSON as Go writes it: characters with a meaning in HTML are escaped. */
function goJson(value: unknown): string {
  return canonicalJson(value).replace(
    /[<>&\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
