/**
 * The admission plugins about classes:
 * - DefaultStorageClass and DefaultIngressClass set the default class on an object that names none;
 * - PersistentVolumeClaimResize allows a claim to grow if its class allows expansion;
 * - Priority allows only one default PriorityClass.
 * upstream: kubernetes plugin/pkg/admission/{storage,network/defaultingressclass,priority}
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { parseNano } from "../../../base/quantity.ts";
import type { Call } from "../engine.ts";
import { forbidden } from "../request/status.ts";
import type { StoreReader } from "../resource-definition.ts";
import type { Admission } from "./admission-request.ts";

const STORAGE_CLASSES = "storage.k8s.io/storageclasses";
const CLASS_OF_OLD = "volume.beta.kubernetes.io/storage-class";

interface Claim extends KubeObject {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: { readonly storage?: string } };
  };
}

interface Ingress extends KubeObject {
  readonly spec?: { readonly ingressClassName?: string };
}

interface StorageClass extends KubeObject {
  readonly allowVolumeExpansion?: boolean;
}

interface PriorityClass extends KubeObject {
  readonly globalDefault?: boolean;
}

/** Sets the default class on a new claim that names none, if a default class exists. */
export function withDefaultStorageClass(call: Call, claim: Claim): Claim {
  if (classOf(claim) !== undefined) return claim;
  const annotation = "storageclass.kubernetes.io/is-default-class";
  const storageClassName = defaultClass(call.engine.store, STORAGE_CLASSES, annotation);
  return storageClassName === undefined
    ? claim
    : { ...claim, spec: { ...claim.spec, storageClassName } };
}

/**
 * Sets the default class on a new Ingress that has neither the field nor the annotation, if a default class
 * exists.
 */
export function withDefaultIngressClass(call: Call, ingress: Ingress): Ingress {
  const { spec, metadata } = ingress;
  if (spec?.ingressClassName !== undefined) return ingress;
  if (metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined) return ingress;
  const annotation = "ingressclass.kubernetes.io/is-default-class";
  const storageKey = "networking.k8s.io/ingressclasses";
  const ingressClassName = defaultClass(call.engine.store, storageKey, annotation);
  return ingressClassName === undefined
    ? ingress
    : { ...ingress, spec: { ...spec, ingressClassName } };
}

/** The newest default class; among equally old ones the first by name. */
function defaultClass(
  store: StoreReader,
  storageKey: string,
  annotation: string,
): string | undefined {
  const timeOf = ({ metadata }: KubeObject): string => metadata.creationTimestamp ?? "";
  const [first] = store
    .list(storageKey)
    .objects.filter(({ metadata }) => metadata.annotations?.[annotation] === "true")
    .toSorted((a, b) => {
      if (timeOf(a) !== timeOf(b)) return timeOf(a) > timeOf(b) ? -1 : 1;
      return a.metadata.name < b.metadata.name ? -1 : 1;
    });
  return first?.metadata.name;
}

/** Throws 403 for a claim that requests more space than before, unless its class allows expansion. */
export function checkGrowth({ definition, engine }: Call, admission: Admission): void {
  const { operation, object, old, subresource = "" } = admission;
  if (definition.storageKey !== "persistentvolumeclaims") return;
  if (operation !== "UPDATE" || subresource !== "" || object === undefined) return;
  if (sizeOf(object) <= sizeOf(old)) return;
  const { name } = object.metadata;
  const phase = (old as { status?: { phase?: string } } | undefined)?.status?.phase;
  if (phase !== "Bound")
    throw forbidden(definition, name, "Only bound persistent volume claims can be expanded");
  const wanted = classOf(object) ?? "";
  const isKept = wanted !== "" && wanted === classOf(old);
  const found: StorageClass | undefined = engine.store.get(STORAGE_CLASSES, undefined, wanted);
  if (isKept && found?.allowVolumeExpansion === true) return;
  const text =
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
  throw forbidden(definition, name, text);
}

function sizeOf(claim: Claim | undefined): bigint {
  return parseNano(claim?.spec?.resources?.requests?.storage ?? "0") ?? 0n;
}

function classOf(claim: Claim | undefined): string | undefined {
  return claim?.metadata.annotations?.[CLASS_OF_OLD] ?? claim?.spec?.storageClassName;
}

/** Throws 403 for a second PriorityClass with `globalDefault: true`. */
export function checkDefaultPriority({ definition, engine }: Call, admission: Admission): void {
  const { operation, object } = admission;
  if (definition.storageKey !== "scheduling.k8s.io/priorityclasses") return;
  if (operation !== "CREATE" && operation !== "UPDATE") return;
  const wanted = object as PriorityClass | undefined;
  if (wanted?.globalDefault !== true) return;
  const all: readonly PriorityClass[] = engine.store.list(definition.storageKey).objects;
  const other = all.find(
    ({ globalDefault, metadata }) =>
      globalDefault === true && (operation === "CREATE" || metadata.name !== wanted.metadata.name),
  );
  if (other === undefined) return;
  const text = `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`;
  throw forbidden(definition, wanted.metadata.name, text);
}
