/**
 * The webhooks that the checks configure: a real HTTPS server that both kube-apiserver and the sandbox call. The
 * last part of the path says what the webhook does.
 */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { makeIdentity } from "../../../src/sandbox/apiserver/https/certificates.ts";

export interface WebhookServer {
  /** The address of the server, such as `https://127.0.0.1:40123`. */
  readonly url: string;
  /** Base64 of the authority's certificate, as a caBundle is written. */
  readonly caBundle: string;
  close(): Promise<void>;
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly operation?: string;
    readonly object?: { readonly metadata: { readonly labels?: Record<string, string> } } | null;
    readonly desiredAPIVersion?: string;
    readonly objects?: readonly Widget[];
  };
}

interface Widget {
  readonly apiVersion: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Longer than the timeout of the checks' webhooks. */
const SLOW_MS = 2_500;

export async function startWebhooks(): Promise<WebhookServer> {
  const identity = await makeIdentity();
  const server = createServer({ key: identity.keyPem, cert: identity.certificatePem });
  server.on("request", (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const what = (request.url ?? "").split("?")[0]?.split("/").at(-1) ?? "";
      const review = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Review;
      const send = (status: number, body: string): void => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(body);
      };
      if (what === "error") send(500, '"out of order"');
      else if (what === "garbage") send(200, "not JSON");
      else if (what === "slow") setTimeout(() => send(200, answer(review, what)), SLOW_MS).unref();
      else send(200, answer(review, what));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    caBundle: Buffer.from(identity.caPem).toString("base64"),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(review: Review, what: string): string {
  const { apiVersion, kind, request } = review;
  const { uid } = request;
  const response = kind === "ConversionReview" ? converted(request, what) : admitted(request, what);
  if (what === "no-version") return JSON.stringify({ response: { uid, ...response } });
  if (what === "no-response") return JSON.stringify({ apiVersion, kind });
  return JSON.stringify({ apiVersion, kind, response: { uid, ...response } });
}

function admitted(request: Review["request"], what: string): object {
  const labels = request.object?.metadata.labels;
  const add = (key: string, value: string): object =>
    labels === undefined
      ? { op: "add", path: "/metadata/labels", value: { [key]: value } }
      : { op: "add", path: `/metadata/labels/${key}`, value };
  switch (what) {
    case "deny":
      return { allowed: false };
    case "deny-because":
      return { allowed: false, status: { code: 422, reason: "Invalid", message: "not today" } };
    case "deny-reason":
      return { allowed: false, status: { reason: "too late" } };
    case "warn":
      return { allowed: true, warnings: ["think again", 'and "again"'] };
    case "label":
      return patched(add("seen", "first"));
    case "count":
      return patched(add("count", `${labels?.["count"] ?? ""}x`));
    case "follow":
      return patched(add("after", labels?.["seen"] ?? "nothing"));
    case "bad-patch":
      return patched({ op: "replace", path: "/nothing/here", value: 1 });
    case "rename":
      return patched({ op: "replace", path: "/metadata/name", value: "other" });
    case "tell":
      return { allowed: false, status: { message: JSON.stringify(sorted(request)) } };
    case "unreadable":
      return { allowed: true, patchType: "JSONPatch", patch: "bm9uc2Vuc2U=" };
    case "wrong-uid":
      return { uid: "somebody-else", allowed: true };
    default:
      return oddly(what);
  }
}

/** Answers of malicious or faulty webhooks. */
function oddly(what: string): object {
  switch (what) {
    case "move":
      return patched({ op: "replace", path: "/metadata/namespace", value: "default" });
    case "kind":
      return patched({ op: "replace", path: "/kind", value: "Secret" });
    case "no-kind":
      return patched({ op: "remove", path: "/kind" });
    case "version":
      return patched({ op: "replace", path: "/apiVersion", value: "v2" });
    case "empty":
      return patched({ op: "replace", path: "", value: {} });
    case "prototype":
      return patched(
        { op: "add", path: "/data", value: {} },
        { op: "add", path: "/data/constructor", value: "a" },
        { op: "add", path: "/data/__proto__", value: "b" },
      );
    case "into-prototype":
      return patched({ op: "add", path: "/__proto__/polluted", value: "yes" });
    case "bad-type":
      return patched(
        { op: "add", path: "/data", value: ["a"] },
        { op: "add", path: "/spec", value: 1 },
      );
    case "no-metadata":
      return patched({ op: "add", path: "/metadata", value: "none" });
    case "bad-warnings":
      return { allowed: true, warnings: "none" };
    case "bad-code":
      return { allowed: false, status: { code: "200" } };
    case "code-100":
      return { allowed: false, status: { code: 100, message: "go on" } };
    case "code-600":
      return { allowed: false, status: { code: 600, message: "beyond" } };
    case "patch-without-type":
      return { allowed: true, patch: "W10=" };
    case "type-without-patch":
      return { allowed: true, patchType: "JSONPatch" };
    case "copies":
      return patched(
        { op: "add", path: "/data", value: { a: "x".repeat(1_000) } },
        ...Array.from({ length: 16 }, (_, at) => ({
          op: "copy",
          from: "/data",
          path: `/data/k${at}`,
        })),
      );
    default:
      return { allowed: true };
  }
}

function patched(...operations: readonly object[]): object {
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  return { allowed: true, patchType: "JSONPatch", patch };
}

/** The webhook's request with sorted fields, without those that change with each run. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(
    ([name]) => !["managedFields", "resourceVersion"].includes(name),
  );
  fields.sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]));
}

/** Converts one field: it is a string in version one and a number in version two. */
function converted(
  { desiredAPIVersion = "", objects = [] }: Review["request"],
  what: string,
): object {
  if (what === "fail") return { result: { status: "Failed", message: "no way between them" } };
  const convertedObjects = objects.map((object) => ({
    ...object,
    apiVersion: what === "other-version" ? "check.example.com/v9" : desiredAPIVersion,
    spec: desiredAPIVersion.endsWith("/v1")
      ? { size: String(object.spec?.["size"] ?? "") }
      : { size: Number(object.spec?.["size"] ?? 0) },
  }));
  return {
    result: { status: "Success" },
    convertedObjects: what === "none" ? [] : convertedObjects,
  };
}
