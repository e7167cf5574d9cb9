/**
 * A conformance check is a sequence of requests as data, sent to a real kube-apiserver and to the sandbox's
 * server. Strings of a step may name earlier answers: `<<ns>>` is the check's own namespace,
 * `<<made.metadata.uid>>` a field of the answer of the step called `made`.
 */

export interface Check {
  /** `CM-01`, as docs/reference/differences.md names the check. */
  readonly id: string;
  readonly title: string;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** A body that is not JSON, in base64. A server in this process does not get such steps. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name of the answer, by which later steps refer to it. */
  readonly as?: string;
  /** Repeats the request until the answer has this status. It is for effects of controllers. */
  readonly until?: number;
  /** A watch: this many frames are awaited. */
  readonly frames?: number;
  /** Repeats the request until the answer has this text in it. */
  readonly untilText?: string;
  /** Repeats the request as long as the answer has this text in it. */
  readonly untilNoText?: string;
  /** Before this step the server drops its history: watches from older versions fail. */
  readonly forgets?: boolean;
}

type More = Pick<
  Step,
  "as" | "until" | "frames" | "headers" | "untilText" | "untilNoText" | "forgets"
>;

export function check(id: string, title: string, ...steps: readonly Step[]): Check {
  return { id, title, steps };
}

export function get(path: string, more: More = {}): Step {
  return { method: "GET", path, ...more };
}

export function post(path: string, body: unknown, more: More = {}): Step {
  return { method: "POST", path, body, ...more };
}

export function put(path: string, body: unknown, more: More = {}): Step {
  return { method: "PUT", path, body, ...more };
}

export function del(path: string, body?: unknown, more: More = {}): Step {
  return { method: "DELETE", path, ...(body === undefined ? {} : { body }), ...more };
}

export function mergePatch(path: string, body: unknown, more: More = {}): Step {
  return patch(path, "application/merge-patch+json", body, more);
}

export function strategicPatch(path: string, body: unknown, more: More = {}): Step {
  return patch(path, "application/strategic-merge-patch+json", body, more);
}

export function jsonPatch(path: string, body: unknown, more: More = {}): Step {
  return patch(path, "application/json-patch+json", body, more);
}

/** A step with a server-side apply. The path needs its query (`?fieldManager=a`). */
export function apply(path: string, body: unknown, more: More = {}): Step {
  return patch(path, "application/apply-patch+yaml", body, more);
}

/** Sends these bytes as a body of this type. */
export function postRaw(path: string, contentType: string, bytes: Uint8Array | string): Step {
  const raw = Buffer.from(bytes as string).toString("base64");
  return { method: "POST", path, raw, headers: { "content-type": contentType } };
}

function patch(path: string, contentType: string, body: unknown, more: More): Step {
  return {
    method: "PATCH",
    path,
    body,
    ...more,
    headers: { ...more.headers, "content-type": contentType },
  };
}

/** Headers that ask for the table which kubectl shows. */
export const AS_TABLE = {
  accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
} as const;
/** Headers that ask for metadata only, for clients that need nothing else. */
export const AS_METADATA = {
  accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
} as const;
export const AS_METADATA_LIST = {
  accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
} as const;
