/** Reports each call of the SDK by its middleware: the whole call, and each attempt within the SDK's retries. */
import type { Clock } from "../../base/clock.ts";
import type { AwsCall, CallObserver } from "./call-metrics.ts";

/** The observer of the calls, and the clock that times them. */
export interface Observed {
  readonly clock: Clock;
  readonly observer: CallObserver;
}

interface Args {
  readonly input: object;
}

type Next = (args: Args) => Promise<unknown>;
type Middleware = (next: Next, context: { readonly commandName?: string }) => Next;

/** The part of the SDK's middleware stack that is used; its own types differ by client. */
export interface MiddlewareStack {
  // biome-ignore lint/suspicious/noExplicitAny: see above
  add(middleware: any, options: any): void;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  addRelativeTo(middleware: any, options: any): void;
}

/** Reports each call and each attempt of an SDK client to the observer. */
export function observeStack(
  stack: MiddlewareStack,
  service: string,
  { clock, observer }: Observed,
): void {
  /** Attempts by input object. The context cannot be the key, because all calls of a command may share it. */
  const tries = new WeakMap<object, number>();

  function timed(tell: (input: object, call: AwsCall) => void): Middleware {
    return (next, context) => async (args) => {
      const startMs = clock.elapsedMs();
      const action = (context.commandName ?? "").replace(/Command$/, "");
      let status = 0;
      try {
        const result = await next(args);
        status = statusOf(result);
        return result;
      } catch (error) {
        status = statusOf(error);
        throw error;
      } finally {
        tell(args.input, { service, action, status, durationMs: clock.elapsedMs() - startMs });
      }
    };
  }

  const request = timed((input, call) => {
    observer.request(call, Math.max(0, (tries.get(input) ?? 1) - 1));
    tries.delete(input);
  });
  const attempt = timed((input, call) => {
    tries.set(input, (tries.get(input) ?? 0) + 1);
    observer.attempt(call);
  });
  stack.add(request, { step: "initialize", priority: "high", name: "karpenterRequests" });
  stack.addRelativeTo(attempt, {
    relation: "after",
    toMiddleware: "retryMiddleware",
    name: "karpenterAttempts",
  });
}

/** The HTTP status: an answer has it in its output, an error in itself. 0: AWS did not answer. */
function statusOf(answer: unknown): number {
  const holder = (answer as { output?: unknown } | undefined)?.output ?? answer;
  const { $metadata } = (holder ?? {}) as { $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode ?? 0;
}
