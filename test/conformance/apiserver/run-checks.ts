/**
 * Sends the steps of checks to a server and returns its normalised answers. Each check has a namespace named after
 * it. Objects without a namespace carry the check's name too; the check's author sees to that.
 */
import type { KubeObject } from "../../../src/apis/meta.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { KubeResponse, KubeStream, Transport } from "../../../src/kube/transport/transport.ts";
import type { Check, Step } from "./check.ts";
import { Normaliser } from "./normalise.ts";
import type { WebhookServer } from "./webhook-server.ts";

/** A recorded answer. */
export interface Answer {
  readonly status: number;
  /** The values of the answer's Warning headers. */
  readonly warning?: string;
  readonly body: unknown;
}

const AS_CHECKS = { "user-agent": "conformance/1.0" };
const LIMIT_MS = 20_000;
const POLL_MS = 50;

/** A server that checks are sent to. */
export interface Subject {
  readonly transport: Transport;

  /** The server drops its history, so that watches from older versions fail. */
  forget(): Promise<void>;
}

export async function runCheck(
  { transport, forget }: Subject,
  clock: Clock,
  { id, steps }: Check,
  webhooks: Pick<WebhookServer, "url" | "caBundle">,
): Promise<readonly Answer[]> {
  const namespace = `check-${id.toLowerCase()}`;
  const answers = new Map<string, unknown>([
    ["ns", namespace],
    ["webhooks", webhooks],
  ]);
  const normaliser = new Normaliser(webhooks);
  await transport.send({
    method: "POST",
    path: "/api/v1/namespaces",
    headers: AS_CHECKS,
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  });
  // Before the namespace has this account, no pod can be created.
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  await answerOf(transport, clock, { method: "GET", path: account, until: 200 });
  const recorded: Answer[] = [];
  for (const template of steps) {
    const step = fill(template, answers) as Step;
    const { generateName } = (step.body as KubeObject | undefined)?.metadata ?? {};
    if (generateName !== undefined) normaliser.expectNames(generateName);
    if (step.forgets === true) await forget();
    const { status, headers, body } = await answerOf(transport, clock, step);
    if (step.as !== undefined) answers.set(step.as, body);
    const warning = headers["warning"];
    recorded.push({
      status,
      ...(warning === undefined ? {} : { warning }),
      body: normaliser.answer(body),
    });
  }
  return recorded;
}

async function answerOf(transport: Transport, clock: Clock, step: Step): Promise<KubeResponse> {
  const deadlineMs = clock.now() + LIMIT_MS;
  for (;;) {
    const answer = await send(transport, clock, step);
    const has = (text: string): boolean => JSON.stringify(answer.body).includes(text);
    const waits =
      (step.until !== undefined && answer.status !== step.until) ||
      (step.untilText !== undefined && !has(step.untilText)) ||
      (step.untilNoText !== undefined && has(step.untilNoText));
    if (!waits || clock.now() > deadlineMs) return answer;
    await clock.sleep(POLL_MS);
  }
}

async function send(transport: Transport, clock: Clock, step: Step): Promise<KubeResponse> {
  const { method, path } = step;
  const body = step.raw === undefined ? step.body : Buffer.from(step.raw, "base64");
  const headers = { ...AS_CHECKS, ...step.headers };
  const answer = await transport.send({
    method,
    path,
    headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
  });
  if (answer.stream === undefined) return answer;
  const frames = await collect(answer.stream, clock, step.frames ?? 1);
  return { status: answer.status, headers: answer.headers, body: frames };
}

async function collect(stream: KubeStream, clock: Clock, count: number): Promise<unknown[]> {
  const frames: unknown[] = [];
  const timer = clock.after(3_000, () => stream.close());
  for await (const frame of stream) {
    frames.push(frame);
    if (frames.length >= count) break;
  }
  timer.cancel();
  stream.close();
  return frames;
}

/** Replaces `<<...>>` in every string of a step by values of earlier answers. */
function fill(value: unknown, answers: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string")
    return value.replaceAll(/<<([^>]+)>>/g, (_, path: string) => valueAt(path, answers));
  if (Array.isArray(value)) return value.map((item) => fill(item, answers));
  if (typeof value !== "object" || value === null) return value;
  // Leaves out fields without a value, as JSON does.
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([key, field]) => [key, fill(field, answers)]));
}

function valueAt(path: string, answers: ReadonlyMap<string, unknown>): string {
  const [name = "", ...fields] = path.split(".");
  let value = answers.get(name);
  for (const field of fields) value = (value as Record<string, unknown> | undefined)?.[field];
  return String(value);
}
