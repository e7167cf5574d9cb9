/**
 * The interface of the embedded API server. `handle` is the whole server as one function. The in-process transport
 * calls it directly, and the HTTPS listener calls it for each request.
 */

import type { KubeRequest, KubeResponse, Transport } from "../../kube/transport/transport.ts";
import type { LogSource } from "../log-lines.ts";

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

/** The simulated kube-apiserver: one function from request to answer. */
export interface ApiServer {
  /** Answers one request. Never rejects: what goes wrong inside is a 500 Status. */
  handle(request: IncomingRequest, user: User): Promise<KubeResponse>;
  /** Who a service account's token belongs to; undefined when it is not (or no longer) good. */
  authenticate(token: string): User | undefined;
  /** The in-process transport for `user`. */
  transport(user: User): Transport;
  /** Where `pods/log` texts come from: the kubelet's and the operator's lines by pod key. */
  setLogSource(source: LogSource): void;
  close(): void;
}
