/** What a command says if the API server serves it nothing. */
import { expect, it } from "vitest";
import { ConnectionError, KubeError } from "../../kube/errors.ts";
import { CredentialsError } from "../../kube/transport/credentials.ts";
import { accessProblem } from "./access-problem.ts";

const noAnswer = (cause: unknown) => new ConnectionError("GET /version", { cause });

it.each<[string, unknown, string]>([
  [
    "unknown credentials",
    new KubeError(401, undefined, "get /version"),
    "the API server does not accept your credentials: log in again, ",
  ],
  [
    "no answer",
    noAnswer(new Error("connect ECONNREFUSED 127.0.0.1:1")),
    "the API server does not answer: connect ECONNREFUSED 127.0.0.1:1; check the cluster, ",
  ],
  [
    "no answer and no cause",
    new ConnectionError("GET /version: no answer in 30 s"),
    "the API server does not answer: GET /version: no answer in 30 s; ",
  ],
  [
    "no credentials",
    noAnswer(new CredentialsError("no such plugin")),
    "no credentials for the cluster: no such plugin; mend its user in KUBECONFIG",
  ],
])("says what to do after %s", (_, error, sentence) => {
  expect(accessProblem(error)?.message).toContain(sentence);
});

it("says nothing of an answer to one request", () => {
  expect(accessProblem(new KubeError(403, undefined, "list nodes"))).toBeUndefined();
  expect(accessProblem(new Error("bug"))).toBeUndefined();
});
