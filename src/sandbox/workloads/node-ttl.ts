/**
 * Writes on each Node for how long its kubelet may cache Secrets and ConfigMaps. The more nodes, the longer. Nothing
 * in the sandbox reads it, but real Nodes have it.
 * upstream: kubernetes pkg/controller/ttl/ttl_controller.go
 */
import { NODE } from "../../apis/core/node.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import type { PartDeps } from "../parts.ts";

const ANNOTATION = "node.alpha.kubernetes.io/ttl";
/** Seconds by number of nodes. A lower step applies only when there are clearly fewer nodes. */
const STEPS = [
  { min: 0, max: 100, seconds: 0 },
  { min: 90, max: 500, seconds: 15 },
  { min: 450, max: 1_000, seconds: 30 },
  { min: 900, max: 2_000, seconds: 60 },
  { min: 1_800, max: Number.POSITIVE_INFINITY, seconds: 300 },
] as const;

/** Writes the annotation `node.alpha.kubernetes.io/ttl`. upstream: pkg/controller/ttl of Kubernetes. */
export function nodeTtlController({ kube, mirrors }: PartDeps): Controller {
  const nodes = mirrors.of(NODE);
  let at = 0;
  let count = 0;
  nodes.on((event) => {
    if (event === "updated") return;
    count += event === "added" ? 1 : -1;
    while (count > (STEPS[at]?.max ?? 0)) at++;
    while (count < (STEPS[at]?.min ?? 0)) at--;
  });

  async function reconcile({ name }: Request): Promise<Outcome> {
    const node = nodes.get(name);
    const wanted = String(STEPS[at]?.seconds);
    if (node === undefined || node.metadata.annotations?.[ANNOTATION] === wanted)
      return AWAIT_CHANGE;
    const annotations = { ...node.metadata.annotations, [ANNOTATION]: wanted };
    await patchObject(kube, NODE, node, { ...node, metadata: { ...node.metadata, annotations } });
    return AWAIT_CHANGE;
  }

  return {
    name: "node-ttl",
    watches: [
      source(NODE, ({ metadata }, event) =>
        event === "removed" ? [] : [{ kind: "Node", name: metadata.name }],
      ),
    ],
    concurrency: 4,
    reconcile,
  };
}
