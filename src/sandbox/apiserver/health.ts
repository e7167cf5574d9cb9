/**
 * Health of the API server: `/healthz`, `/livez` and `/readyz`, as a whole or by check, and the list of paths at `/`.
 * The server is one process without parts that could fail alone, so every check passes.
 * upstream: kubernetes apiserver pkg/server/healthz/healthz.go
 */
import type { KubeResponse } from "../../kube/transport/transport.ts";
import { discoveryResponse } from "./discovery/discovery.ts";
import type { Registry } from "./resource-definition.ts";

const ALWAYS = ["ping", "log", "etcd"] as const;
const CHECKS: Readonly<Record<string, readonly string[]>> = {
  healthz: ALWAYS,
  livez: ALWAYS,
  readyz: [...ALWAYS, "informer-sync", "shutdown"],
};
const TEXT = { "content-type": "text/plain; charset=utf-8" };
const JSON_TEXT = { "content-type": "application/json" };

/** The answer to `/readyz?verbose`, `/livez/ping` and similar paths. Undefined: another path. */
export function healthResponse(path: string, query: URLSearchParams): KubeResponse | undefined {
  const [empty, endpoint = "", check, ...more] = path.split("/");
  const checks = CHECKS[endpoint];
  if (empty !== "" || checks === undefined || more.length > 0) return undefined;
  if (check !== undefined && check !== "" && !checks.includes(check)) return undefined;
  const isWhole = check === undefined || check === "";
  if (!isWhole || !query.has("verbose")) return { status: 200, headers: TEXT, body: "ok" };
  const excluded = query.getAll("exclude");
  const lines = checks.map((one) =>
    excluded.includes(one) ? `[+]${one} excluded: ok` : `[+]${one} ok`,
  );
  const body = `${lines.join("\n")}\n${endpoint} check passed\n`;
  return { status: 200, headers: TEXT, body };
}

/** The answer to `/`. */
export function pathsResponse(registry: Registry): KubeResponse {
  const answer = discoveryResponse(registry, "/apis", undefined);
  const { groups = [] } = (answer?.body ?? {}) as {
    groups?: readonly { name: string; versions: readonly { groupVersion: string }[] }[];
  };
  const ofGroups = groups.flatMap(({ name, versions }) => [
    `/apis/${name}`,
    ...versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
  ]);
  const ofHealth = Object.entries(CHECKS).flatMap(([endpoint, checks]) => [
    `/${endpoint}`,
    ...checks.map((check) => `/${endpoint}/${check}`),
  ]);
  const others = ["/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/version"];
  const paths = [...others, ...ofGroups, ...ofHealth].sort();
  return { status: 200, headers: JSON_TEXT, body: { paths } };
}
