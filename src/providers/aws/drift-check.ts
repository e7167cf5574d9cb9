/**
 * Whether a node still has what its class selects now: image, security groups, subnet, reservation, placement group.
 * Gathers the facts for drift.ts. EC2 is asked by ID only if there is a difference.
 */
import type { AwsClass } from "../../apis/hub/aws-class.ts";
import { claimKubelet } from "../../apis/hub/claim.ts";
import { INSTANCE_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import {
  type DriftInput,
  differences,
  type Evidence,
  type NodeDifference,
  type ProvenKind,
  provenDrift,
} from "./drift.ts";
import { describeError } from "./errors.ts";
import { driftUnproven } from "./events.ts";
import { instanceIdOf } from "./instance/to-claim.ts";
import { typesOf } from "./nodeclass/resolve.ts";
import type { AwsDeps, AwsParts } from "./parts.ts";

/** The provider's settings and log, and its parts. */
interface Provider {
  readonly deps: AwsDeps;
  readonly parts: AwsParts;
}

/**
 * The reason of a drift that EC2 proves. A difference that it does not prove is logged, and an event on the claim says
 * so.
 */
export function selectionDrift(
  of: Provider,
  claim: NodeClaim,
  nodeClass: AwsClass,
): Promise<string | undefined> {
  return tellingFailure(of.deps, claim, compare(of, claim, nodeClass));
}

async function compare(
  of: Provider,
  claim: NodeClaim,
  nodeClass: AwsClass,
): Promise<string | undefined> {
  const { parts } = of;
  const id = instanceIdOf(claim.status?.providerID ?? "") ?? "";
  // A list that lacks what the class selected before causes a question by ID, too.
  const first = await inputOf(of, claim, nodeClass);
  const instance = await parts.batches.instance(id);
  const found = differences({ ...first, instance });
  const none: Evidence = { proofs: NO_PROOFS, again: undefined };
  if (found.length === 0) return provenDrift({ ...first, instance }, none).reason;
  // Without the feature gate ReservedCapacity a class selects no reservation, whatever its terms say.
  const { reservedCapacity = true } = of.deps.settings;
  const selecting = reservedCapacity ? nodeClass : { ...nodeClass, reservationTerms: [] };
  const evidence = await gather(parts, selecting, { found, instanceId: id });
  const input = { ...(await inputOf(of, claim, nodeClass)), instance };
  const { reason, doubted } = provenDrift(input, evidence);
  for (const one of doubted) tell(of, nodeClass, one);
  if (reason === undefined && doubted.length > 0)
    of.deps.events.publish(driftUnproven(claim, unproven(doubted)));
  return reason;
}

/** EC2's answer about the drift of a node. If EC2 fails, an event on the claim says so. */
export async function tellingFailure<T>(
  { events }: Pick<AwsDeps, "events">,
  claim: NodeClaim,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    events.publish(driftUnproven(claim, describeError(error)));
    throw error;
  }
}

function unproven(doubted: readonly NodeDifference[]): string {
  const reasons = doubted.map(({ reason }) => reason).join(", ");
  return `EC2's answers contradict its lists, or each other (${reasons})`;
}

const NO_PROOFS = {
  amis: new Map(),
  subnets: new Map(),
  securityGroups: new Map(),
  reservations: new Map(),
};

async function inputOf(
  { deps: { settings }, parts }: Provider,
  claim: NodeClaim,
  nodeClass: AwsClass,
): Promise<Omit<DriftInput, "instance">> {
  const { resolved, types } = await typesOf(settings, parts, nodeClass, claimKubelet(claim));
  const name = claim.metadata.labels?.[INSTANCE_TYPE_LABEL_KEY];
  return {
    claim,
    nodeClass,
    type: types.find((one) => one.name === name),
    ...resolved,
    candidates: parts.amis.candidatesOf(resolved.amis),
  };
}

async function gather(
  parts: AwsParts,
  selecting: AwsClass,
  { found, instanceId }: { readonly found: readonly NodeDifference[]; readonly instanceId: string },
): Promise<Evidence> {
  const prove = async (kind: ProvenKind): Promise<Evidence["proofs"][ProvenKind]> => {
    const ids = found
      .filter((one) => one.kind === kind)
      .flatMap(({ has, lacks }) => [...has, ...lacks]);
    return ids.length === 0 ? new Map() : parts[kind].prove(selecting, ids);
  };
  const ofInstance = found.some(({ kind }) => kind !== "amis");
  const [again, amis, subnets, securityGroups, reservations] = await Promise.all([
    ofInstance ? parts.batches.instance(instanceId) : undefined,
    prove("amis"),
    prove("subnets"),
    prove("securityGroups"),
    prove("reservations"),
  ]);
  return { proofs: { amis, subnets, securityGroups, reservations }, again };
}

function tell(
  { deps: { log }, parts: { doubts } }: Provider,
  nodeClass: AwsClass,
  { reason, has, lacks }: NodeDifference,
): void {
  const message =
    "EC2's lists differ from what a node has, and its answers by ID do not prove it; the node does not drift";
  if (doubts.isNews(`${nodeClass.id} ${reason}`, message))
    log.warn(message, { nodeClass: nodeClass.id, reason, has, lacks });
}
