/** The target of an autoscaler, read and written through its scale subresource. Its kind is found by discovery. */
import type { HorizontalPodAutoscaler, Scale } from "../../../apis/autoscaling/kinds.ts";
import type { Kind } from "../../../apis/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { objectPath, updateRequest } from "../../../kube/client/request.ts";
import { isConflict } from "../../../kube/errors.ts";
import { discoverResources } from "../../scenario/resources.ts";

/** The Scale of a target. */
export interface ScaleTarget {
  readonly kind: Kind;
  readonly scale: Scale;
}

/** Reads and changes the replicas of any kind with the subresource `scale`. */
export interface Targets {
  /** Rejects if the kind or the object does not exist, or has no scale. */
  read(autoscaler: HorizontalPodAutoscaler): Promise<ScaleTarget>;
  /** Writes the number of replicas. A conflict is retried on the newest object. */
  resize(target: ScaleTarget, replicas: number): Promise<void>;
}

/** Number of attempts after conflicts. upstream: client-go util/retry, DefaultRetry */
const TRIES = 5;

/** Creates Targets that use the API server's discovery. */
export function createTargets(kube: KubeClient): Targets {
  const resources = discoverResources(kube);
  const scaleOf = async (kind: Kind, { name, namespace }: Scale["metadata"]): Promise<Scale> => {
    const path = objectPath(kind, { name, namespace }, "scale");
    return (await kube.raw({ method: "GET", path })).body as Scale;
  };
  return {
    read: async ({ metadata: { namespace }, spec: { scaleTargetRef } }) => {
      const { apiVersion = "", kind: kindName, name } = scaleTargetRef;
      const kind = await resources.kind(apiVersion, kindName).catch(() => {
        // The error names only the group, because upstream accepts any version of it.
        const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [];
        throw new Error(`no matches for kind "${kindName}" in group "${group}"`);
      });
      return {
        kind,
        scale: await scaleOf(kind, namespace === undefined ? { name } : { name, namespace }),
      };
    },
    resize: async ({ kind, scale }, replicas) => {
      let latest = scale;
      for (let attempt = 1; ; attempt++) {
        const next: Scale = { ...latest, spec: { ...latest.spec, replicas } };
        try {
          await kube.raw(updateRequest(kind, next, "scale"));
          return;
        } catch (error) {
          if (!isConflict(error) || attempt === TRIES) throw error;
          latest = await scaleOf(kind, scale.metadata);
        }
      }
    },
  };
}
