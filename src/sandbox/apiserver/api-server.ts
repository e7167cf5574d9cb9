/**
 * The interface of the embedded API server. `handle` is the whole server as one function. The in-process transport
 * calls it directly, and the HTTPS listener calls it for each request.
 */

import type { Duplex } from "node:stream";
import type { KubeRequest, KubeResponse, Transport } from "../../kube/transport/transport.ts";
import type { LogSource } from "../log-lines.ts";
import type { NodeLeases } from "../node-leases.ts";
import type { PodConnect, PodHttp } from "../pod-http.ts";

/** The caller. The admin token belongs to `system:masters`; other users have the rights of their roles. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A request whose body may still be on its way. */
export interface IncomingRequest extends KubeRequest {
  /**
   * Reads and parses the body, within the listener's limits. Called at most once, and only after the user was
   * authorized: a user without rights cannot make the server read or parse anything. Rejects with ApiError.
   */
  readonly readBody?: () => Promise<unknown>;
}

/**
 * An answer. An answer to a port-forward (status 101) also has the function that connects to ports of the pod.
 */
export interface ApiAnswer extends KubeResponse {
  readonly connect?: (port: number) => Promise<Duplex>;
}

/** The simulated kube-apiserver: one function from request to answer. */
export interface ApiServer {
  /** The Leases of nodes, for the simulated kubelets. */
  readonly nodeLeases: NodeLeases;
  /** Answers one request. Never rejects: an internal error is answered with a Status of code 500. */
  handle(request: IncomingRequest, user: User): Promise<ApiAnswer>;
  /** The user of a service account's token; undefined if the token is not valid (any more). */
  authenticate(token: string): User | undefined;
  /** The in-process transport for `user`. */
  transport(user: User): Transport;
  /** Sets the source of `pods/log`: log lines of the kubelet and the operator, by pod key. */
  setLogSource(source: LogSource): void;
  /** Sets the server for `pods/proxy`: processes of pods that run outside of the sandbox. */
  setPodHttp(http: PodHttp): void;
  /** Sets the function that connects `pods/portforward` to processes of pods outside of the sandbox. */
  setPodConnect(connect: PodConnect): void;
  close(): void;
}
