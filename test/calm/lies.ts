/**
 * How an API server or a cloud misleads one Karpenter. A kind may not be served or not be readable; its list may lack
 * objects or be old. The cluster itself stays as it is; only what this process is answered differs.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeRequest, KubeResponse, Transport } from "../../src/kube/transport/transport.ts";
import type { CloudFault, Fault } from "../replicas.ts";

/**
 * - `unserved`: 404 for everything below the kind's path, as while a version is switched off.
 * - `forbidden`: 403 for reading it.
 * - `short`, `empty`: lists lack every second object, or all; watches bring what changes from then on.
 * - `stale`: lists are of some time ago, and watches bring nothing more.
 * - `expired`: no watch comes about, each time its version is too old.
 * - `another`: lists hold objects of other names, as of another cluster; by name none of ours is found.
 */
export const LIES = [
  "unserved",
  "forbidden",
  "short",
  "empty",
  "stale",
  "expired",
  "another",
] as const;
export type Lie = (typeof LIES)[number];

/** A collection: `/apis/karpenter.sh/v1/nodeclaims`. */
export type Collection = string;

interface Asked {
  /** The collection, whatever the namespace. */
  readonly of: Collection;
  readonly name: string | undefined;
  readonly isWatch: boolean;
  readonly query: URLSearchParams;
}

/** What a request is about; undefined for paths of no collection. */
export function asked({ path }: Pick<KubeRequest, "path">): Asked | undefined {
  const [bare = "", query = ""] = path.split("?");
  const parts =
    /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+(?=\/))?\/([^/]+)(?:\/([^/]+))?/.exec(
      bare,
    );
  if (parts === null) return undefined;
  const params = new URLSearchParams(query);
  return {
    of: `${parts[1]}/${parts[2]}`,
    name: parts[3],
    isWatch: /^(?:1|true)$/.test(params.get("watch") ?? ""),
    query: params,
  };
}

export interface Liar {
  readonly fault: Fault;
  /** How many answers it made up. */
  readonly told: number;
}

interface Told {
  readonly of: Collection;
  readonly lie: Lie;
  /** What a list of the collection answered some time ago. */
  readonly past: KubeResponse | undefined;
}

/** Streams must be cut when it begins: its kind is listed anew then. */
export function liar(server: Pick<Transport, "send">, { of, lie, past }: Told): Liar {
  let told = 0;
  let isExpired = false;
  const tell = (answer: KubeResponse): KubeResponse => {
    told++;
    return answer;
  };
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of) return undefined;
    if (lie === "unserved") return tell(status(404, "NotFound", "page not found"));
    if (request.method !== "GET") return undefined;
    if (lie === "forbidden") return tell(status(403, "Forbidden", `cannot read ${of}`));
    if (what.name !== undefined) return lie === "another" ? tell(notFound(what.name)) : undefined;
    if (what.isWatch) {
      if (lie === "expired") return tell(status(410, "Expired", "too old resource version"));
      if (lie === "stale" && isExpired)
        return tell({ status: 200, headers: {}, stream: openStream() });
      if (isExpired) return undefined;
      // Else the picture of before goes on.
      isExpired = true;
      return tell(status(410, "Expired", "too old resource version"));
    }
    isExpired = true;
    if (lie === "expired") return undefined;
    if (lie === "another") return tell(renamed(await server.send(request)));
    if (lie === "stale") return past === undefined ? undefined : tell(past);
    // What runs on one node is no page of a long list.
    if (what.query.has("fieldSelector")) return undefined;
    return tell(without(await server.send(request), (at) => lie === "empty" || at % 2 === 0));
  };
  return {
    fault,
    get told() {
      return told;
    },
  };
}

/** After a lie the next watch is too old, so that the kind is listed anew: what a list left out, no watch brings. */
export function listedAnew(of: Collection): Fault {
  let isListed = false;
  return async (request) => {
    const what = asked(request);
    if (isListed || what?.of !== of || !what.isWatch) return undefined;
    isListed = true;
    return status(410, "Expired", "too old resource version");
  };
}

function without(answer: KubeResponse, isGone: (at: number) => boolean): KubeResponse {
  const body = answer.body as { readonly items?: readonly unknown[] };
  const items = (body.items ?? []).filter((_, at) => !isGone(at));
  return { ...answer, body: { ...body, items } };
}

/** What it lists is nowhere else known. */
function renamed(answer: KubeResponse): KubeResponse {
  const body = answer.body as { readonly items?: readonly KubeObject[] };
  const items = (body.items ?? []).map((item) => {
    const { name, uid } = item.metadata;
    return { ...item, metadata: { ...item.metadata, name: `other-${name}`, uid: `other-${uid}` } };
  });
  return { ...answer, body: { ...body, items } };
}

/** As the server says that it has none of that name. */
function notFound(name: string): KubeResponse {
  const answer = status(404, "NotFound", `"${name}" not found`);
  return { ...answer, body: { ...(answer.body as object), details: { name } } };
}

function status(code: number, reason: string, message: string): KubeResponse {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
  return { status: code, headers: {}, body };
}

/** Brings these events and stays open. */
export function openStream(events: readonly unknown[] = []): NonNullable<KubeResponse["stream"]> {
  let end = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    close: () => end(),
    async *[Symbol.asyncIterator]() {
      for (const event of events) yield event as never;
      await closed;
    },
  };
}

export const CLOUD_LIES = ["cloud lists none", "cloud lists half", "cloud knows none"] as const;
export type CloudLie = (typeof CLOUD_LIES)[number];

/** A pagination fault, or a wrong region: `knows none` also when it is asked for one instance. */
export function cloudLiar(lie: CloudLie, notFound: () => never): CloudFault {
  return async (call, input, go) => {
    if (call !== "ec2.describeInstances") return go();
    const isById = (input as { InstanceIds?: unknown }).InstanceIds !== undefined;
    if (isById) return lie === "cloud knows none" ? notFound() : go();
    const answer = (await go()) as { readonly Reservations?: readonly unknown[] };
    const kept = (answer.Reservations ?? []).filter(
      (_, at) => lie === "cloud lists half" && at % 2 === 1,
    );
    return { Reservations: kept };
  };
}
