/**
 * A ServiceAccount with exactly the rights of the chart, granted from the table that also makes the chart's roles.
 * Karpenter runs as this account in every test on the real control plane. So kube-apiserver also finds a missing
 * right that only a rare fault needs. The chart's own roles are tested in helm-install.test.ts.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse, stringify } from "yaml";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type Right, rightsOf, webhookRights } from "../../src/operator/rights.ts";

const RBAC = "rbac.authorization.k8s.io";
const NAME = "karpenter";
/** The namespace of the account. Karpenter's setting for its own namespace names it. */
export const NAMESPACE = "karpenter";
export const ACCOUNT = `system:serviceaccount:${NAMESPACE}:${NAME}`;

/**
 * Makes the account of a Karpenter with the kwok provider; resolves to its kubeconfig. `admin`: the
 * administrator's kubeconfig file.
 */
export async function openAccount(client: KubeClient, admin: string): Promise<string> {
  const surges = { isOn: true, namespaces: ["*"] };
  const rights = [...rightsOf("kwok", surges), ...webhookRights()];
  await make(client, "/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  await make(client, `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, {
    metadata: { name: NAME },
  });
  await grant(client, rights, "cluster");
  await grant(client, rights, "own namespace");
  return tokenFile(client, admin, NAMESPACE, NAME);
}

/**
 * Writes a kubeconfig that contains only a new token of the ServiceAccount. It is in the folder of the
 * administrator's kubeconfig.
 */
export async function tokenFile(
  client: KubeClient,
  admin: string,
  namespace: string,
  serviceAccount: string,
): Promise<string> {
  const { body } = await client.raw({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: 24 * 3_600 },
    },
  });
  const { token } = (body as { status: { token: string } }).status;
  const config = parse(readFileSync(admin, "utf8")) as { users: { user: object }[] };
  const users = config.users.map((entry) => ({ ...entry, user: { token } }));
  const file = join(dirname(admin), `${serviceAccount}.kubeconfig`);
  writeFileSync(file, stringify({ ...config, users }), { mode: 0o600 });
  return file;
}

async function grant(
  client: KubeClient,
  rights: readonly Right[],
  where: Right["where"],
): Promise<void> {
  const kind = where === "cluster" ? "ClusterRole" : "Role";
  const metadata = { name: NAME };
  const rules = rights
    .filter((one) => one.where === where)
    .map(({ group, resources, verbs, names }) => ({
      apiGroups: [group],
      resources,
      verbs,
      ...(names === undefined ? {} : { resourceNames: names }),
    }));
  const place = where === "cluster" ? "" : `/namespaces/${NAMESPACE}`;
  const path = `/apis/${RBAC}/v1${place}/${kind.toLowerCase()}`;
  await make(client, `${path}s`, { metadata, rules });
  await make(client, `${path}bindings`, {
    metadata,
    roleRef: { apiGroup: RBAC, kind, name: NAME },
    subjects: [{ kind: "ServiceAccount", name: NAME, namespace: NAMESPACE }],
  });
}

async function make(client: KubeClient, path: string, body: object): Promise<void> {
  await client.raw({ method: "POST", path, body });
}
