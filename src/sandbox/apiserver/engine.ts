/**
 * What every verb needs: the parts of one API server (`Engine`), and one request with everything found out about it
 * (`Call`). Defines types and readers only: it changes no state.
 */

import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import type { LogSource } from "../log-lines.ts";
import type { PodConnect, PodHttp } from "../pod-http.ts";
import type { TokenSigner } from "./access/tokens.ts";
import type { User } from "./api-server.ts";
import type { ResourcePath } from "./request/routing.ts";
import type { Registry, ResourceDefinition, WebhookCaller } from "./resource-definition.ts";
import type { Store } from "./store/store.ts";

/** The parts that every request uses. */
export interface Engine {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly registry: Registry;
  readonly webhooks: WebhookCaller;
  /** The source of pod logs. `setLogSource` replaces it. */
  readonly logs: { source: LogSource | undefined };
  /** HTTP and connections to pods. `setPodHttp` and `setPodConnect` replace them. */
  readonly pods: { http: PodHttp | undefined; connect: PodConnect | undefined };
  /** Calls `onMinute` once a minute until stopped: one timer for all watches' bookmarks. */
  readonly everyMinute: (onMinute: () => void) => () => void;
  /** Signs and verifies tokens of service accounts. */
  readonly tokens: TokenSigner;
  /** Open streams. They are closed together with the server. */
  readonly open: Set<{ close(): void }>;
}

/** One request for a resource that is served. */
export interface Call {
  readonly engine: Engine;
  readonly definition: ResourceDefinition;
  readonly user: User;
  readonly method: string;
  readonly path: ResourcePath;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Warnings for the answer, as `Warning: 299` headers. */
  readonly warnings: string[];
}

/** The group version of a definition: `v1` for the core group, else `GROUP/VERSION`. */
export function groupVersionOf(definition: { group: string; version: string }): string {
  const { group, version } = definition;
  return group === "" ? version : `${group}/${version}`;
}

/** Built-in groups below `k8s.io`. Gateway API, volume snapshots and others are CRDs that a user installs. */
const BUILT_IN: ReadonlySet<string> = new Set(
  [
    ..."admissionregistration apiextensions apiregistration authentication authorization".split(
      " ",
    ),
    ..."certificates coordination discovery events flowcontrol.apiserver internal.apiserver".split(
      " ",
    ),
    ..."metrics networking node rbac.authorization resource scheduling storage storagemigration".split(
      " ",
    ),
  ].map((name) => `${name}.k8s.io`),
);

/** True for kinds that come from a CustomResourceDefinition. */
export function isCustom({ group }: { readonly group: string }): boolean {
  return group.includes(".") && !BUILT_IN.has(group);
}

/** Whether the request must not store anything. */
export function isDryRun(call: Call): boolean {
  return call.query.getAll("dryRun").includes("All");
}

/** The field manager of this write: from the query, else from the client's user agent. */
export function managerOf(call: Pick<Call, "query" | "headers" | "user">): string {
  const asked = call.query.get("fieldManager");
  if (asked !== null && asked !== "") return asked;
  const agent = (call.headers["user-agent"] ?? "").split("/")[0] as string;
  return agent === "" ? call.user.name : agent.slice(0, 128);
}
