/**
 * pods/log: the lines of a container as text, or as a stream with `follow`. As in the kubelet, `tailLines`
 * applies first, then `sinceTime` to the lines that are left, then `limitBytes`.
 * upstream: ValidatePodLogOptions in pkg/apis/core/validation, pkg/kubelet/kuberuntime/logs
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { keyOf } from "../../../apis/meta.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import type { KubeResponse, KubeStream } from "../../../kube/transport/transport.ts";
import type { LogLine, LogSource } from "../../log-lines.ts";
import type { Call } from "../engine.ts";
import { int64Of } from "../objects/query-integer.ts";
import { getObject } from "../objects/read.ts";
import { badRequest, invalid } from "../request/status.ts";
import type { FieldError } from "../schema/schema.ts";

interface PodShape extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly { readonly name: string }[];
    readonly initContainers?: readonly { readonly name: string }[];
  };
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly restartCount?: number;
      readonly state?: { readonly waiting?: { readonly reason?: string } };
    }[];
  };
}

/** The options of the request. Undefined: the option is not set. */
interface LogOptions {
  readonly timestamps: boolean;
  readonly previous: boolean;
  readonly follow: boolean;
  readonly tailLines: number | undefined;
  readonly sinceMs: number | undefined;
  readonly limitBytes: number | undefined;
}

const TEXT = { "content-type": "text/plain; charset=utf-8" };

/** Log lines of a container; with `follow`, later lines too. */
export async function readLog(call: Call): Promise<KubeResponse> {
  const pod = (await getObject(call)) as PodShape;
  const { name } = pod.metadata;
  const options = optionsOf(call, name);
  const container = containerOf(call, pod);
  const { source } = call.engine.logs;
  const key = keyOf(pod);
  const lines = source?.lines(key, container, options.previous);
  if (options.previous && lines === undefined)
    throw badRequest(`previous terminated container "${container}" in pod "${name}" not found`);
  if (!pod.spec?.nodeName && lines === undefined) {
    // The pod has no node yet: Kubernetes answers with an empty body.
    return { status: 204, headers: TEXT, body: "" };
  }
  refuseWaiting(pod, container, lines);
  const shown = chosen(lines ?? [], options);
  if (options.follow && !options.previous && source !== undefined) {
    const stream = new LogStream(source, key, container, shown, options);
    return { status: 200, headers: TEXT, stream };
  }
  const text = shown.map((line) => `${printed(line, options)}\n`).join("");
  return { status: 200, headers: TEXT, body: firstBytes(text, options.limitBytes) };
}

function optionsOf({ query, engine }: Call, pod: string): LogOptions {
  const errors: FieldError[] = [];
  const number = (name: string, least: number): number | undefined => {
    const text = query.get(name);
    if (text === null || text === "") return undefined;
    const value = int64Of(text);
    const bound = least === 0 ? "greater than or equal to 0" : "greater than 0";
    if (value < least) errors.push(fieldError(name, `Invalid value: ${value}: must be ${bound}`));
    return value;
  };
  const tailLines = number("tailLines", 0);
  const limitBytes = number("limitBytes", 1);
  const sinceSeconds = number("sinceSeconds", 1);
  const sinceTime = query.get("sinceTime") || undefined;
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    errors.push(
      fieldError("", "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"),
    );
  const timeMs = sinceTime === undefined ? undefined : fromRfc3339(sinceTime);
  if (sinceTime !== undefined && timeMs === undefined)
    throw badRequest(
      `sinceTime: ${JSON.stringify(sinceTime)} is no time such as 2026-01-31T12:00:00Z`,
    );
  if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, pod, errors);
  return {
    timestamps: query.get("timestamps") === "true",
    previous: query.get("previous") === "true",
    follow: query.get("follow") === "true",
    tailLines,
    limitBytes,
    sinceMs: sinceSeconds === undefined ? timeMs : engine.clock.now() - sinceSeconds * 1_000,
  };
}

function fieldError(field: string, message: string): FieldError {
  return { field, reason: "FieldValueInvalid", message };
}

function containerOf(call: Call, pod: PodShape): string {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const names = containers.map(({ name }) => name);
  const asked = call.query.get("container") ?? "";
  const all = [...initContainers.map(({ name }) => name), ...names];
  if (asked !== "") {
    if (all.includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${pod.metadata.name}`);
  }
  if (names.length === 1) return names[0] as string;
  throw badRequest(
    `a container name must be specified for pod ${pod.metadata.name}, choose one of: [${names.join(" ")}]`,
  );
}

/** Throws for a container that has never run; the message says what it waits for. */
function refuseWaiting(
  { metadata, status }: PodShape,
  container: string,
  lines: readonly LogLine[] | undefined,
): void {
  const own = status?.containerStatuses?.find(({ name }) => name === container);
  const reason = own?.state?.waiting?.reason;
  if (reason === undefined || lines !== undefined || (own?.restartCount ?? 0) > 0) return;
  throw badRequest(
    `container "${container}" in pod "${metadata.name}" is waiting to start: ${reason}`,
  );
}

function chosen(lines: readonly LogLine[], { tailLines, sinceMs }: LogOptions): readonly LogLine[] {
  const last = tailLines === undefined ? lines : tailLines === 0 ? [] : lines.slice(-tailLines);
  return sinceMs === undefined ? last : last.filter(({ atMs }) => atMs >= sinceMs);
}

/** The line, after its time in nanoseconds if asked for, as container runtimes write it. */
function printed({ atMs, text }: LogLine, { timestamps }: LogOptions): string {
  return timestamps ? `${new Date(atMs).toISOString().replace("Z", "000000Z")} ${text}` : text;
}

/** The text, cut after `limit` bytes but not inside a character. */
function firstBytes(text: string, limit: number | undefined): string {
  if (limit === undefined) return text;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= limit) return text;
  return new TextDecoder().decode(bytes.subarray(0, limit)).replace(/\ufffd+$/, "");
}

/**
 * A stream of log lines, one line without its line end in each frame. The stream ends with the container, or
 * when enough bytes were sent.
 */
class LogStream implements KubeStream {
  readonly #lines: string[] = [];
  readonly #options: LogOptions;
  readonly #stop: () => void;
  #left: number;
  #wake: (() => void) | undefined;
  #closed = false;
  #hasEnded = false;

  constructor(
    source: LogSource,
    podKey: string,
    container: string,
    lines: readonly LogLine[],
    options: LogOptions,
  ) {
    this.#options = options;
    this.#left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    for (const line of lines) this.#add(line);
    this.#stop = source.follow(podKey, container, {
      line: (line) => {
        this.#add(line);
        this.#notify();
      },
      end: () => {
        this.#hasEnded = true;
        this.#notify();
      },
    });
  }

  close(): void {
    this.#closed = true;
    this.#stop();
    this.#notify();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    try {
      while (!this.#closed) {
        const line = this.#lines.shift();
        if (line !== undefined) yield line;
        else if (this.#hasEnded || this.#left <= 0) return;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.close();
    }
  }

  #add(line: LogLine): void {
    if (this.#left <= 0) return;
    const text = printed(line, this.#options);
    const size = new TextEncoder().encode(text).length + 1;
    this.#lines.push(size > this.#left ? firstBytes(text, this.#left) : text);
    this.#left -= size;
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
