import { expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { ConnectionError, KubeError } from "../../kube/errors.ts";
import type { KubeResponse } from "../../kube/transport/transport.ts";
import { followAccess } from "./follow-access.ts";

const SERVER = "https://10.0.0.1:6443";
const OK: KubeResponse = { status: 200, headers: {} };

/** Follows a server whose answers are these, the last one for ever. Returns what is said, with its second. */
async function followed(
  answers: readonly (() => Promise<KubeResponse>)[],
  seconds: number,
): Promise<{ said: string[]; isDone: boolean }> {
  const clock = new VirtualClock();
  const startMs = clock.now();
  const said: string[] = [];
  let asked = 0;
  const raw = () =>
    (answers[Math.min(asked++, answers.length - 1)] as () => Promise<KubeResponse>)();
  const say = (line: string) => said.push(`${(clock.now() - startMs) / 1000}: ${line}`);
  let isDone = false;
  void followAccess({ client: { raw }, clock, server: SERVER, say }).then(() => {
    isDone = true;
  });
  await clock.advance(seconds * 1_000);
  return { said, isDone };
}

const ok = async () => OK;
const failing = (error: unknown) => () => Promise.reject(error);
const refused = failing(new ConnectionError("GET /version", { cause: new Error("ECONNREFUSED") }));

it("says nothing if the server answers", async () => {
  expect(await followed([ok], 60)).toEqual({ said: [], isDone: true });
});

it("says at once that the server is dead, at which address, and later that it answers", async () => {
  const { said, isDone } = await followed([refused, refused, refused, ok], 60);
  expect(said).toEqual([
    `0: the API server at ${SERVER} does not answer: ECONNREFUSED; check the cluster, or choose another one by KUBECONFIG. It is tried again every 5 s, and this says when it works.`,
    `15: the API server at ${SERVER} answers now`,
  ]);
  expect(isDone).toBe(true);
});

it("says after 3 s that no answer comes, before the connection fails", async () => {
  const { said } = await followed([() => new Promise(() => undefined)], 60);
  expect(said).toEqual([
    expect.stringMatching(/^3: the API server at \S+ has not answered for 3 s: /),
  ]);
});

it("says that the server refuses the credentials, or the list of nodes", async () => {
  const unauthorized = failing(new KubeError(401, undefined, "get /version"));
  const forbidden = failing(new KubeError(403, undefined, "list nodes"));
  const { said, isDone } = await followed([unauthorized, ok, forbidden, forbidden, ok], 60);
  expect(said).toEqual([
    expect.stringContaining(
      "0: the API server at https://10.0.0.1:6443 does not accept your credentials",
    ),
    expect.stringContaining(
      "5: the API server at https://10.0.0.1:6443 does not let you list nodes",
    ),
    expect.stringContaining("15: the API server at https://10.0.0.1:6443 answers now"),
  ]);
  expect(isDone).toBe(true);
});
