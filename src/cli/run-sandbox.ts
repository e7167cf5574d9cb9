/** Runs the sandbox live until it is interrupted: API on loopback, kubeconfig, a line per event. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { PacedClock } from "../base/paced-clock.ts";
import { createSdkApi } from "../providers/aws/sdk.ts";
import { startHttps } from "../sandbox/apiserver/https-server.ts";
import { startAwsEndpoint } from "../sandbox/ec2/wire/server.ts";
import { openBox } from "./box.ts";
import { CliError } from "./cli-error.ts";
import type { SandboxFlags } from "./sandbox-flags.ts";
import { tracePrinter } from "./trace-printer.ts";

export async function runSandbox(flags: SandboxFlags): Promise<void> {
  // The SDK's advice on Node versions is for its users' authors, not for whoever tries a sandbox.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const say = (text: string): void => {
    // JSON output is for machines: what people should know goes beside it.
    (flags.output === "json" ? process.stderr : process.stdout).write(`${text}\n`);
  };
  const clock = new PacedClock(flags.speed);
  const closing: (() => Promise<void>)[] = [];
  const box = await openBox({
    ...flags,
    clock,
    trace: tracePrinter(flags.output, process.stdout),
    connectAws: async (sandbox) => {
      // The real SDK over the real wire protocols: what runs here is what runs against AWS.
      const endpoint = await startAwsEndpoint(sandbox.aws, { port: 0 });
      closing.push(() => endpoint.close());
      return createSdkApi({
        region: flags.region,
        endpoint: endpoint.url,
        credentials: { accessKeyId: "sandbox", secretAccessKey: "sandbox" },
      });
    },
  });
  closing.push(() => box.stop());
  const file = resolve(flags.kubeconfig);
  const https = await startHttps(box.sandbox.apiServer, {
    port: flags.port,
    directory: `${dirname(file)}/pki`,
  }).catch((error: unknown) => {
    throw new CliError((error as Error).message);
  });
  closing.push(() => https.close());
  writeKubeconfig(file, https.kubeconfig);
  say(greeting(flags, relative(process.cwd(), file), https.url));
  await interrupted();
  say("stopping…");
  for (const close of closing.reverse()) await close();
  clock.stop();
}

function writeKubeconfig(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    throw new CliError(
      `cannot write the kubeconfig ${file}: ${(error as NodeJS.ErrnoException).code ?? String(error)}; choose another with --kubeconfig`,
    );
  }
}

function greeting(flags: SandboxFlags, file: string, url: string): string {
  const nodepool =
    flags.provider === "kwok" ? "examples/kwok/nodepool.yaml" : "examples/v1/nodepool.yaml";
  return `
cluster ${flags.clusterName} is up at ${url} (Kubernetes ${flags.kubernetesVersion}, provider ${flags.provider}, speed ${flags.speed})

in another terminal:
  export KUBECONFIG=${file}
  kubectl apply -f ${nodepool} -f examples/inflate.yaml
  kubectl scale deployment inflate --replicas=5
  kubectl get nodeclaims,nodes,pods -w
  kubectl -n karpenter logs karpenter-0 -f

Ctrl-C ends it. What happens in the cluster:
`;
}

function interrupted(): Promise<void> {
  return new Promise((done) => {
    process.once("SIGINT", () => done());
    process.once("SIGTERM", () => done());
  });
}
