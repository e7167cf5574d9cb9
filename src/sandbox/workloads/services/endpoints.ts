/**
 * Writes the pods of each Service, whether they are ready, and their ports, as EndpointSlices and, for older
 * clients, as an Endpoints object. The sandbox routes no traffic; the objects are only there to be read.
 * upstream: kubernetes pkg/controller/endpoint, pkg/controller/endpointslice
 */
import { ENDPOINT_SLICE, ENDPOINTS, SERVICE, type Service } from "../../../apis/core/kinds.ts";
import { NODE } from "../../../apis/core/node.ts";
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { matchesLabels } from "../../../apis/core/selectors.ts";
import { controllerOf } from "../../../apis/meta.ts";
import { deleteIfThere } from "../../../kube/client/delete-if-there.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { type PartDeps, podMirror } from "../../parts.ts";
import { pacerOf } from "../controls.ts";
import {
  backendOf,
  type EndpointSlice,
  type Endpoints,
  type ServicePort,
} from "./service-backends.ts";
import { writeEndpoints, writeSlices } from "./service-writes.ts";

/** Milliseconds of pause for each pod: a Service with 1,000 pods is reconciled every 100 ms at most. */
const PACE_MS_PER_POD = 0.1;

/** Keeps Endpoints and EndpointSlices of Services. */
export function endpointsController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const services = mirrors.of(SERVICE);
  const endpoints = mirrors.of(ENDPOINTS);
  const slices = mirrors.of(ENDPOINT_SLICE);
  const nodes = mirrors.of(NODE);
  const pods = podMirror(mirrors);
  const random = deps.random.fork("endpoints");
  const pacer = pacerOf(services, PACE_MS_PER_POD);
  const counts = new Map<string, number>();

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const key = `${namespace}/${name}`;
    const service = services.get(key);
    if (service === undefined) {
      counts.delete(key);
      const left = endpoints.get(key);
      if (left !== undefined) await deleteIfThere(kube, ENDPOINTS, left);
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
    const known = endpoints.get(key) as Endpoints | undefined;
    await writeEndpoints(kube, service, backends, known);
    await writeSlices({ kube, random }, service, backends, ownSlices(service));
    return AWAIT_CHANGE;
  }

  function ownSlices(service: Service): readonly EndpointSlice[] {
    return slices
      .list()
      .filter((slice) => controllerOf(slice)?.uid === service.metadata.uid)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)) as EndpointSlice[];
  }

  function selecting(pod: Pod): Request[] {
    const { namespace, labels } = pod.metadata;
    return services
      .list()
      .filter(({ metadata }) => metadata.namespace === namespace)
      .filter(({ spec }) => Object.keys(spec?.selector ?? {}).length > 0)
      .filter(({ spec }) => matchesLabels(spec?.selector, labels))
      .map((service) => requestFor("Service", service));
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

/** Whether the change of a pod makes no difference to Services. */
function isUnmoved(before: Pod, after: Pod): boolean {
  return (
    before.metadata.labels === after.metadata.labels &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    before.status?.phase === after.status?.phase &&
    before.status?.["podIP"] === after.status?.["podIP"] &&
    isReady(before) === isReady(after)
  );
}
