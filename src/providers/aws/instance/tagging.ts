/**
 * Adds tags that are known only after a node has joined: the names of its Node and claim. Existing keys are kept, so a
 * Name given by the user wins. v1alpha5 named its instances at launch.
 * upstream: pkg/controllers/nodeclaim/tagging
 */
import {
  ANNOTATION_CLUSTER_NAME_TAGGED,
  ANNOTATION_INSTANCE_TAGGED,
} from "../../../apis/aws/labels.ts";
import { claimGeneration } from "../../../apis/hub/claim.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { AWAIT_CHANGE, type Controller, source } from "../../../kube/manager/controller.ts";
import { Pace } from "../batch/pace.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { fromTagList, registrationTags, type Tags, toTagList } from "../tags/tags.ts";
import { checkNotShifted, zoneOf } from "../zonalshift/guard.ts";
import { instanceIdOf } from "./to-claim.ts";

/** Tags instances with the names of their claim and node, once both are known. */
export function taggingController(deps: AwsDeps, parts: AwsParts): Controller {
  /** Tags by instance. One call reads them for all instances that wait for tags, because nodes often join together. */
  const lookedUp = new Map<string, Promise<Tags | undefined>>();
  const pace = new Pace(deps.clock);

  function tagsOf(id: string): Promise<Tags | undefined> {
    if (!lookedUp.has(id)) {
      lookedUp.clear();
      const waiting = deps.mirrors.of(NODE_CLAIM).list().filter(isTaggable);
      const ids = waiting.map((claim) => instanceIdOf(claim.status?.providerID ?? "") ?? "");
      for (const one of new Set([id, ...ids.filter((other) => other !== "").sort()])) {
        const tags = parts.batches
          .instance(one)
          .then((instance) => (instance === undefined ? undefined : fromTagList(instance.Tags)));
        // Callers that await the promise see the failure. Without this handler, a failure that no caller awaits would
        // end the process.
        tags.catch(() => undefined);
        lookedUp.set(one, tags);
      }
    }
    const found = lookedUp.get(id) ?? Promise.resolve(undefined);
    lookedUp.delete(id);
    return found;
  }

  return {
    name: "nodeclaim.tagging",
    // One instance at a time: CreateTags has a low rate limit.
    concurrency: 1,
    watches: [
      source(NODE_CLAIM, (claim) =>
        isTaggable(claim) ? [{ kind: NODE_CLAIM.kind, name: claim.metadata.name }] : [],
      ),
    ],
    reconcile: async ({ name }) => {
      const claim = deps.mirrors.of(NODE_CLAIM).get(name);
      if (claim === undefined || !isTaggable(claim)) return AWAIT_CHANGE;
      const providerId = claim.status?.providerID ?? "";
      checkNotShifted(deps, parts, zoneOf(providerId), `instance ${providerId} is not tagged`);
      const id = instanceIdOf(providerId);
      const existing = id === undefined ? undefined : await tagsOf(id);
      if (id === undefined || existing === undefined) return AWAIT_CHANGE;
      const tags = registrationTags(claim, existing, deps.settings.clusterName);
      if (Object.keys(tags).length > 0) {
        const Resources = [id];
        const input = { Resources, Tags: toTagList(tags) };
        await pace.run(() => deps.api.ec2.createTags(input));
      }
      const annotations = {
        ...claim.metadata.annotations,
        [ANNOTATION_INSTANCE_TAGGED]: "true",
        ...(claimGeneration(claim) === "v1" ? { [ANNOTATION_CLUSTER_NAME_TAGGED]: "true" } : {}),
      };
      const after = { ...claim, metadata: { ...claim.metadata, annotations } };
      await patchObject(deps.kube, NODE_CLAIM, claim, after);
      return AWAIT_CHANGE;
    },
  };
}

function isTaggable({ metadata, status }: NodeClaim): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    (status?.nodeName ?? "") !== "" &&
    (status?.providerID ?? "").startsWith("aws:") &&
    metadata.annotations?.[ANNOTATION_INSTANCE_TAGGED] !== "true"
  );
}
