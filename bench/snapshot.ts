/**
 * `tsx bench/snapshot.ts NODES FOLDER`: writes the cluster of the sweep bench as `kubectl get -o json` would, and
 * `FOLDER.types.json` for `--instance-types`. Each file has at most ten thousand objects. With it, `karpenter explain`
 * and `karpenter simulate` can be timed on a large cluster, as a user waits for them.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join as pathOf } from "node:path";
import type { Node } from "../src/apis/core/node.ts";
import type { PersistentVolume } from "../src/apis/core/kinds.ts";
import type { Pod, PodSpec } from "../src/apis/core/pod.ts";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import type { ClusterState } from "../src/core/state/cluster.ts";
import { DAEMON_SET, drawCluster } from "./sweep-cluster.ts";
import { upstreamMix } from "./workloads.ts";

const PER_FILE = 10_000;
const CREATED = "2026-01-01T00:00:00Z";

const [count, folder] = [Number(process.argv[2]), process.argv[3] ?? ""];
if (!(count > 0) || folder === "") throw new Error("tsx bench/snapshot.ts NODES FOLDER");
mkdirSync(folder, { recursive: true });

/** Collects objects of one kind, and writes them as a List when a file is full. */
class Files {
  readonly #head: { readonly apiVersion: string; readonly kind: string };
  #items: object[] = [];
  #written = 0;

  constructor(apiVersion: string, kind: string) {
    this.#head = { apiVersion, kind };
  }

  add(object: object): void {
    if (this.#items.push({ ...object, ...this.#head }) === PER_FILE) this.write();
  }

  write(): void {
    if (this.#items.length === 0) return;
    const name = `${this.#head.kind.toLowerCase()}-${String(this.#written++).padStart(3, "0")}.json`;
    writeFileSync(pathOf(folder, name), JSON.stringify({ apiVersion: "v1", kind: "List", items: this.#items }));
    this.#items = [];
  }
}

function writeAll(apiVersion: string, kind: string, objects: readonly object[]): void {
  const files = new Files(apiVersion, kind);
  for (const one of objects) files.add(one);
  files.write();
}

const CLAIMED = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const STORED = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } };
const asStored = ({ spec, ...one }: PersistentVolume) => ({
  ...one,
  spec: { ...spec, ...STORED, csi: { ...spec.csi, volumeHandle: one.metadata.name } },
});

const { input, natives, pdbs, join } = drawCluster(count, "tight");
const claims = new Files("karpenter.sh/v1", "NodeClaim");
const nodes = new Files("v1", "Node");
const pods = new Files("v1", "Pod");
const old = <T extends { readonly metadata: object }>(one: T): T => ({
  ...one,
  metadata: { ...one.metadata, creationTimestamp: CREATED },
});
/** Adds images, which the API server requires and the sweep omits. */
const withImages = <T extends Pick<PodSpec, "containers">>(spec: T): T => ({
  ...spec,
  containers: spec.containers.map((one) => ({ image: "bench", ...one })),
});
const { template } = DAEMON_SET.spec;
const daemons = { ...DAEMON_SET.spec, template: { ...template, spec: withImages(template.spec as PodSpec) } };
const writer = {
  updateClaim: (claim: NodeClaim) => claims.add(old(claim)),
  updateNode: (node: Node) => nodes.add(old(node)),
  updatePod: (pod: Pod) => pods.add({ ...pod, spec: withImages(pod.spec) }),
} as unknown as ClusterState;
for (let index = 0; index < count; index++) join(writer, index);
for (const one of [claims, nodes, pods]) one.write();
const { claims: volumeClaims, volumes, classes, csiNodes } = input.volumes;
writeAll("karpenter.sh/v1", "NodePool", natives);
writeAll("apps/v1", "DaemonSet", [{ ...DAEMON_SET, spec: daemons }]);
writeAll("policy/v1", "PodDisruptionBudget", pdbs);
writeAll("v1", "Namespace", input.namespaces);
writeAll("v1", "PersistentVolumeClaim", volumeClaims.map((one) => ({ ...one, spec: { ...one.spec, ...CLAIMED } })));
writeAll("v1", "PersistentVolume", volumes.map(asStored));
writeAll("storage.k8s.io/v1", "StorageClass", classes);
writeAll("storage.k8s.io/v1", "CSINode", csiNodes);
writeFileSync(`${folder}.types.json`, JSON.stringify(upstreamMix("sweep", 0).instanceTypes));
