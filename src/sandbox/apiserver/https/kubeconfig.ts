/** The kubeconfig with which kubectl and every other client reach the sandbox. */
import { stringify } from "yaml";

export interface KubeconfigInput {
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
  /** Name of cluster, context and user. Default `karpenter-sandbox`. */
  readonly name?: string;
}

export function kubeconfigText(input: KubeconfigInput): string {
  const { url, caPem, token, name = "karpenter-sandbox" } = input;
  return stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name,
          cluster: {
            server: url,
            "certificate-authority-data": Buffer.from(caPem).toString("base64"),
          },
        },
      ],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
      "current-context": name,
    },
    { lineWidth: 0 },
  );
}
