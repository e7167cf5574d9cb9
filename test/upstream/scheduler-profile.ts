/**
 * The kube-scheduler of upstream's kind cluster: a second profile spreads pods that ask for it by
 * `spec.schedulerName`. Upstream's specs look for the configuration's path in the scheduler's pod, as kubeadm makes it.
 * Upstream: hack/kind/cluster.yaml, test/suites/regression/defaultconstraints_test.go.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { Pod } from "../../src/apis/core/pod.ts";
import { coreFolder } from "./builds.ts";

const MOUNTED = "/etc/kubernetes/karpenter-scheduler-config/kube-scheduler-config.yaml";

/**
 * Writes upstream's configuration with this cluster's connection, which the sandbox's scheduler ignores. Returns the
 * path of the file.
 */
export function schedulerConfig(directory: string): string {
  const folder = join(coreFolder(), "test", "suites", "regression", "testdata");
  const config = parse(readFileSync(join(folder, "kube-scheduler-config.yaml"), "utf8")) as object;
  // With a configuration file, the scheduler ignores the flags for its connection.
  const clientConnection = { kubeconfig: join(directory, "kubeconfig"), qps: 1_000, burst: 2_000 };
  const file = join(directory, "kube-scheduler.yaml");
  writeFileSync(file, stringify({ ...config, clientConnection }));
  return file;
}

/** The mirror pod of the scheduler, which runs as a plain process here. */
export function schedulerPod(nodeName: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `kube-scheduler-${nodeName}`,
      namespace: "kube-system",
      labels: { component: "kube-scheduler", tier: "control-plane" },
      annotations: { "kubernetes.io/config.mirror": "kube-scheduler" },
    },
    spec: {
      nodeName,
      priorityClassName: "system-node-critical",
      containers: [
        {
          name: "kube-scheduler",
          image: "kube-scheduler",
          command: ["kube-scheduler", `--config=${MOUNTED}`],
        },
      ],
    },
  } as Pod;
}
