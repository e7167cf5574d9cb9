/**
 * Says whether an API server gets further calls at once. The HTTP transport has a limited number of connections, and
 * calls beyond them wait. A reconcile that began meanwhile would read the local copy long before its write is sent. The
 * object would change in between, and the write would fail with a conflict. So reconciles wait here, before they read.
 */
import { AssertionError } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import type { KubeRequest, KubeResponse, Transport } from "./transport.ts";

/** The most calls in progress while reconciles begin. `connections.ts` has some twenty more, for watches. */
const MOST_CALLS = 44;

/** Undefined: a call is sent at once. Else resolves when it is. `who`: the controller that asks. */
export type AwaitRoom = (who: string) => Promise<void> | undefined;

/**
 * Wraps a transport and counts its calls in progress. `awaitRoom` lets a reconcile of each controller begin in turn, so
 * that thousands of one controller do not come before the others. Calls are not divided among controllers. A reconcile
 * that first waits for something else, such as the cloud, is not counted until its call.
 */
export function withCallRoom(
  transport: Transport,
  clock: Pick<Clock, "sleep">,
  mostCalls = MOST_CALLS,
): { readonly transport: Transport; readonly awaitRoom: AwaitRoom } {
  let calls = 0;
  /** The waiting reconciles of each controller. The controller whose turn is next is first. */
  const waiting = new Map<string, (() => void)[]>();
  let isGivingOut = false;

  const giveOut = async (): Promise<void> => {
    isGivingOut = true;
    // Whoever begins may send nothing. So there may be room again in the next turn, although no call has ended.
    while (waiting.size > 0 && calls < mostCalls) {
      for (let room = mostCalls - calls; room > 0 && waiting.size > 0; room--) next(waiting)();
      await clock.sleep(0);
    }
    isGivingOut = false;
  };

  async function send(request: KubeRequest): Promise<KubeResponse> {
    calls++;
    try {
      return await transport.send(request);
    } finally {
      calls--;
      if (waiting.size > 0 && !isGivingOut) mustNotFail(giveOut(), "the room for calls");
    }
  }

  return {
    transport: { send, close: () => transport.close() },
    awaitRoom: (who) => {
      if (calls < mostCalls && waiting.size === 0) return undefined;
      return new Promise((begin) => {
        const own = waiting.get(who);
        if (own === undefined) waiting.set(who, [begin]);
        else own.push(begin);
      });
    },
  };
}

/** Takes the first of the controller whose turn it is. Its next one has its turn after all other controllers. */
function next(waiting: Map<string, (() => void)[]>): () => void {
  for (const [who, own] of waiting) {
    const begin = own.shift();
    waiting.delete(who);
    if (own.length > 0) waiting.set(who, own);
    if (begin !== undefined) return begin;
  }
  throw new AssertionError("nobody waits for room");
}
