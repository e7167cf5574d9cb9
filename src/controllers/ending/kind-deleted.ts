/**
 * Postpones the termination of nodes while the CustomResourceDefinition of their claims is being deleted or is missing.
 * Its deletion deletes every claim of the kind, often unintentionally. A person must first confirm it with an
 * annotation on the definition. Without the definition no replacement can be created.
 */
import {
  CUSTOM_RESOURCE_DEFINITION,
  definitionName,
} from "../../apis/core/custom-resource-definition.ts";
import { claimKind } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import { instanceAct } from "../../core/safety/acts.ts";
import type { Doubt } from "../../core/safety/judge.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import type { World } from "../world.ts";
import { tellHeld } from "./ended.ts";

/**
 * Annotation on a CustomResourceDefinition that is being deleted. `"true"`: the nodes of its claims may be terminated.
 */
const CONFIRM_DELETION_ANNOTATION_KEY = "karpenter.sh/confirm-deletion";

/** Milliseconds for which one reading of the definition is used for all claims. */
const ASKED_AGAIN_MS = 10_000;

type Answers = Map<string, { readonly atMs: number; readonly state: Promise<KindState> }>;

/** The state of a CustomResourceDefinition. `going`: it is being deleted, and nobody has confirmed that. */
type KindState = "there" | "going" | "missing";

const answersOf = new WeakMap<World["mirrors"], Answers>();

/**
 * Whether the CRD of the claim is being deleted without confirmation. If so, an event is published. Rejects if the CRD
 * cannot be read.
 */
export async function holdWhileKindGoes(world: World, claim: NodeClaim): Promise<boolean> {
  const kind = claimKind(claim);
  if ((await stateOf(world, kind)) !== "going") return false;
  const doubt = { code: "kindDeleted", message: whyHeld(kind, "going") } as const;
  tellHeld(world, { name: claim.metadata.name, act: instanceAct("claimDeleted"), doubt }, [claim]);
  return true;
}

/**
 * Why a Node without a claim may not be terminated because of its claim's kind: the CRD is being deleted without
 * confirmation, or is missing. Undefined: it may. Kubernetes deletes such Nodes once their claims are gone. Rejects if
 * the CRD cannot be read.
 */
export async function doubtWithoutKind(world: World, kind: Kind): Promise<Doubt | undefined> {
  const state = await stateOf(world, kind);
  return state === "there" ? undefined : { code: "kindDeleted", message: whyHeld(kind, state) };
}

function whyHeld(kind: Kind, state: "going" | "missing"): string {
  const name = definitionName(kind);
  return state === "going"
    ? `customresourcedefinition ${name} is being deleted, and all claims with it. To end their nodes: kubectl annotate customresourcedefinition ${name} ${CONFIRM_DELETION_ANNOTATION_KEY}=true`
    : `customresourcedefinition ${name} is missing, so no replacement can be created. Install it again (chart karpenter-crd)`;
}

function stateOf(world: World, kind: Kind): Promise<KindState> {
  let answers = answersOf.get(world.mirrors);
  if (answers === undefined) {
    answers = new Map();
    answersOf.set(world.mirrors, answers);
  }
  const nowMs = world.clock.elapsedMs();
  const known = answers.get(kind.kind);
  if (known !== undefined && nowMs - known.atMs < ASKED_AGAIN_MS) return known.state;
  const state = read(world, kind);
  answers.set(kind.kind, { atMs: nowMs, state });
  state.catch(() => answers.delete(kind.kind));
  return state;
}

async function read({ kube }: World, kind: Kind): Promise<KindState> {
  try {
    const { metadata } = await kube.get(CUSTOM_RESOURCE_DEFINITION, { name: definitionName(kind) });
    const isConfirmed = metadata.annotations?.[CONFIRM_DELETION_ANNOTATION_KEY] === "true";
    return metadata.deletionTimestamp !== undefined && !isConfirmed ? "going" : "there";
  } catch (error) {
    if (isNotFound(error)) return "missing";
    // Without the right to read CRDs nothing more can be checked.
    if (isForbidden(error)) return "there";
    throw error;
  }
}
