/** A client for the sandbox's API server, with the rights of an administrator. */
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { clusterAccess } from "../../src/kube/kubeconfig/kubeconfig.ts";
import { createHttpTransport } from "../../src/kube/transport/http-transport.ts";

export async function withClient<T>(
  kubeconfig: string,
  work: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const access = clusterAccess(kubeconfig, {}, new SystemClock());
  const transport = createHttpTransport({ ...access, userAgent: "test" });
  try {
    return await work(createKubeClient(transport));
  } finally {
    transport.close();
  }
}
