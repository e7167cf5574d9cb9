/**
 * Creates an Event whose texts contain markup, a template expression, a text direction mark and an escape sequence.
 * The page must show them as plain text.
 */
import { EVENT } from "../../src/apis/core/kinds.ts";
import { withClient } from "./kube.ts";

export async function postEvent(kubeconfig: string, name: string): Promise<void> {
  const at = new Date().toISOString().replace(/\.\d+/, "");
  const hostile = '<img src=x onerror="window.pwned=1">{{7*7}}\u202egnp.exe\u001b[31m=cmd|x';
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "default" },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "default", name: hostile },
    reason: "DisruptionBlocked",
    message: hostile,
    type: "Warning",
    firstTimestamp: at,
    lastTimestamp: at,
    source: { component: "karpenter" },
  } as const;
  await withClient(kubeconfig, (client) => client.create(EVENT, event));
}
