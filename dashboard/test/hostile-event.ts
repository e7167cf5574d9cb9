/** An event whose text tries what texts of strangers try. */

import { EVENT } from "../../src/apis/core/kinds.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { clusterAccess } from "../../src/kube/kubeconfig/kubeconfig.ts";
import { createHttpTransport } from "../../src/kube/transport/http-transport.ts";

export async function postEvent(kubeconfig: string): Promise<void> {
  const access = clusterAccess(kubeconfig, {}, new SystemClock());
  const transport = createHttpTransport({ ...access, userAgent: "test" });
  const at = new Date().toISOString().replace(/\.\d+/, "");
  const hostile = '<img src=x onerror="window.pwned=1">{{7*7}}\u202egnp.exe\u001b[31m=cmd|x';
  await createKubeClient(transport).create(EVENT, {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "hostile", namespace: "default" },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "default", name: hostile },
    reason: "DisruptionBlocked",
    message: hostile,
    type: "Warning",
    firstTimestamp: at,
    lastTimestamp: at,
    source: { component: "karpenter" },
  });
  transport.close();
}
