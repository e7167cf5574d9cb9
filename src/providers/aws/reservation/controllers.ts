/**
 * Follows changes of capacity reservations. A claim whose instance EC2 now counts as on-demand gets that capacity type.
 * A claim in a capacity block is replaced before the block ends.
 * upstream: pkg/controllers/capacityreservation
 */

import { EC2_NODE_CLASS } from "../../../apis/aws/ec2nodeclass.ts";
import {
  LABEL_CAPACITY_RESERVATION_ID,
  LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE,
  LABEL_CAPACITY_RESERVATION_TYPE,
} from "../../../apis/aws/labels.ts";
import { NODE } from "../../../apis/core/node.ts";
import { toAwsClass } from "../../../apis/hub/aws-class.ts";
import { CAPACITY_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { deleteSame } from "../../../kube/client/delete-same.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { tryEach } from "../../../kube/errors.ts";
import { type Controller, requeueAfter } from "../../../kube/manager/controller.ts";
import { instanceIdOf } from "../instance/to-claim.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { hasLeft, seemsOutside } from "./left-reservation.ts";

const SWEEP_MS = 60_000;
const GONE = [
  LABEL_CAPACITY_RESERVATION_ID,
  LABEL_CAPACITY_RESERVATION_TYPE,
  LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE,
];

/** Creates the controllers for ended reservations and for capacity blocks that expire. */
export function reservationControllers(deps: AwsDeps, parts: AwsParts): readonly Controller[] {
  return [
    singleton("capacityreservation.capacitytype", () => demote(deps, parts)),
    singleton("capacityreservation.expiration", () => expire(deps, parts)),
  ];
}

function singleton(name: string, sweep: () => Promise<void>): Controller {
  return {
    name,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name }],
    reconcile: async () => {
      await sweep();
      return requeueAfter(SWEEP_MS);
    },
  };
}

function reservedClaims({ mirrors }: AwsDeps): readonly NodeClaim[] {
  return mirrors
    .of(NODE_CLAIM)
    .list()
    .filter(({ metadata }) => metadata.labels?.[LABEL_CAPACITY_RESERVATION_ID] !== undefined)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/**
 * Writes the capacity type on-demand on claims whose instances have left their reservation. A node may drift by that
 * label, so EC2 must prove it (left-reservation.ts). What it does not prove is logged.
 */
async function demote(deps: AwsDeps, parts: AwsParts): Promise<void> {
  const claims = reservedClaims(deps);
  await tryEach(claims, async (claim) => {
    const name = claim.metadata.name;
    const id = reservationOf(claim);
    const instanceId = instanceIdOf(claim.status?.providerID ?? "");
    const first = instanceId === undefined ? undefined : await parts.batches.instance(instanceId);
    if (instanceId === undefined || !seemsOutside({ first, again: first })) return;
    const again = await parts.batches.instance(instanceId);
    const reservation = (await parts.reservations.byId([id])).get(id);
    const same = claims.filter((one) => reservationOf(one) === id).length;
    if (!hasLeft({ first, again, reservation, claims: same })) {
      const message =
        "EC2 describes a reserved instance without its reservation, and does not prove it; its claim stays reserved";
      if (parts.doubts.isNews(`reserved ${name}`, message))
        deps.log.warn(message, { NodeClaim: { name }, "capacity-reservation-id": id });
      return;
    }
    await patchObject(deps.kube, NODE_CLAIM, claim, demoted(claim));
    const node = deps.mirrors.of(NODE).get(claim.status?.nodeName ?? "");
    if (node !== undefined) await patchObject(deps.kube, NODE, node, demoted(node));
    deps.log.info("reserved instance is on-demand now", { NodeClaim: { name } });
  });
}

function reservationOf({ metadata }: NodeClaim): string {
  return metadata.labels?.[LABEL_CAPACITY_RESERVATION_ID] ?? "";
}

function demoted<T extends NodeClaim | { readonly metadata: NodeClaim["metadata"] }>(object: T): T {
  const labels = Object.fromEntries(
    Object.entries(object.metadata.labels ?? {}).filter(([key]) => !GONE.includes(key)),
  );
  const metadata = {
    ...object.metadata,
    labels: { ...labels, [CAPACITY_TYPE_LABEL_KEY]: "on-demand" },
  };
  return { ...object, metadata };
}

async function expire(deps: AwsDeps, parts: AwsParts): Promise<void> {
  const classes = deps.mirrors.of(EC2_NODE_CLASS).list().map(toAwsClass);
  const lists = await Promise.all(classes.map((one) => parts.reservations.list(one)));
  const listed = lists.flat().flatMap((one) => (one.state === "expiring" ? [one.id] : []));
  if (listed.length === 0) return;
  const expiring = await parts.reservations.expiring(listed);
  await tryEach(reservedClaims(deps), async (claim) => {
    const { name, deletionTimestamp } = claim.metadata;
    const id = reservationOf(claim);
    if (deletionTimestamp !== undefined || !expiring.has(id)) return;
    if (!(await deleteSame(deps.kube, NODE_CLAIM, claim))) return;
    deps.log.info("initiating delete for capacity block expiration", {
      NodeClaim: { name },
      "capacity-reservation-id": id,
    });
  });
}
