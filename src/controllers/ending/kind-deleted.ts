/**
 * Postpones the termination of nodes while the CustomResourceDefinition of their claims is being deleted. Its deletion
 * deletes every claim of the kind, often unintentionally. A person must first confirm it with an annotation on the
 * definition.
 */
import {
  CUSTOM_RESOURCE_DEFINITION,
  definitionName,
} from "../../apis/core/custom-resource-definition.ts";
import { claimKind } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import { instanceAct } from "../../core/safety/acts.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import type { World } from "../world.ts";
import { tellHeld } from "./ended.ts";

/**
 * Annotation on a CustomResourceDefinition that is being deleted. `"true"`: the nodes of its claims may be terminated.
 */
const CONFIRM_DELETION_ANNOTATION_KEY = "karpenter.sh/confirm-deletion";

/** Milliseconds for which one reading of the definition is used for all claims. */
const ASKED_AGAIN_MS = 10_000;

type Answers = Map<string, { readonly atMs: number; readonly isGoing: Promise<boolean> }>;

const answersOf = new WeakMap<World["mirrors"], Answers>();

/**
 * Whether the CRD of the claim is being deleted without confirmation. If so, an event is published. Rejects if the CRD
 * cannot be read.
 */
export async function holdWhileKindGoes(world: World, claim: NodeClaim): Promise<boolean> {
  const kind = claimKind(claim);
  if (!(await isUnconfirmed(world, kind))) return false;
  const name = definitionName(kind);
  const message = `customresourcedefinition ${name} is being deleted, and all claims with it. To end their nodes: kubectl annotate customresourcedefinition ${name} ${CONFIRM_DELETION_ANNOTATION_KEY}=true`;
  const act = instanceAct("claimDeleted");
  const doubt = { code: "kindDeleted", message } as const;
  tellHeld(world, { name: claim.metadata.name, act, doubt }, [claim]);
  return true;
}

function isUnconfirmed(world: World, kind: Kind): Promise<boolean> {
  let answers = answersOf.get(world.mirrors);
  if (answers === undefined) {
    answers = new Map();
    answersOf.set(world.mirrors, answers);
  }
  const nowMs = world.clock.elapsedMs();
  const known = answers.get(kind.kind);
  if (known !== undefined && nowMs - known.atMs < ASKED_AGAIN_MS) return known.isGoing;
  const isGoing = read(world, kind);
  answers.set(kind.kind, { atMs: nowMs, isGoing });
  isGoing.catch(() => answers.delete(kind.kind));
  return isGoing;
}

async function read({ kube }: World, kind: Kind): Promise<boolean> {
  try {
    const { metadata } = await kube.get(CUSTOM_RESOURCE_DEFINITION, { name: definitionName(kind) });
    const isConfirmed = metadata.annotations?.[CONFIRM_DELETION_ANNOTATION_KEY] === "true";
    return metadata.deletionTimestamp !== undefined && !isConfirmed;
  } catch (error) {
    // The claim exists, so its kind exists, too. Without the right to read CRDs, or on a server without CRDs, nothing
    // more can be checked.
    if (isNotFound(error) || isForbidden(error)) return false;
    throw error;
  }
}
