/**
 * Waits until the API server serves the user, for commands that stay open (console, top). Says at once what is wrong,
 * at which address, and what to do; says so again if the problem changes, and says when the server answers.
 */
import type { Clock } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { accessProblem } from "./access-problem.ts";

/** Milliseconds without an answer after which a request is reported, and between two tries. */
const SLOW_MS = 3_000;
const RETRY_MS = 5_000;
const AGAIN = `It is tried again every ${RETRY_MS / 1_000} s, and this says when it works.`;

interface Followed {
  readonly client: Pick<KubeClient, "raw">;
  readonly clock: Pick<Clock, "after">;
  readonly server: string;
  readonly say: (line: string) => void;
  /** Resolves when the command ends. Absent: it only ends with the process. */
  readonly over?: Promise<unknown>;
}

/** Resolves when the server serves the user, or when the command ends. */
export async function followAccess(followed: Followed): Promise<void> {
  const { clock, server, say, over = new Promise<never>(() => undefined) } = followed;
  let isOver = false;
  const ended = over.then(() => {
    isOver = true;
  });
  let said: string | undefined;
  const report = (problem: string) => {
    if (problem !== said && !isOver) say(`${problem}. ${AGAIN}`);
    said = problem;
  };
  for (;;) {
    const problem = await Promise.race([problemNow(followed, report), ended]);
    if (isOver) return;
    if (problem === undefined) {
      if (said !== undefined) say(`the API server at ${server} answers now`);
      return;
    }
    report(problem);
    let cancel = (): void => undefined;
    const waited = new Promise<void>((resolve) => {
      cancel = clock.after(RETRY_MS, resolve).cancel;
    });
    await Promise.race([waited, ended]);
    cancel();
  }
}

/** Asks once. Undefined: the server serves the user. A late answer is reported before it comes. */
async function problemNow(
  { client, clock, server }: Followed,
  report: (problem: string) => void,
): Promise<string | undefined> {
  const late = clock.after(SLOW_MS, () =>
    report(
      `the API server at ${server} has not answered for ${SLOW_MS / 1_000} s: check the cluster, the network and the proxy, or choose another cluster by KUBECONFIG`,
    ),
  );
  try {
    await client.raw({ method: "GET", path: "/version" });
    await client.raw({ method: "GET", path: "/api/v1/nodes?limit=1" });
    return undefined;
  } catch (error) {
    if (isForbidden(error))
      return `the API server at ${server} does not let you list nodes: get that right, or choose another user by KUBECONFIG`;
    return accessProblem(error, server)?.message;
  } finally {
    late.cancel();
  }
}
