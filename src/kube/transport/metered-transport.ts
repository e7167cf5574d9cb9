/**
 * A transport that counts requests and measures their time. A request without an answer has the code `<error>`, as in
 * client-go.
 * upstream: operatorpkg, metrics of client-go
 */
import type { Clock } from "../../base/clock.ts";
import type { Metrics } from "../../base/metrics.ts";
import type { KubeRequest, KubeResponse, Transport } from "./transport.ts";

/** What a request is about, read from its path. Parts that the path lacks are empty. */
export interface RequestTarget {
  readonly group: string;
  readonly version: string;
  /** The resource in the path, such as `pods`. */
  readonly kind: string;
  readonly subresource: string;
}

/** Counts requests and measures their time in the client_go metrics. */
export function meteredTransport(
  transport: Transport,
  clock: Clock,
  metrics: Pick<Metrics, "count" | "observe">,
): Transport {
  async function send(request: KubeRequest): Promise<KubeResponse> {
    const startMs = clock.elapsedMs();
    let code = "<error>";
    try {
      const response = await transport.send(request);
      code = String(response.status);
      return response;
    } finally {
      const labels = { verb: request.method, ...targetOf(request.path) };
      const seconds = (clock.elapsedMs() - startMs) / 1_000;
      metrics.count("client_go_request_total", { code, method: request.method });
      metrics.observe("client_go_request_duration_seconds", labels, seconds);
    }
  }
  return { send, close: () => transport.close() };
}

/**
 * The target of a path such as `/api/v1/namespaces/a/pods/b/eviction`, `/apis/apps/v1/deployments?limit=1` or
 * `/version`. Exported for tests.
 */
export function targetOf(path: string): RequestTarget {
  const [root, ...rest] = (path.split("?")[0] ?? "").split("/").filter((step) => step !== "");
  const isCore = root === "api";
  if (!isCore && root !== "apis") return { group: "", version: "", kind: "", subresource: "" };
  const [group = "", version = "", ...steps] = isCore ? ["", ...rest] : rest;
  // `namespaces` in a path can also be the resource itself.
  const inNamespace = steps[0] === "namespaces" && steps.length > 2 && !ofNamespace(steps[2]);
  const [kind = "", , subresource = ""] = inNamespace ? steps.slice(2) : steps;
  return { group, version, kind, subresource };
}

function ofNamespace(step: string | undefined): boolean {
  return step === "status" || step === "finalize";
}
