/** Records the answers of a real kube-apiserver to all checks: `npm run cluster:record`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SystemClock } from "../../src/base/system-clock.ts";
import { kubernetesVersion } from "../cluster/binaries.ts";
import { startControlPlane } from "../cluster/control-plane.ts";
import { CHECKS } from "./apiserver/checks.ts";
import { installCustomKinds } from "./apiserver/custom-kinds.ts";
import { writeRecording } from "./apiserver/recorded.ts";
import { type Answer, runCheck } from "./apiserver/run-checks.ts";
import { startWebhooks } from "./apiserver/webhook-server.ts";

const clock = new SystemClock();
const webhooks = await startWebhooks();
const wanted = process.argv.slice(2);
for (const [group, checks] of Object.entries(CHECKS)) {
  if (wanted.length > 0 && !wanted.includes(group)) continue;
  const directory = mkdtempSync(join(tmpdir(), "karpenter-record-"));
  // Only the controllers that the checks need: others would write between the steps.
  const plane = await startControlPlane({
    directory,
    programs: ["etcd", "kube-apiserver", "kube-controller-manager"],
    controllers: [
      "clusterrole-aggregation-controller",
      "garbage-collector-controller",
      "namespace-controller",
      "resourcequota-controller",
      "serviceaccount-controller",
    ],
    tell: (line) => process.stdout.write(`${line}\n`),
  });
  try {
    await installCustomKinds(plane.transport, clock);
    const answers: Record<string, readonly Answer[]> = {};
    for (const check of checks) answers[check.id] = await runCheck(plane, clock, check, webhooks);
    writeRecording(group, { kubernetes: kubernetesVersion(), checks: answers });
    process.stdout.write(`${group}: ${checks.length} checks recorded\n`);
  } finally {
    await plane.stop();
    rmSync(directory, { recursive: true });
  }
}
await webhooks.close();
