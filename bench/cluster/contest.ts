/**
 * A fresh control plane with one operator alone. It has upstream's CRDs, and a service account for the operator, so
 * that the audit log shows its calls separately. Also the requests that a bench sends to such a cluster.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEPLOYMENT } from "../../src/apis/apps/kinds.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { installCustomKinds } from "../../test/conformance/apiserver/custom-kinds.ts";
import { startControlPlane } from "../../test/cluster/control-plane.ts";
import { upstreamCrds } from "../../test/cluster/live-cluster.ts";
import { type Contestant, type Running, start } from "./contestant.ts";

const ACCOUNT = { namespace: "kube-system", name: "karpenter" } as const;
const USER = `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}`;

export interface Contest {
  readonly client: KubeClient;
  readonly operator: Running;
  /**
   * Number of the operator's calls so far, by the name that `nameOf` gives them. A call with the name undefined is not
   * counted.
   */
  calls(nameOf?: (call: Call) => string | undefined): Record<string, number>;
  close(): Promise<void>;
}

/** One answered request, or a watch that has begun, as in the audit log. */
export interface Call {
  readonly auditID: string;
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
}

/** Starts a fresh control plane and the operator. `keepLogsIn`: folder in which logs and the audit log are kept. */
export async function openContest(contestant: Contestant, keepLogsIn?: string): Promise<Contest> {
  const directory = mkdtempSync(join(keepLogsIn ?? tmpdir(), "bench-cluster-"));
  const policy = join(directory, "audit-policy.json");
  const audit = join(directory, "audit.log");
  writeFileSync(policy, JSON.stringify(AUDIT_POLICY));
  const plane = await startControlPlane({
    directory,
    tell: (line) => process.stderr.write(`${line}\n`),
    extraArguments: {
      "kube-apiserver": [
        `--audit-policy-file=${policy}`,
        `--audit-log-path=${audit}`,
        "--audit-log-maxsize=4000",
      ],
    },
  });
  let operator: Running | undefined;
  const close = async (): Promise<void> => {
    await operator?.stop();
    await plane.stop();
    if (keepLogsIn === undefined) rmSync(directory, { recursive: true });
  };
  try {
    await installCustomKinds(plane.transport, new SystemClock(), upstreamCrds());
    const kubeconfig = join(directory, "contestant.kubeconfig");
    await writeAccount(plane.transport, plane.kubeconfig, kubeconfig);
    operator = await start(contestant, kubeconfig, join(directory, "operator.log"));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    client: createKubeClient(plane.transport),
    operator,
    calls: (nameOf = ({ verb }) => verb) => countCalls(audit, nameOf),
    close,
  };
}

const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  // A watch counts when it begins, because it may never end. Other calls count when they are answered.
  omitStages: ["RequestReceived"],
  omitManagedFields: true,
  rules: [{ level: "Metadata", users: [USER] }],
};

function countCalls(
  file: string,
  nameOf: (call: Call) => string | undefined,
): Record<string, number> {
  const calls: Record<string, number> = {};
  const seen = new Set<string>();
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return calls;
  }
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const call = JSON.parse(line) as Call;
    const name = nameOf(call);
    if (name === undefined || seen.has(call.auditID)) continue;
    seen.add(call.auditID);
    calls[name] = (calls[name] ?? 0) + 1;
  }
  return calls;
}

const NODE_CLASS = {
  apiVersion: "karpenter.kwok.sh/v1alpha1",
  kind: "KWOKNodeClass",
  metadata: { name: "default" },
} as KubeObject;

/** Applies the objects server-side as field manager `bench`. The KWOKNodeClass is applied first. */
export async function applyAll(client: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  const resources = discoverResources(client);
  for (const body of [NODE_CLASS, ...objects]) {
    const kind = await resources.kind(body.apiVersion ?? "", body.kind ?? "");
    const ref = { name: body.metadata.name, namespace: body.metadata.namespace };
    await client.patch(kind, ref, { type: "apply", body, fieldManager: "bench", force: true });
  }
}

/** Whether the NodePool is Ready. */
export async function isPoolReady(client: KubeClient, name: string): Promise<boolean> {
  const kind = await discoverResources(client).kind("karpenter.sh/v1", "NodePool");
  const pool = (await client.get(kind, { name })) as {
    status?: { conditions?: readonly { type: string; status: string }[] };
  };
  return (
    pool.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  );
}

export async function scale(client: KubeClient, name: string, replicas: number): Promise<void> {
  const ref = { name, namespace: "default" };
  await client.patch(DEPLOYMENT, ref, { type: "merge", body: { spec: { replicas } } }, "scale");
}

export async function until(
  what: string,
  limitMs: number,
  holds: () => boolean | Promise<boolean>,
  state: () => string = () => "",
): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > deadlineMs)
      throw new Error(`waited ${limitMs / 1_000} s until ${what}: ${state()}`);
    await sleep(50);
  }
}

/** Writes a kubeconfig for a service account with all rights. The audit log shows its calls separately. */
async function writeAccount(transport: Transport, admin: string, file: string): Promise<void> {
  const accounts = `/api/v1/namespaces/${ACCOUNT.namespace}/serviceaccounts`;
  await post(transport, accounts, { metadata: { name: ACCOUNT.name } });
  await post(transport, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "karpenter-bench" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", ...ACCOUNT }],
  });
  const request = { spec: { expirationSeconds: 86_400 } };
  const answer = await post(transport, `${accounts}/${ACCOUNT.name}/token`, request);
  const { token } = (answer as { status: { token: string } }).status;
  const config = JSON.parse(readFileSync(admin, "utf8")) as { users: { user: object }[] };
  if (config.users[0] !== undefined) config.users[0].user = { token };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}

async function post(transport: Transport, path: string, body: object): Promise<unknown> {
  const answer = await transport.send({ method: "POST", path, body });
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
