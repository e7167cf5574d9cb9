/**
 * Which writes a webhook or a policy is about: rules of groups, versions, resources and operations, and selectors of
 * the object and of its namespace.
 * upstream: apiserver pkg/admission/plugin/webhook/predicates, pkg/admission/plugin/policy/matching
 */
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { KubeObject, LabelSelector } from "../../../apis/meta.ts";
import type { Call } from "../engine.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { fromStorage, toStorage } from "../versions/conversion.ts";
import type { Admission } from "./admission-request.ts";

/** Which operations and resources a webhook is about. `*` matches all. */
export interface Rule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  /** Empty: any. Webhooks cannot name any. */
  readonly resourceNames?: readonly string[];
  readonly scope?: string;
}

/** Labels of the namespace and of the object. Missing selectors match everything. */
export interface Selectors {
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

/** With the match policy Equivalent a request in another version of the resource matches too. */
export interface Rules {
  readonly rules?: readonly Rule[];
  readonly matchPolicy?: "Exact" | "Equivalent";
}

/** The request's own version if a rule names it, else another of the same resource that one names. */
export function wantedVersion(
  call: Call,
  { rules = [], matchPolicy }: Rules,
  admission: Admission,
): ResourceDefinition | undefined {
  const { definition, engine } = call;
  if (isRuledIn(call, rules, definition, admission)) return definition;
  if (matchPolicy === "Exact" || admission.kind !== undefined) return undefined;
  return engine.registry
    .list()
    .find(
      (other) =>
        other.storageKey === definition.storageKey &&
        other !== definition &&
        isRuledIn(call, rules, other, admission),
    );
}

function isRuledIn(
  call: Call,
  rules: readonly Rule[],
  definition: ResourceDefinition,
  { object, old, operation, subresource = "" }: Admission,
): boolean {
  const resource = subresource === "" ? definition.plural : `${definition.plural}/${subresource}`;
  const name = call.path.name ?? (object ?? old)?.metadata.name ?? "";
  return rules.some(
    (rule) =>
      includes(rule.operations, operation) &&
      includes(rule.apiGroups, definition.group) &&
      includes(rule.apiVersions, definition.version) &&
      coversResource(rule.resources ?? [], resource) &&
      ((rule.resourceNames ?? []).length === 0 || rule.resourceNames?.includes(name) === true) &&
      (rule.scope === undefined ||
        rule.scope === "*" ||
        (rule.scope === "Namespaced") === definition.namespaced),
  );
}

/** True if both selectors match the new or the old object. */
export function selectsObject(call: Call, selectors: Selectors, admission: Admission): boolean {
  const { definition, engine, path } = call;
  const labels = [admission.object, admission.old]
    .filter((object) => object !== undefined)
    .map((object) => object.metadata.labels ?? {});
  if (!labels.some((each) => selects(selectors.objectSelector, each))) return false;
  if (definition.kind === "Namespace" && definition.group === "") {
    const itself = admission.object ?? admission.old;
    return selects(selectors.namespaceSelector, itself?.metadata.labels ?? {});
  }
  if (path.namespace === undefined) return true;
  const stored = engine.store.get("namespaces", undefined, path.namespace);
  return selects(selectors.namespaceSelector, stored?.metadata.labels ?? {});
}

/** The objects of the request in `definition`'s version. */
export async function asWanted(
  call: Call,
  definition: ResourceDefinition,
  admission: Admission,
): Promise<Admission> {
  if (definition === call.definition) return admission;
  const shown = async (object: KubeObject | undefined): Promise<KubeObject | undefined> =>
    object === undefined ? undefined : inVersion(call, call.definition, definition, object);
  const { object, old } = admission;
  return { ...admission, object: await shown(object), old: await shown(old) };
}

/** The object in another version of its kind, converted. */
export async function inVersion(
  { engine }: Call,
  from: ResourceDefinition,
  to: ResourceDefinition,
  object: KubeObject,
): Promise<KubeObject> {
  if (from === to) return object;
  return fromStorage(engine, to, await toStorage(engine, from, object));
}

/** Unlike other selectors, a missing one matches everything here. */
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
