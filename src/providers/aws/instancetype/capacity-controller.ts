/**
 * Reads from each registered node how much memory it has, and remembers it for the next node of the same type and
 * image. A node without memory in its status is ignored.
 * upstream: pkg/controllers/providers/instancetype/capacity
 */
import { NODE } from "../../../apis/core/node.ts";
import { CLAIM_KINDS, toClaim } from "../../../apis/hub/claim.ts";
import { condition } from "../../../apis/karpenter/conditions.ts";
import { INSTANCE_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { parseResources } from "../../../apis/resources.ts";
import { AWAIT_CHANGE, type Controller, source } from "../../../kube/manager/controller.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";

/** Learns from registered nodes how much memory a type really has. */
export function capacityController(deps: AwsDeps, { instanceTypes }: AwsParts): Controller {
  const log = deps.log.with({ controller: "providers.instancetype.capacity" });
  const nodes = deps.mirrors.of(NODE);
  return {
    name: "providers.instancetype.capacity",
    concurrency: 10,
    watches: CLAIM_KINDS.map((kind) =>
      source(kind, (native, _, before) =>
        before === undefined || progress(native) !== progress(before)
          ? [{ kind: kind.kind, name: native.metadata.name }]
          : [],
      ),
    ),
    reconcile: async ({ kind: name, name: claimName }) => {
      const kind = CLAIM_KINDS.find((one) => one.kind === name);
      const native = kind === undefined ? undefined : deps.mirrors.of(kind).get(claimName);
      if (native === undefined || progress(native) === "") return AWAIT_CHANGE;
      const { metadata, status } = toClaim(native);
      const node = nodes.get(status?.nodeName ?? "");
      const memory = bytesOf(node?.status?.capacity);
      const type = metadata.labels?.[INSTANCE_TYPE_LABEL_KEY];
      const image = status?.imageID;
      if (memory === 0 || type === undefined || image === undefined) return AWAIT_CHANGE;
      const promised = bytesOf(status?.capacity);
      if (instanceTypes.memory.learn(type, image, memory, promised)) {
        log.debug("a node reports other memory than was computed for its instance type", {
          "instance-type": type,
          image,
          memory,
          promised,
        });
      }
      return AWAIT_CHANGE;
    },
  };
}

/** How far a claim is: its node is read once when registered, and again when initialized. */
function progress(native: KubeObject): string {
  const claim = toClaim(native);
  const reached = ["Registered", "Initialized"].filter(
    (type) => condition(claim, type)?.status === "True",
  );
  return reached.join();
}

/** The amount in bytes. 0: the amount is not given. */
function bytesOf(amounts: Parameters<typeof parseResources>[0]): number {
  return parseResources(amounts)["memory"] ?? 0;
}
