/**
 * Ways in which an API server or a cloud misleads one Karpenter process. A kind may not be served or not be readable.
 * Its list may lack objects or be old. The cluster stays as it is; only the answers to this process differ.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeRequest, KubeResponse, Transport } from "../../src/kube/transport/transport.ts";
import type { CloudFault, Fault } from "../replicas.ts";

/**
 * - `unserved`: 404 for all paths of the kind, as while a version is switched off.
 * - `forbidden`: 403 for reads.
 * - `short`, `empty`: lists lack every second object, or all; watches deliver later changes.
 * - `stale`: lists are old, and watches deliver nothing.
 * - `expired`: each watch fails because its version is too old.
 * - `another`: lists hold objects of other names, as of another cluster; none is found by name.
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

/** The path of a collection: `/apis/karpenter.sh/v1/nodeclaims`. */
export type Collection = string;

interface Asked {
  /** The collection, without the namespace. */
  readonly of: Collection;
  readonly name: string | undefined;
  readonly isWatch: boolean;
  readonly query: URLSearchParams;
}

/** The collection and object of a request. Undefined for other paths. */
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
  /** Number of false answers so far. */
  readonly told: number;
}

interface Told {
  readonly of: Collection;
  readonly lie: Lie;
  /** A list of the collection from some time ago. */
  readonly past: KubeResponse | undefined;
}

/**
 * Answers requests for the collection falsely. Open watches must be cut when it begins, so that the kind is listed
 * again.
 */
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
      // Without a list, the process would keep the correct objects that it has.
      isExpired = true;
      return tell(status(410, "Expired", "too old resource version"));
    }
    isExpired = true;
    if (lie === "expired") return undefined;
    if (lie === "another") return tell(renamed(await server.send(request)));
    if (lie === "stale") return past === undefined ? undefined : tell(past);
    // A list of the pods of one node stays correct.
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

/**
 * The fault to use after false answers: the first watch fails as too old, so that the process lists the kind again.
 * A watch would not deliver what a false list left out.
 */
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

/** The list with other names, which exist nowhere else. */
function renamed(answer: KubeResponse): KubeResponse {
  const body = answer.body as { readonly items?: readonly KubeObject[] };
  const items = (body.items ?? []).map((item) => {
    const { name, uid } = item.metadata;
    return { ...item, metadata: { ...item.metadata, name: `other-${name}`, uid: `other-${uid}` } };
  });
  return { ...answer, body: { ...body, items } };
}

/** The server's answer to a read of an object that does not exist. */
function notFound(name: string): KubeResponse {
  const answer = status(404, "NotFound", `"${name}" not found`);
  return { ...answer, body: { ...(answer.body as object), details: { name } } };
}

function status(code: number, reason: string, message: string): KubeResponse {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
  return { status: code, headers: {}, body };
}

/** A watch that delivers these events and stays open. */
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

/**
 * False answers of the cloud. `knows none` imitates a pagination fault or a wrong region, also for requests about one
 * instance.
 */
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
