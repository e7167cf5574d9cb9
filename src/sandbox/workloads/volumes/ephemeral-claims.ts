/**
 * Creates the claim of each generic ephemeral volume. The pod owns the claim, so it is deleted with the pod.
 * upstream: kubernetes pkg/controller/volume/ephemeral
 */
import { PERSISTENT_VOLUME_CLAIM, type PersistentVolumeClaim } from "../../../apis/core/kinds.ts";
import { POD, type Pod, type Volume } from "../../../apis/core/pod.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  source,
} from "../../../kube/manager/controller.ts";
import { type PartDeps, podMirror } from "../../parts.ts";

/** Creates missing claims. It watches pods, and claims that are deleted while their pod exists. */
export function ephemeralClaimController({ kube, mirrors }: PartDeps): Controller {
  const pods = podMirror(mirrors);
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const pod = pods.get(`${namespace}/${name}`);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    for (const claim of ephemeralClaims(pod)) {
      if (claims.get(`${namespace}/${claim.metadata.name}`) !== undefined) continue;
      try {
        await kube.create(PERSISTENT_VOLUME_CLAIM, claim);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
    return AWAIT_CHANGE;
  }

  return {
    name: "ephemeral-volume",
    watches: [
      source(POD, (pod, event) =>
        event === "removed" || ephemeralClaims(pod).length === 0 ? [] : [requestFor("Pod", pod)],
      ),
      source(PERSISTENT_VOLUME_CLAIM, ({ metadata }, event) =>
        event !== "removed"
          ? []
          : (metadata.ownerReferences ?? [])
              .filter(({ kind, controller }) => kind === "Pod" && controller === true)
              .map(({ name }) => ({ kind: "Pod", namespace: metadata.namespace, name })),
      ),
    ],
    concurrency: 1,
    reconcile,
  };
}

function ephemeralClaims(pod: Pod): readonly PersistentVolumeClaim[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => claimOf(pod, volume) ?? []);
}

function claimOf({ metadata }: Pod, volume: Volume): PersistentVolumeClaim | undefined {
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template === undefined) return undefined;
  const { labels, annotations } = template.metadata ?? {};
  const owner = { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid ?? "" };
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: `${metadata.name}-${volume.name}`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: template.spec,
  };
}
