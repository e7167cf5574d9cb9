/**
 * pods/log: lines of the log source, as text or, followed, as a stream of lines. The source knows no
 * times, so the options about time are answered with a warning and all lines.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { keyOf } from "../../../apis/meta.ts";
import type { KubeResponse, KubeStream } from "../../../kube/transport/transport.ts";
import type { LogSource } from "../api-server.ts";
import type { Call } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { badRequest } from "../request/status.ts";

interface PodShape extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly { readonly name: string }[];
    readonly initContainers?: readonly { readonly name: string }[];
  };
}

const TEXT = { "content-type": "text/plain; charset=utf-8" };

export async function readLog(call: Call): Promise<KubeResponse> {
  const pod = (await getObject(call)) as PodShape;
  const container = containerOf(call, pod);
  const { name } = pod.metadata;
  if (call.query.get("previous") === "true") {
    throw badRequest(`previous terminated container "${container}" in pod "${name}" not found`);
  }
  for (const option of ["sinceSeconds", "sinceTime", "timestamps"]) {
    const value = call.query.get(option);
    if (value !== null && value !== "false") {
      call.warnings.push(`${option} has no effect: log lines of the sandbox carry no server time`);
    }
  }
  const { source } = call.engine.logs;
  const key = keyOf(pod);
  const lines = source?.lines(key);
  if (!pod.spec?.nodeName && lines === undefined) {
    // Nobody runs it yet: Kubernetes has nowhere to ask and answers with nothing.
    return { status: 204, headers: TEXT, body: "" };
  }
  const shown = lastLines(call, lines ?? []);
  if (call.query.get("follow") === "true" && source !== undefined) {
    return { status: 200, headers: TEXT, stream: new LogStream(source, key, shown) };
  }
  const text = shown.map((line) => `${line}\n`).join("");
  const limit = Number(call.query.get("limitBytes") ?? 0);
  return { status: 200, headers: TEXT, body: limit > 0 ? text.slice(0, limit) : text };
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

function lastLines(call: Call, lines: readonly string[]): readonly string[] {
  const text = call.query.get("tailLines");
  if (text === null) return lines;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) {
    throw badRequest(`tailLines: Invalid value: ${JSON.stringify(text)}: must be 0 or more`);
  }
  return count === 0 ? [] : lines.slice(-count);
}

/** Each frame is one line without its end. */
class LogStream implements KubeStream {
  readonly #lines: string[];
  #wake: (() => void) | undefined;
  #closed = false;
  readonly #stop: () => void;

  constructor(source: LogSource, podKey: string, lines: readonly string[]) {
    this.#lines = [...lines];
    this.#stop = source.follow(podKey, (line) => {
      this.#lines.push(line);
      this.#notify();
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

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
