/**
 * The bed of upstream's suites on a real control plane: kube-apiserver reaches the operator's metrics by its pod
 * proxy and by port-forward. Upstream's suite `performance` reads them by both. Its specs hang without port-forward.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../src/testing/free-port.ts";
import { findKubectls, type Kubectl, kubectlOf } from "../e2e/kubectl-client.ts";
import { type Bed, openBed } from "../upstream/bed.ts";

const METRIC = "process_resident_memory_bytes";

let bed: Bed;
let kubectl: Kubectl;
let metricsPort: number;
let pod: string;

beforeAll(async () => {
  metricsPort = await freePort();
  bed = await openBed({
    target: "cluster",
    who: "ours",
    withDevices: false,
    metricsPort,
    tell: () => undefined,
  });
  const [found] = await findKubectls();
  if (found === undefined) throw new Error("kubectl is needed on PATH");
  kubectl = kubectlOf(found, { env: { ...process.env, KUBECONFIG: bed.kubeconfig } });
  pod = (
    await kubectl.ok("get pods -n kube-system -l app.kubernetes.io/name=karpenter -o name")
  ).trim();
});
afterAll(() => bed?.close());

it("serves the operator's metrics by the pod proxy", async () => {
  const name = pod.replace("pod/", "");
  const path = `/api/v1/namespaces/kube-system/pods/http:${name}:${metricsPort}/proxy/metrics`;
  const scrape = async () => (await kubectl.run(`get --raw ${path}`)).out;
  await expect.poll(scrape, { timeout: 60_000 }).toContain(METRIC);
});

it("serves the operator's metrics by port-forward", async () => {
  const local = await freePort();
  const forward = kubectl.follow(`port-forward -n kube-system ${pod} ${local}:${metricsPort}`);
  try {
    await forward.sees(/Forwarding from/, 60_000);
    const answer = await fetch(`http://127.0.0.1:${local}/metrics`);
    expect(await answer.text()).toContain(METRIC);
  } finally {
    await forward.interrupt();
  }
});
