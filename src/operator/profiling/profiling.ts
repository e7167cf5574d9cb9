/**
 * Profiles on request, at the paths of Karpenter in Go: `/debug/pprof/profile` (CPU), `/debug/pprof/heap` (allocations
 * by function) and `/debug/pprof/memory` (numbers). They contain names of functions and sizes, and no data. Only
 * requests from the pod's loopback are answered, such as those of kubectl port-forward. The API server must allow the
 * caller's token to get the path.
 */
import { Session } from "node:inspector/promises";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import type { Clock } from "../../base/clock.ts";
import { firstLineOf } from "../../base/error-text.ts";
import { type Exchange, RequestRefusal } from "../../listen/exchange.ts";

export interface ProfilingOptions {
  /** Whether the owner of the token may get the path, checked by TokenReview and SubjectAccessReview. */
  readonly review: (token: string, path: string) => Promise<boolean>;
  readonly clock: Pick<Clock, "sleep">;
}

export const PROFILES_PATH = "/debug/pprof/";

const DEFAULT_S = 30;
const MOST_S = 120;
/** Allocated bytes between two samples of the heap profile. A smaller number would slow down a busy controller. */
const SAMPLED_EVERY_BYTES = 512 * 1_024;

/** Creates the function that answers requests below {@link PROFILES_PATH}. It throws Refusal. */
export function createProfiling({
  review,
  clock,
}: ProfilingOptions): (exchange: Exchange) => Promise<void> {
  let isBusy = false;
  const exclusively = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isBusy)
      throw new RequestRefusal(409, "another profile is being taken; ask again when it is done");
    isBusy = true;
    try {
      return await work();
    } finally {
      isBusy = false;
    }
  };
  return async (exchange) => {
    await letIn(exchange, review);
    switch (exchange.path.slice(PROFILES_PATH.length)) {
      case "profile": {
        const ms = secondsIn(exchange) * 1_000;
        const profile = await exclusively(() => cpuProfile(() => clock.sleep(ms)));
        return send(exchange, profile, "karpenter.cpuprofile");
      }
      case "heap": {
        const ms = secondsIn(exchange) * 1_000;
        const profile = await exclusively(() => heapProfile(() => clock.sleep(ms)));
        return send(exchange, profile, "karpenter.heapprofile");
      }
      case "memory":
        return send(exchange, memory());
      default:
        throw new RequestRefusal(404, "wanted profile, heap or memory");
    }
  };
}

async function letIn(exchange: Exchange, review: ProfilingOptions["review"]): Promise<void> {
  if (exchange.method !== "GET") throw new RequestRefusal(405, "wanted GET");
  if (!isLoopback(exchange.address))
    throw new RequestRefusal(
      403,
      "profiles are for callers on the pod's loopback: kubectl port-forward",
    );
  const token = /^Bearer (\S+)$/.exec(exchange.request.headers.authorization ?? "")?.[1];
  if (token === undefined)
    throw new RequestRefusal(401, "wanted Authorization: Bearer <token of the cluster>");
  const isAllowed = await review(token, exchange.path).catch((error: unknown) => {
    throw new RequestRefusal(503, `the API server does not say who you are: ${firstLineOf(error)}`);
  });
  if (!isAllowed)
    throw new RequestRefusal(403, `the API server does not let the bearer get ${exchange.path}`);
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\./.test(address);
}

function secondsIn({ url }: Exchange): number {
  const text = new URLSearchParams(url.split("?")[1] ?? "").get("seconds") ?? String(DEFAULT_S);
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= MOST_S))
    throw new RequestRefusal(400, `seconds: "${text}": wanted a number above 0, at most ${MOST_S}`);
  return seconds;
}

async function cpuProfile(wait: () => Promise<void>): Promise<unknown> {
  return inSession(async (session) => {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await wait();
    return (await session.post("Profiler.stop")).profile;
  });
}

async function heapProfile(wait: () => Promise<void>): Promise<unknown> {
  return inSession(async (session) => {
    await session.post("HeapProfiler.startSampling", { samplingInterval: SAMPLED_EVERY_BYTES });
    await wait();
    return (await session.post("HeapProfiler.stopSampling")).profile;
  });
}

async function inSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const session = new Session();
  session.connect();
  try {
    return await work(session);
  } finally {
    session.disconnect();
  }
}

function memory(): unknown {
  return {
    process: process.memoryUsage(),
    heap: getHeapStatistics(),
    spaces: getHeapSpaceStatistics(),
  };
}

function send({ response }: Exchange, value: unknown, file?: string): void {
  response.writeHead(200, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    ...(file === undefined ? {} : { "content-disposition": `attachment; filename="${file}"` }),
  });
  response.end(JSON.stringify(value));
}
