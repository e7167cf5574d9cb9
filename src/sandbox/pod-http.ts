/** Requests and connections to ports of pods, as the API server hands them on. */
import type { Duplex } from "node:stream";
import type { KubeResponse } from "../kube/transport/transport.ts";

/** A request to a pod. */
export interface PodRequest {
  /** The pod as `namespace/name`. */
  readonly pod: string;
  /** The port of the pod. Undefined: its first port. */
  readonly port: string | undefined;
  /** The path of the request, such as `/metrics`. */
  readonly path: string;
}

/** Answers for pods whose processes run outside of the sandbox. Undefined: none runs for this pod. */
export type PodHttp = (request: PodRequest) => Promise<KubeResponse | undefined>;

/**
 * Connects to a port of a pod whose process runs outside of the sandbox. Rejects if nothing listens on the
 * port.
 */
export type PodConnect = (pod: string, port: number) => Promise<Duplex>;
