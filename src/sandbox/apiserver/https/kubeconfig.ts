/**
 * The kubeconfig for clients of the sandbox. It is merged into an existing kubeconfig, whose entries for
 * other clusters stay as they are.
 */
import { asText, isObject } from "../../../base/json.ts";
import { writeYaml } from "../../../readers/write-yaml.ts";

/** The address and the credentials in a kubeconfig. */
export interface KubeconfigInput {
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
}

/** An existing kubeconfig, read as JSON. */
export type ExistingKubeconfig = Readonly<Record<string, unknown>>;

/** Name of the sandbox's cluster, context and user. */
const NAME = "karpenter-sandbox";

/** Text of a kubeconfig whose current context is the sandbox. `existing` is the present content of the file. */
export function kubeconfigText(input: KubeconfigInput, existing: ExistingKubeconfig = {}): string {
  const { url, caPem, token } = input;
  const cluster = {
    server: url,
    "certificate-authority-data": Buffer.from(caPem).toString("base64"),
  };
  const context = { cluster: NAME, user: NAME, namespace: "default" };
  const config = {
    ...existing,
    apiVersion: "v1",
    kind: "Config",
    clusters: [...others(existing["clusters"]), { name: NAME, cluster }],
    users: [...others(existing["users"]), { name: NAME, user: { token } }],
    contexts: [...others(existing["contexts"]), { name: NAME, context }],
    "current-context": NAME,
  };
  return writeYaml(config);
}

/**
 * Why the sandbox's entries must not be added to this kubeconfig; undefined if they may. An entry with the
 * sandbox's name and another machine's address was made by somebody else.
 */
export function mergeProblem(existing: ExistingKubeconfig): string | undefined {
  for (const list of ["clusters", "users", "contexts"]) {
    const value = existing[list] ?? [];
    if (!Array.isArray(value)) return `its ${list} are no list`;
  }
  const server = sandboxServer(existing);
  if (server === undefined) return undefined;
  return /^https:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|$)/.test(server)
    ? undefined
    : `its cluster ${NAME} is not the sandbox: the server is ${server}`;
}

/** The server in the entry with the sandbox's name; undefined if there is no such entry. */
export function sandboxServer(existing: ExistingKubeconfig): string | undefined {
  const list = existing["clusters"];
  const clusters: readonly unknown[] = Array.isArray(list) ? list : [];
  const own = clusters.filter(isObject).find(({ name }) => name === NAME)?.["cluster"];
  return isObject(own) ? asText(own["server"]) : undefined;
}

function others(entries: unknown): readonly unknown[] {
  const list: readonly unknown[] = Array.isArray(entries) ? entries : [];
  return list.filter((entry) => !isObject(entry) || entry["name"] !== NAME);
}
