/**
 * Runs a script with every installed kubectl against a real control plane: `npm run cluster:record-kubectl`.
 * Other scripts and single versions are arguments: `-- kubectl-rarer 1.27 1.33`, `-- kubectl-disruption 1.27
 * 1.33`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SystemClock } from "../../../src/base/system-clock.ts";
import { kubernetesVersion } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { findKubectls } from "../../e2e/kubectl-client.ts";
import { installCustomKinds } from "../apiserver/custom-kinds.ts";
import { writeTranscripts } from "./recording.ts";
import { SCRIPTS, type ScriptName, transcript } from "./run.ts";

const [name = "kubectl", ...versions] = process.argv.slice(2);
if (!isScript(name))
  throw new Error(`no script is called ${name}: there are ${Object.keys(SCRIPTS).join(", ")}`);
const directory = mkdtempSync(join(tmpdir(), "karpenter-record-"));
const plane = await startControlPlane({
  directory,
  programs: ["etcd", "kube-apiserver", "kube-controller-manager"],
  // Without kubelets, these controllers would mark nodes as lost and delete pods.
  controllers: ["*", "-node-lifecycle-controller", "-pod-garbage-collector-controller"],
  tell: (line) => process.stdout.write(`${line}\n`),
});
try {
  if (name === "kubectl-disruption") await installCustomKinds(plane.transport, new SystemClock());
  const asked = (await findKubectls()).filter(
    ({ version }) => versions.length === 0 || versions.includes(version),
  );
  const said: Record<string, readonly string[]> = {};
  for (const { path, version } of asked) {
    const folder = mkdtempSync(join(directory, "home-"));
    const namespace = `demo${version.replace(".", "")}`;
    const session = { kubectl: path, kubeconfig: plane.kubeconfig, folder, namespace };
    said[version] = await transcript(session, { settleMs: 1_000 }, SCRIPTS[name]);
    process.stdout.write(`kubectl ${version}\n`);
  }
  writeTranscripts(name, { kubernetes: kubernetesVersion(), said });
} finally {
  await plane.stop();
  rmSync(directory, { recursive: true });
}

function isScript(text: string): text is ScriptName {
  return text in SCRIPTS;
}
