/**
 * Writes the Endpoints object and the EndpointSlices of a Service. Both have the Service's labels. Nothing is
 * written if nothing changed.
 */
import { ENDPOINT_SLICE, ENDPOINTS, SERVICE, type Service } from "../../../apis/core/kinds.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import type { Random } from "../../../base/random.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { deleteIfThere } from "../../../kube/client/delete-if-there.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { isAlreadyExists, isNotFound } from "../../../kube/errors.ts";
import { generatedName, ownerReference } from "../controls.ts";
import {
  type Backend,
  type EndpointSlice,
  type Endpoints,
  type Slice,
  slicesOf,
  subsetsOf,
} from "./service-backends.ts";

const SERVICE_NAME = "kubernetes.io/service-name";
const SLICE_MANAGED_BY = {
  "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
};
const MANAGED_BY = { "endpoints.kubernetes.io/managed-by": "endpoint-controller" };
const HEADLESS = "service.kubernetes.io/headless";
const TRIGGERED_AT = "endpoints.kubernetes.io/last-change-trigger-time";
const SLICE = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4" };

/** Writes the Endpoints object. `known` is the present one. */
export async function writeEndpoints(
  kube: KubeClient,
  service: Service,
  backends: readonly Backend[],
  known: Endpoints | undefined,
): Promise<void> {
  const subsets = subsetsOf(backends);
  const labels = { ...labelsOf(service), ...MANAGED_BY };
  if (known === undefined) {
    const { name, namespace } = service.metadata;
    const metadata = { name, ...inNamespace(namespace), labels, ...triggeredBy(service) };
    const filled = subsets.length === 0 ? {} : { subsets };
    return create(kube, ENDPOINTS, { apiVersion: "v1", kind: "Endpoints", metadata, ...filled });
  }
  if (deepEqual(known.subsets ?? [], subsets) && deepEqual(known.metadata.labels, labels)) return;
  const { subsets: _, ...rest } = known;
  const next = { ...rest, metadata: { ...untriggered(known), labels } };
  const filled = subsets.length === 0 ? next : ({ ...next, subsets } as KubeObject);
  await patchObject(kube, ENDPOINTS, known, filled);
}

/** Writes the slices. `known` are the present ones, by name. */
export async function writeSlices(
  { kube, random }: { readonly kube: KubeClient; readonly random: Random },
  service: Service,
  backends: readonly Backend[],
  known: readonly EndpointSlice[],
): Promise<void> {
  const { name, namespace } = service.metadata;
  const labels = { ...labelsOf(service), ...SLICE_MANAGED_BY, [SERVICE_NAME]: name };
  for (const { slice, content } of slicesOf(backends, known)) {
    if (slice === undefined) {
      const metadata = {
        ...generatedName(service, random),
        ...inNamespace(namespace),
        labels,
        ownerReferences: [ownerReference(SERVICE, service)],
        ...triggeredBy(service),
      };
      await create(kube, ENDPOINT_SLICE, { ...SLICE, metadata, ...content });
    } else if (content === undefined) await deleteIfThere(kube, ENDPOINT_SLICE, slice);
    else if (!isSame(slice, content) || !deepEqual(slice.metadata.labels, labels)) {
      const metadata = { ...untriggered(slice), labels };
      await patchObject(kube, ENDPOINT_SLICE, slice, { ...slice, metadata, ...content });
    }
  }
}

async function create(kube: KubeClient, kind: typeof ENDPOINTS, object: KubeObject): Promise<void> {
  try {
    await kube.create(kind, object);
  } catch (error) {
    // A user maintains this object, or the namespace is being deleted.
    if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
  }
}

function isSame(slice: EndpointSlice, content: Slice): boolean {
  return (
    deepEqual(slice.endpoints ?? [], content.endpoints) &&
    deepEqual(slice.ports ?? [], content.ports)
  );
}

function labelsOf({ metadata, spec }: Service): Readonly<Record<string, string>> {
  return { ...metadata.labels, ...(spec?.["clusterIP"] === "None" ? { [HEADLESS]: "" } : {}) };
}

function inNamespace(namespace: string | undefined): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

function triggeredBy({ metadata }: Service): { annotations?: Record<string, string> } {
  const { creationTimestamp } = metadata;
  return creationTimestamp === undefined
    ? {}
    : { annotations: { [TRIGGERED_AT]: creationTimestamp } };
}

function untriggered({ metadata }: KubeObject): KubeObject["metadata"] {
  const { annotations, ...rest } = metadata;
  const { [TRIGGERED_AT]: _, ...others } = annotations ?? {};
  return Object.keys(others).length === 0 ? rest : { ...rest, annotations: others };
}
