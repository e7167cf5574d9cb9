/**
 * How a request is sent to an API server. Requests and answers are plain values. The HTTP transport encodes them. The
 * transport within one process passes them to the sandbox's API server unchanged, without a socket and without
 * serialization.
 */

/** A request to the API server, without its address and credentials. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with query, such as `/api/v1/pods?limit=500`. */
  readonly path: string;
  /** Header names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value, or bytes over HTTP. Absent: there is no body. */
  readonly body?: unknown;
  /** Whether the caller can decode protobuf, so that watch frames or the body may be bytes. */
  readonly takesBytes?: boolean;
}

/** An answer of any HTTP status. */
export interface KubeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The parsed JSON, or bytes if they were requested, or text for logs. Absent if `stream` is set. It must not be
   * changed.
   */
  readonly body?: unknown;
  /** The frames of a watch or of a followed log, until the server or `close()` ends the stream. */
  readonly stream?: KubeStream;
}

/** Frames of a long answer. Iteration throws if the connection breaks. `close` may be called twice. */
export interface KubeStream extends AsyncIterable<unknown> {
  close(): void;
  [Symbol.asyncIterator](): KubeFrames;
}

/** Iterates over the frames of a stream. */
export interface KubeFrames extends AsyncIterator<unknown> {
  /**
   * The next frame, if it came together with an earlier one. Undefined: wait for `next`. So a reader can take frames
   * that arrived together without a promise for each.
   */
  arrived?(): unknown;
}

/** Sends requests to an API server. Tests and the sandbox can replace it. */
export interface Transport {
  /** Sends a request. Rejects only if no answer came (refused, reset, timeout). An HTTP error is an answer. */
  send(request: KubeRequest): Promise<KubeResponse>;
  /** Closes connections and stops timers. */
  close(): void;
}
