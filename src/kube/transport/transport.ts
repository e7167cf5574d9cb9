/**
 * How a request reaches an API server. Requests and answers are plain values: the HTTP transport
 * turns them into bytes, the in-process one hands them to the sandbox's API server as they are, so a
 * simulated cluster runs without a socket and without serialising anything.
 */

/** A request to the API server, without its address and credentials. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with query: `/api/v1/pods?limit=500`. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value (already parsed), or over HTTP the bytes of a body. Absent = no body. */
  readonly body?: unknown;
  /** The caller can read Kubernetes' protobuf: watch frames, or the body, may come as bytes. */
  readonly takesBytes?: boolean;
}

/** An answer of any HTTP status. */
export interface KubeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON answer, bytes where those were asked for, or text for logs; absent when `stream` is set. Treat as frozen. */
  readonly body?: unknown;
  /** For watches (and followed logs): parsed frames until the server or `close()` ends it. */
  readonly stream?: KubeStream;
}

/** Frames of a long answer. Iteration throws when the connection breaks. `close` is idempotent. */
export interface KubeStream extends AsyncIterable<unknown> {
  close(): void;
}

/** The only way to the API server, so that tests and the sandbox can answer instead. */
export interface Transport {
  /** Rejects only when no answer came (refused, reset, timeout); an HTTP error status is an answer. */
  send(request: KubeRequest): Promise<KubeResponse>;
  /** Frees sockets and timers. */
  close(): void;
}
