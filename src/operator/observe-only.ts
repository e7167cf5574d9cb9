/**
 * Implements `--observe-only`: the controller decides, reports its decisions by events and metrics, and changes
 * nothing. Three checks ensure that. Only listed controllers run. The cloud provider launches and terminates nothing. A
 * request that would write anything but an Event is refused within the process. It uses no Lease, so it can run next to
 * a working Karpenter.
 */
import type { CloudProvider } from "../core/cloudprovider/cloud-provider.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { KubeRequest, KubeResponse, Transport } from "../kube/transport/transport.ts";

/** The text at the beginning of each event's message. */
const OBSERVED = "Observe only: ";
/** The source of the events under `--observe-only`. It distinguishes them from those of the working Karpenter. */
export const OBSERVER_COMPONENT = "karpenter-observe-only";

/** The controllers that run. All others, including new ones, do not. */
const RUNS =
  /^(state\..*|metrics\..*|provisioner(\..*)?|disruption|nodeoverlay\.controller|cloudprovider\.metrics|providers\.pricing|providers\.instancetype\.capacity|logging\.config)$/;

/** Whether a controller of this name runs. */
export function isObserver(controller: string): boolean {
  return RUNS.test(controller);
}

/** A transport that reads everything, but writes nothing except Events. */
export function observing(transport: Transport): Transport {
  return {
    close: () => transport.close(),
    send: async (request) => (changesNothing(request) ? transport.send(request) : refused(request)),
  };
}

function changesNothing({ method, path }: KubeRequest): boolean {
  if (method === "GET") return true;
  const [route = ""] = path.split("?");
  const isEvent =
    /^\/(api\/v1|apis\/events\.k8s\.io\/v1)\/namespaces\/[^/]+\/events(\/[^/]+)?$/.test(route);
  return isEvent && (method === "POST" || method === "PATCH");
}

function refused({ method, path }: KubeRequest): KubeResponse {
  const message = `${method} ${path.split("?")[0]} is not sent: the controller runs with --observe-only`;
  return {
    status: 403,
    headers: { "content-type": "application/json" },
    body: { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", message },
  };
}

/** The cloud provider with `create`, `takeOver`, `delete` and `reboot` replaced by functions that throw. */
export function observedCloud(cloud: CloudProvider): CloudProvider {
  const no = async (): Promise<never> => {
    throw new Error("the cloud is not asked: the controller runs with --observe-only");
  };
  return { ...cloud, create: no, takeOver: no, delete: no, reboot: no };
}

/** An event recorder that marks the message of every event as "Observe only". */
export function markedEvents(events: EventRecorder): EventRecorder {
  return {
    publish: (...given) =>
      events.publish(
        ...given.map((event) => ({ ...event, message: `${OBSERVED}${event.message}` })),
      ),
  };
}

/** A client of one AWS service that makes only calls that read. All other calls throw. */
export function readingOnly<T extends object>(service: T): T {
  return new Proxy(service, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function" || /^(describe|get|list)/.test(String(name))) {
        return typeof value === "function" ? value.bind(target) : value;
      }
      return async () => {
        throw new Error(`${String(name)} is not called: the controller runs with --observe-only`);
      };
    },
  });
}
