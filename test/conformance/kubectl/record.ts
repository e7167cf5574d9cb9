/** Runs the script with every installed kubectl against a real control plane: `npm run cluster:record-kubectl`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubernetesVersion } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { findKubectls } from "../../e2e/kubectl-client.ts";
import { writeTranscripts } from "./recording.ts";
import { transcript } from "./run.ts";

const directory = mkdtempSync(join(tmpdir(), "karpenter-record-"));
const plane = await startControlPlane({
  directory,
  programs: ["etcd", "kube-apiserver", "kube-controller-manager"],
  // Nobody plays kubelets: without those that would say so.
  controllers: ["*", "-node-lifecycle-controller", "-pod-garbage-collector-controller"],
  tell: (line) => process.stdout.write(`${line}\n`),
});
try {
  const said: Record<string, readonly string[]> = {};
  for (const { path, version } of await findKubectls()) {
    const folder = mkdtempSync(join(directory, "home-"));
    const namespace = `demo${version.replace(".", "")}`;
    const { kubeconfig } = plane;
    said[version] = await transcript(
      { kubectl: path, kubeconfig, folder, namespace },
      { settleMs: 1_000 },
    );
    process.stdout.write(`kubectl ${version}\n`);
  }
  writeTranscripts({ kubernetes: kubernetesVersion(), said });
} finally {
  await plane.stop();
  rmSync(directory, { recursive: true });
}
