/** The sandbox's API server with its workload controllers behind HTTPS, on the machine's clock, for kubectl. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SILENT } from "../../../src/base/log.ts";
import { Random } from "../../../src/base/random.ts";
import { SystemClock } from "../../../src/base/system-clock.ts";
import { createKubeClient } from "../../../src/kube/client/kube-client.ts";
import { createManager } from "../../../src/kube/manager/manager.ts";
import { LiveMirrors } from "../../../src/kube/mirror/mirrors.ts";
import { startHttps } from "../../../src/sandbox/apiserver/https/https-server.ts";
import { bareApiServer } from "../../../src/sandbox/testing/bare-api-server.ts";
import { workloadControllers } from "../../../src/sandbox/workloads/workloads.ts";
import { installCustomKinds } from "../apiserver/custom-kinds.ts";

export interface ServedSandbox {
  readonly kubeconfig: string;
  close(): Promise<void>;
}

export interface ServedWith {
  /** Whether Karpenter's kinds are installed. */
  readonly customKinds: boolean;
}

/** Starts the server, whose files are in `folder`. */
export async function serveSandbox(
  folder: string,
  { customKinds }: ServedWith,
): Promise<ServedSandbox> {
  const clock = new SystemClock();
  const random = new Random("kubectl");
  const server = bareApiServer({
    clock,
    random: random.fork("apiserver"),
  });
  const transport = server.transport({
    name: "system:kube-controller-manager",
    groups: ["system:masters"],
  });
  if (customKinds) await installCustomKinds(transport, clock);
  const client = createKubeClient(transport);
  const mirrors = new LiveMirrors({ client, clock, random: random.fork("mirrors"), log: SILENT });
  const deps = { clock, random: random.fork("parts"), kube: mirrors.client, mirrors, log: SILENT };
  const manager = createManager({ mirrors, clock, random: random.fork("manager"), log: SILENT });
  for (const controller of workloadControllers(deps)) manager.add(controller);
  await manager.start();
  const https = await startHttps(server, { port: 0, directory: join(folder, "pki") });
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, https.kubeconfig, { mode: 0o600 });
  return {
    kubeconfig,
    close: async () => {
      await https.close();
      await manager.stop();
      mirrors.close();
      server.close();
    },
  };
}
