/**
 * Creates ResourceClaims for pods with claim templates. Removes deleted and ended pods from the consumers of
 * their claims, and frees the devices of a claim without consumers.
 * upstream: kubernetes pkg/controller/resourceclaim
 */
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { controllerOf } from "../../../apis/meta.ts";
import {
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  type ResourceClaim,
  type ResourceClaimTemplate,
} from "../../../apis/resource/kinds.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { isNotFound } from "../../../kube/errors.ts";
import type { EventRecorder } from "../../../kube/events/events.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  source,
} from "../../../kube/manager/controller.ts";
import type { Mirror } from "../../../kube/mirror/mirror.ts";
import { CLAIM_FINALIZER } from "../../kube-scheduler/devices/assumed-claims.ts";
import {
  claimReferences,
  claimStatuses,
  type PodClaimStatus,
} from "../../kube-scheduler/devices/pod-claims.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../../parts.ts";

/** Annotation on a claim: the name of the pod's claim entry for which it was created. */
const CLAIM_NAME_ANNOTATION = "resource.kubernetes.io/pod-claim-name";

/** The resource-claim controller of kube-controller-manager. */
export function resourceClaimController(deps: PartDeps): Controller {
  const parts = new ResourceClaims(deps);
  const { pods } = parts;
  return {
    name: "resourceclaim",
    watches: [
      source(POD, requestsOfPod),
      source(RESOURCE_CLAIM, (claim) => [requestFor("ResourceClaim", claim)]),
      source(RESOURCE_CLAIM_TEMPLATE, ({ metadata }, event) =>
        event === "removed"
          ? []
          : pods
              .list()
              .filter((pod) => pod.metadata.namespace === metadata.namespace)
              .filter((pod) =>
                claimReferences(pod).some((one) => one.resourceClaimTemplateName === metadata.name),
              )
              .map((pod) => requestFor("Pod", pod)),
      ),
    ],
    concurrency: 1,
    reconcile: (request) => parts.reconcile(request),
  };
}

function requestsOfPod(pod: Pod): Request[] {
  if (claimReferences(pod).length === 0) return [];
  const ofClaims = [...claimReferences(pod), ...claimStatuses(pod)].flatMap(
    ({ resourceClaimName }) =>
      resourceClaimName === undefined
        ? []
        : [{ kind: "ResourceClaim", namespace: pod.metadata.namespace, name: resourceClaimName }],
  );
  return [requestFor("Pod", pod), ...ofClaims];
}

class ResourceClaims {
  readonly pods: Mirror<Pod>;
  readonly #kube: KubeClient;
  readonly #claims: Mirror<ResourceClaim>;
  readonly #templates: Mirror<ResourceClaimTemplate>;
  readonly #recorder: EventRecorder;

  constructor(deps: PartDeps) {
    this.#kube = deps.kube;
    this.pods = podMirror(deps.mirrors);
    this.#claims = deps.mirrors.of(RESOURCE_CLAIM);
    this.#templates = deps.mirrors.of(RESOURCE_CLAIM_TEMPLATE);
    this.#recorder = createPartRecorder(deps, "resource_claim");
  }

  async reconcile({ kind, namespace, name }: Request): Promise<Outcome> {
    const key = `${namespace}/${name}`;
    if (kind === "Pod") await this.#syncPod(this.pods.get(key));
    else await this.#syncClaim(this.#claims.get(key));
    return AWAIT_CHANGE;
  }

  async #syncPod(pod: Pod | undefined): Promise<void> {
    if (pod === undefined || isDone(pod) || pod.metadata.deletionTimestamp !== undefined) return;
    const known = claimStatuses(pod);
    const fresh: PodClaimStatus[] = [];
    for (const { name, resourceClaimTemplateName } of claimReferences(pod)) {
      if (resourceClaimTemplateName === undefined || known.some((one) => one.name === name))
        continue;
      const resourceClaimName =
        this.#madeBefore(pod, name) ?? (await this.#make(pod, name, resourceClaimTemplateName));
      if (resourceClaimName !== undefined) fresh.push({ name, resourceClaimName });
    }
    if (fresh.length === 0) return;
    const status = { ...pod.status, resourceClaimStatuses: [...known, ...fresh] };
    await patchObject(this.#kube, POD, pod, { ...pod, status } as Pod);
  }

  /** The name of a claim that was created earlier for the pod, but is not in the pod's status yet. */
  #madeBefore({ metadata }: Pod, name: string): string | undefined {
    return this.#claims
      .list()
      .find(
        (claim) =>
          controllerOf(claim)?.uid === metadata.uid &&
          claim.metadata.annotations?.[CLAIM_NAME_ANNOTATION] === name,
      )?.metadata.name;
  }

  async #make(pod: Pod, name: string, templateName: string): Promise<string | undefined> {
    const template = this.#templates.get(`${pod.metadata.namespace}/${templateName}`);
    if (template === undefined) {
      const problem = `resource claim template "${templateName}": resourceclaimtemplate.resource.k8s.io "${templateName}" not found`;
      this.#recorder.publish({
        object: subject(POD, pod),
        type: "Warning",
        reason: "FailedResourceClaimCreation",
        message: `PodResourceClaim ${name}: ${problem}`,
      });
      return undefined;
    }
    const made = await this.#kube.create(RESOURCE_CLAIM, claimFrom(template, pod, name));
    return made.metadata.name;
  }

  async #syncClaim(claim: ResourceClaim | undefined): Promise<void> {
    if (claim === undefined) return;
    const { reservedFor = [], allocation, devices: _, ...rest } = claim.status ?? {};
    const stays = reservedFor.filter((one) => one.resource !== "pods" || this.#uses(claim, one));
    const isFree = stays.length === 0 && reservedFor.length > 0;
    if (
      isFree ||
      (allocation !== undefined &&
        claim.metadata.deletionTimestamp !== undefined &&
        stays.length === 0)
    ) {
      const finalizers = claim.metadata.finalizers?.filter((one) => one !== CLAIM_FINALIZER) ?? [];
      const released = await patchObject(this.#kube, RESOURCE_CLAIM, claim, {
        ...claim,
        status: rest,
      });
      if (released !== undefined)
        await patchObject(this.#kube, RESOURCE_CLAIM, released, {
          ...released,
          metadata: { ...released.metadata, finalizers },
        });
    } else if (stays.length < reservedFor.length) {
      const status = { ...claim.status, reservedFor: stays };
      await patchObject(this.#kube, RESOURCE_CLAIM, claim, { ...claim, status });
    }
    await this.#removeIfDone(claim);
  }

  #uses(
    { metadata: { namespace } }: ResourceClaim,
    { name, uid }: { readonly name: string; readonly uid: string },
  ): boolean {
    const pod = this.pods.get(`${namespace}/${name}`);
    return pod !== undefined && pod.metadata.uid === uid && !isDone(pod);
  }

  /** Deletes a claim that was created for a pod when the pod has ended, even if the pod still exists. */
  async #removeIfDone(claim: ResourceClaim): Promise<void> {
    const { name, namespace, deletionTimestamp } = claim.metadata;
    const owner = controllerOf(claim);
    if (owner?.kind !== "Pod" || deletionTimestamp !== undefined) return;
    const pod = this.pods.get(`${namespace}/${owner.name}`);
    if (pod?.metadata.uid !== owner.uid || !isDone(pod)) return;
    try {
      await this.#kube.delete(RESOURCE_CLAIM, { name, namespace });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Whether the pod has ended for good. */
function isDone({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function claimFrom({ spec }: ResourceClaimTemplate, pod: Pod, name: string): ResourceClaim {
  const { labels, annotations } = spec.metadata ?? {};
  const { name: podName, namespace, uid = "" } = pod.metadata;
  const owner = { apiVersion: "v1", kind: "Pod", name: podName, uid };
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      name: "",
      generateName: `${podName}-${name}-`,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [CLAIM_NAME_ANNOTATION]: name },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: spec.spec,
  };
}
