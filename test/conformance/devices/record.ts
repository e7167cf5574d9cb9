/**
 * Asks the real kube-scheduler about generated cases of dynamic resource allocation and records what it did: `npm
 * run cluster:record-devices`. Each pod is created after the answer about the one before.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../../src/apis/core/pod.ts";
import type { KubeObject } from "../../../src/apis/meta.ts";
import type { ResourceClaim } from "../../../src/apis/resource/kinds.ts";
import type { Transport } from "../../../src/kube/transport/transport.ts";
import { kubernetesVersion } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { CLASSES, type DeviceCase, deviceCase } from "./cases.ts";
import { CASES, type DeviceAnswer, devicesOf, RECORDING } from "./recording.ts";

const HEARD_MS = 60;
const GIVE_UP_MS = 10_000;
/**
 * DRAConsumableCapacity stays off: with it, kube-scheduler 1.34.4 panics with an index out of range in plain
 * cases.
 */
const GATES = "DRADeviceTaints=true,DRAPartitionableDevices=true";

const COLLECTIONS: Readonly<Record<string, string>> = {
  Node: "/api/v1/nodes",
  Pod: "/api/v1/namespaces/default/pods",
  DeviceClass: "/apis/resource.k8s.io/v1/deviceclasses",
  ResourceSlice: "/apis/resource.k8s.io/v1/resourceslices",
  ResourceClaim: "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
};

async function call<T = KubeObject>(
  transport: Transport,
  method: "GET" | "POST" | "DELETE" | "PATCH",
  ...[path, body]: readonly [path: string, body?: unknown]
): Promise<T> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "content-type": type };
  const answer = await transport.send({
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  if (answer.status >= 300 && method !== "DELETE")
    throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)} ${JSON.stringify(body)}`);
  return answer.body as T;
}

async function ask(transport: Transport, { nodes, slices, claims, pods }: DeviceCase) {
  const around = [...nodes, ...slices, ...claims];
  const make = (one: KubeObject) => call(transport, "POST", COLLECTIONS[one.kind ?? ""] ?? "", one);
  const pathOf = ({ kind = "", metadata }: KubeObject) => `${COLLECTIONS[kind]}/${metadata.name}`;
  await Promise.all(around.map(make));
  await sleep(HEARD_MS);
  const answers: DeviceAnswer[] = [];
  for (const pod of pods) {
    await make(pod);
    answers.push(await answerFor(transport, pathOf(pod)));
  }
  const held = await Promise.all(
    claims.map((one) => call<ResourceClaim>(transport, "GET", pathOf(one))),
  );
  await Promise.all(
    pods.map((one) => call(transport, "DELETE", `${pathOf(one)}?gracePeriodSeconds=0`)),
  );
  for (const one of around) {
    if (one.kind === "ResourceClaim")
      await call(transport, "PATCH", pathOf(one), { metadata: { finalizers: null } });
    await call(transport, "DELETE", `${pathOf(one)}?gracePeriodSeconds=0`);
  }
  return { pods: answers, devices: held.map(devicesOf) };
}

async function answerFor(transport: Transport, path: string): Promise<DeviceAnswer> {
  for (
    const untilMs = performance.now() + GIVE_UP_MS;
    performance.now() < untilMs;
    await sleep(15)
  ) {
    const { spec, status } = await call<Pod>(transport, "GET", path);
    if (spec.nodeName !== undefined) return { node: spec.nodeName };
    const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (condition?.status === "False") return { refused: condition.message ?? "" };
  }
  throw new Error(`no answer for ${path} in ${GIVE_UP_MS / 1000} s`);
}

const count = Number(process.argv[2] ?? CASES);
const directory = mkdtempSync(join(tmpdir(), "karpenter-record-"));
const plane = await startControlPlane({
  directory,
  programs: ["etcd", "kube-apiserver", "kube-scheduler"],
  extraArguments: {
    "kube-apiserver": [
      "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount",
      `--feature-gates=${GATES}`,
      // With device taints, the scheduler also reads DeviceTaintRules, which are v1alpha3.
      "--runtime-config=resource.k8s.io/v1alpha3=true",
    ],
    "kube-scheduler": [`--feature-gates=${GATES}`],
  },
  tell: (line) => process.stdout.write(`${line}\n`),
});
try {
  for (const one of CLASSES)
    await call(plane.transport, "POST", COLLECTIONS["DeviceClass"] ?? "", one);
  const answers: unknown[] = [];
  for (let index = 0; index < count; index++)
    answers.push(await ask(plane.transport, deviceCase(index)));
  const lines = answers.map((answer) => `    ${JSON.stringify(answer)}`).join(",\n");
  const head = `{\n  "kubernetes": "${kubernetesVersion()}",\n  "gates": "${GATES}",\n  "answers": [\n`;
  writeFileSync(RECORDING, `${head}${lines}\n  ]\n}\n`);
  process.stdout.write(`${answers.length} cases recorded\n`);
} finally {
  await plane.stop();
  if (process.env["KEEP"] === undefined) rmSync(directory, { recursive: true });
}
