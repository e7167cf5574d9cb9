/**
 * Who stands behind a Service: its ready pods and their ports, as EndpointSlices and, for older clients, as an
 * Endpoints object of the Service's name. Nobody routes by them in the sandbox; they are there to be looked at.
 * upstream: kubernetes pkg/controller/endpoint, pkg/controller/endpointslice
 */
import { ENDPOINT_SLICE, ENDPOINTS, SERVICE, type Service } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import { matchesLabels } from "../../apis/core/selectors.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { controllerOf } from "../../apis/meta.ts";
import { deepEqual } from "../../base/json.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { isAlreadyExists, isNotFound } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { type PartDeps, podMirror } from "../parts.ts";
import { ownerReference, Pacer } from "./controls.ts";
import {
  type Backend,
  backendOf,
  type EndpointSlice,
  type Endpoints,
  type ServicePort,
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
/** A Service of 1,000 pods is looked at every tenth of a second at most. */
const PACE_MS_PER_POD = 0.1;

export function endpointsController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const services = mirrors.of(SERVICE);
  const endpoints = mirrors.of(ENDPOINTS);
  const slices = mirrors.of(ENDPOINT_SLICE);
  const nodes = mirrors.of(NODE);
  const pods = podMirror(mirrors);
  const random = deps.random.fork("endpoints");
  const pacer = new Pacer(PACE_MS_PER_POD);
  const counts = new Map<string, number>();
  services.on((event, service) => {
    if (event === "removed") pacer.forget(service);
  });

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const key = `${namespace}/${name}`;
    const service = services.get(key);
    if (service === undefined) {
      counts.delete(key);
      await remove(ENDPOINTS, endpoints.get(key));
      return AWAIT_CHANGE;
    }
    const { selector = {}, type } = service.spec ?? {};
    if (Object.keys(selector).length === 0 || type === "ExternalName") return AWAIT_CHANGE;
    const waitMs = pacer.waitMs(service, counts.get(key) ?? 0, clock.now());
    if (waitMs > 0) return requeueAfter(waitMs);
    const ports = (service.spec?.["ports"] ?? []) as readonly ServicePort[];
    const backends = pods
      .list()
      .filter(({ metadata }) => metadata.namespace === namespace)
      .filter(({ metadata }) => matchesLabels(selector, metadata.labels))
      .map((pod) => backendOf(pod, ports, nodes.get(pod.spec.nodeName ?? "")))
      .filter((one) => one !== undefined)
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    counts.set(key, backends.length);
    await writeEndpoints(service, backends);
    await writeSlices(service, backends);
    return AWAIT_CHANGE;
  }

  async function writeEndpoints(service: Service, backends: readonly Backend[]): Promise<void> {
    const { name, namespace } = service.metadata;
    const subsets = subsetsOf(backends);
    const labels = { ...labelsOf(service), ...MANAGED_BY };
    const known = endpoints.get(`${namespace}/${name}`) as Endpoints | undefined;
    if (known === undefined) {
      await create(ENDPOINTS, {
        apiVersion: "v1",
        kind: "Endpoints",
        metadata: { name, ...inNamespace(namespace), labels, ...triggeredBy(service) },
        ...(subsets.length === 0 ? {} : { subsets }),
      });
      return;
    }
    if (deepEqual(known.subsets ?? [], subsets) && deepEqual(known.metadata.labels, labels)) return;
    const { subsets: _, ...rest } = known;
    const next = { ...rest, metadata: { ...untriggered(known), labels } };
    await patchObject(
      kube,
      ENDPOINTS,
      known,
      subsets.length === 0 ? next : ({ ...next, subsets } as KubeObject),
    );
  }

  async function writeSlices(service: Service, backends: readonly Backend[]): Promise<void> {
    const known = slices
      .list()
      .filter((slice) => controllerOf(slice)?.uid === service.metadata.uid)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)) as EndpointSlice[];
    const wanted = slicesOf(backends, known);
    const labels = {
      ...labelsOf(service),
      ...SLICE_MANAGED_BY,
      [SERVICE_NAME]: service.metadata.name,
    };
    const { name, namespace } = service.metadata;
    for (const { slice, content } of wanted) {
      if (slice === undefined) {
        const generateName = `${name}-`;
        const metadata = {
          generateName,
          name: generateName + random.suffix(),
          ...inNamespace(namespace),
          labels,
          ownerReferences: [ownerReference(SERVICE, service)],
          ...triggeredBy(service),
        };
        await create(ENDPOINT_SLICE, { ...SLICE, metadata, ...content });
      } else if (content === undefined) await remove(ENDPOINT_SLICE, slice);
      else if (!isSame(slice, content) || !deepEqual(slice.metadata.labels, labels)) {
        const metadata = { ...untriggered(slice), labels };
        await patchObject(kube, ENDPOINT_SLICE, slice, { ...slice, metadata, ...content });
      }
    }
  }

  async function create(kind: typeof ENDPOINTS, object: KubeObject): Promise<void> {
    try {
      await kube.create(kind, object);
    } catch (error) {
      // Somebody keeps it by hand, or its namespace goes.
      if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
    }
  }

  async function remove(kind: typeof ENDPOINTS, object: KubeObject | undefined): Promise<void> {
    if (object === undefined) return;
    const { name, namespace } = object.metadata;
    try {
      await kube.delete(kind, { name, namespace });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  function selecting(pod: Pod): Request[] {
    const { namespace, labels } = pod.metadata;
    return services
      .list()
      .filter(({ metadata }) => metadata.namespace === namespace)
      .filter(({ spec }) => Object.keys(spec?.selector ?? {}).length > 0)
      .filter(({ spec }) => matchesLabels(spec?.selector, labels))
      .map(({ metadata }) => ({ kind: "Service", namespace, name: metadata.name }));
  }

  return {
    name: "endpoints",
    watches: [
      source(SERVICE),
      source(POD, (pod, event, before) =>
        event === "updated" && before !== undefined && isUnmoved(before, pod)
          ? []
          : [...selecting(pod), ...(before === undefined ? [] : selecting(before))],
      ),
    ],
    concurrency: 2,
    reconcile,
  };
}

const SLICE = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4" };

/** Nothing changed that a Service would notice. */
function isUnmoved(before: Pod, after: Pod): boolean {
  return (
    before.metadata.labels === after.metadata.labels &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    before.status?.phase === after.status?.phase &&
    before.status?.["podIP"] === after.status?.["podIP"] &&
    isReady(before) === isReady(after)
  );
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
