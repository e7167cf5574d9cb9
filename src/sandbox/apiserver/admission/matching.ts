/**
 * Decides which writes a webhook or policy applies to: by group, version, resource and operation, and by
 * selectors of the object and of its namespace.
 * upstream: apiserver pkg/admission/plugin/webhook/predicates, pkg/admission/plugin/policy/matching
 */
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { KubeObject, LabelSelector } from "../../../apis/meta.ts";
import { within } from "../../../base/within.ts";
import type { Call } from "../engine.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { fromStorage, toStorage } from "../versions/conversion.ts";
import type { Admission } from "./admission-request.ts";

/** Operations and resources that a webhook or policy applies to. `*` matches all. */
export interface Rule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  /** Empty matches every name. Only policies have this field. */
  readonly resourceNames?: readonly string[];
  readonly scope?: string;
}

/** Labels of the namespace and of the object. Missing selectors match everything. */
export interface Selectors {
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

/**
 * The rules of a webhook or policy. With the match policy Equivalent, a rule also matches requests in other versions of
 * its resource.
 */
export interface Rules {
  readonly rules?: readonly Rule[];
  readonly matchPolicy?: "Exact" | "Equivalent";
}

/**
 * The version in which the webhook sees the object: the request's own if a rule names it, else another
 * version of the same resource that a rule names. Undefined if no rule matches.
 */
export function wantedVersion(
  call: Call,
  { rules = [], matchPolicy }: Rules,
  admission: Admission,
): ResourceDefinition | undefined {
  const { definition, engine } = call;
  // Most writes concern no webhook. All versions of a resource have its name, so the other checks can be left out.
  const resource = resourceOf(definition, admission);
  if (!rules.some((rule) => coversResource(rule.resources ?? [], resource))) return undefined;
  if (isRuledIn(call, rules, definition, admission)) return definition;
  if (matchPolicy === "Exact" || admission.kind !== undefined) return undefined;
  return versionsOf(engine.registry.list(), definition).find(
    (other) => other !== definition && isRuledIn(call, rules, other, admission),
  );
}

/** The versions of each resource, by list of kinds and storage key. A list of kinds never changes. */
const versions = new WeakMap<
  readonly ResourceDefinition[],
  ReadonlyMap<string, readonly ResourceDefinition[]>
>();

function versionsOf(
  kinds: readonly ResourceDefinition[],
  { storageKey }: ResourceDefinition,
): readonly ResourceDefinition[] {
  return within(versions, kinds, () => byStorageKey(kinds)).get(storageKey) ?? [];
}

function byStorageKey(
  kinds: readonly ResourceDefinition[],
): ReadonlyMap<string, readonly ResourceDefinition[]> {
  const found = new Map<string, ResourceDefinition[]>();
  for (const kind of kinds) within(found, kind.storageKey, () => []).push(kind);
  return found;
}

function isRuledIn(
  call: Call,
  rules: readonly Rule[],
  definition: ResourceDefinition,
  admission: Admission,
): boolean {
  const { object, old, operation } = admission;
  const resource = resourceOf(definition, admission);
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

/** The resource as rules name it: `pods`, or with its subresource `pods/status`. */
function resourceOf({ plural }: ResourceDefinition, { subresource = "" }: Admission): string {
  return subresource === "" ? plural : `${plural}/${subresource}`;
}

/** True if the object selector matches the new or the old object, and the namespace selector their namespace. */
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

/** The write with its objects converted to `definition`'s version. */
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

/** The object converted from one version of its kind to another. */
export async function inVersion(
  { engine }: Call,
  from: ResourceDefinition,
  to: ResourceDefinition,
  object: KubeObject,
): Promise<KubeObject> {
  if (from === to) return object;
  return fromStorage(engine, to, await toStorage(engine, from, object));
}

/**
 * Whether the selector selects the labels. A missing selector selects everything here, unlike elsewhere in Kubernetes.
 */
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
  if (list.includes(resource) || list.includes("*/*")) return true;
  const slash = resource.indexOf("/");
  if (slash < 0) return list.includes("*") || list.includes(`${resource}/*`);
  return (
    list.includes(`${resource.slice(0, slash)}/*`) || list.includes(`*${resource.slice(slash)}`)
  );
}
