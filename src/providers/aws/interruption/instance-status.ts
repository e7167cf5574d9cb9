/**
 * Acts on EC2's status checks of instances (impaired hosts and systems), and on scheduled events without a message. An
 * instance whose checks failed for two minutes cannot be drained, so its claim is deleted without a drain. If its Node
 * is still Ready, or if an event is only announced, it is drained. Failed checks count against the brake, because
 * checks of a whole region may be wrong. Announced events do not. Without permission the controller logs this once and
 * stops.
 * upstream: pkg/controllers/interruption/instancestatus
 */

import { NODE, type Node } from "../../../apis/core/node.ts";
import { claimKind, fromClaim, toClaim } from "../../../apis/hub/claim.ts";
import { NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY } from "../../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { machineOf } from "../../../apis/karpenter/provider-id.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import { deleteSame } from "../../../kube/client/delete-same.ts";
import { getIfThere } from "../../../kube/client/get-if-there.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { AWAIT_CHANGE, type Controller, requeueAfter } from "../../../kube/manager/controller.ts";
import { AwsError, allPages } from "../api/call.ts";
import type { InstanceStatus, StatusDetail } from "../api/instances.ts";
import { describeError } from "../errors.ts";
import type { AwsDeps } from "../parts.ts";
import { ClaimIndex } from "./claim-index.ts";
import { terminating } from "./reactions.ts";

const SWEEP_MS = 60_000;
/** How long status checks must fail before Karpenter acts, because a check may fail for a moment. */
const IMPAIRED_MS = 120_000;

const SWEEPS = [
  { Name: "instance-status.status", Values: ["impaired"] },
  { Name: "system-status.status", Values: ["impaired"] },
  {
    Name: "event.code",
    Values: [
      "instance-reboot",
      "system-reboot",
      "system-maintenance",
      "instance-retirement",
      "instance-stop",
    ],
  },
];

type StatusCategory = "InstanceStatus" | "SystemStatus" | "EventStatus";

/** What is wrong with an instance, worst first. Empty: nothing. */
function troublesOf(status: InstanceStatus, nowMs: number): readonly StatusCategory[] {
  const failing = (details: readonly StatusDetail[] = []): boolean =>
    details.some(({ Status, ImpairedSince }) => {
      const sinceMs = fromRfc3339(ImpairedSince);
      return Status === "failed" && sinceMs !== undefined && nowMs - sinceMs >= IMPAIRED_MS;
    });
  return [
    ...(failing(status.InstanceStatus?.Details) ? (["InstanceStatus"] as const) : []),
    ...(failing(status.SystemStatus?.Details) ? (["SystemStatus"] as const) : []),
    ...((status.Events ?? []).length > 0 ? (["EventStatus"] as const) : []),
  ];
}

/** Asks EC2 for failed status checks and scheduled events each minute, and deletes the claims of such instances. */
export function instanceStatusController(deps: AwsDeps): Controller {
  const name = "interruption.instancestatus";
  const claims = new ClaimIndex(deps.mirrors, () => undefined);
  const log = deps.log.with({ controller: name });
  /** Troubles that were counted already, as `<instance>/<category>`. */
  let counted = new Set<string>();
  return {
    name,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name }],
    reconcile: async () => {
      let found: readonly InstanceStatus[];
      try {
        found = await sweep(deps);
      } catch (error) {
        if (!(error instanceof AwsError) || error.code !== "UnauthorizedOperation") throw error;
        log.error("instance status is not followed: grant ec2:DescribeInstanceStatus and restart", {
          error: describeError(error),
        });
        return AWAIT_CHANGE;
      }
      const seen = new Set<string>();
      const failures: unknown[] = [];
      for (const status of found) {
        const [worst, ...others] = troublesOf(status, deps.clock.now());
        if (worst === undefined) continue;
        for (const claim of claims.ofInstance(status.InstanceId)) {
          for (const category of [worst, ...others]) {
            const key = `${status.InstanceId}/${category}`;
            seen.add(key);
            if (counted.has(key)) continue;
            deps.metrics.count("interruption_instance_status_unhealthy_total", { category });
          }
          // A claim that cannot be deleted does not stop the deletion of the others.
          await retire(deps, claim, [worst, ...others]).catch((reason) => failures.push(reason));
        }
      }
      counted = seen;
      if (failures.length > 0) throw failures[0];
      return requeueAfter(SWEEP_MS);
    },
  };
}

/** The instances that EC2 reports, each once. */
async function sweep({ api }: AwsDeps): Promise<readonly InstanceStatus[]> {
  const byId = new Map<string, InstanceStatus>();
  for (const filter of SWEEPS) {
    const pages = await allPages((token) =>
      api.ec2.describeInstanceStatus({ Filters: [filter], MaxResults: 1_000, ...token }),
    );
    for (const one of pages.flatMap((page) => page.InstanceStatuses)) byId.set(one.InstanceId, one);
  }
  return [...byId.values()].sort((a, b) => (a.InstanceId < b.InstanceId ? -1 : 1));
}

async function retire(
  deps: AwsDeps,
  claim: KubeObject,
  troubles: readonly [StatusCategory, ...StatusCategory[]],
): Promise<void> {
  const { metadata } = claim;
  const [category] = troubles;
  // Status checks of a rebooting instance fail, although its host is not broken.
  if (metadata.deletionTimestamp !== undefined || isRebooting(claim)) return;
  const { nodeName = "" } = (claim as { status?: { nodeName?: string } }).status ?? {};
  const node = deps.mirrors.of(NODE).get(nodeName);
  const objects = node === undefined ? [claim] : [claim, node];
  deps.events.publish(
    ...objects.map((object) => ({
      object,
      type: "Warning" as const,
      reason: "InstanceUnhealthy",
      message: `EC2 reports this instance as unhealthy (${category})`,
      dedupeValues: [object.metadata.uid ?? ""],
    })),
  );
  const isBegun =
    category !== "EventStatus" &&
    (await deps.endImpaired(toClaim(claim), (live) => hurry(deps, live)));
  // The brake limits only deletions because of failed checks, not those because of announced events.
  const isAnnounced = !isBegun && troubles.includes("EventStatus");
  if (!isBegun && !(isAnnounced && (await deleteSame(deps.kube, claimKind(claim), claim)))) return;
  deps.log.info("initiating delete from instance status", {
    [claim.kind ?? ""]: { name: metadata.name },
    category,
  });
  deps.events.publish(...terminating(objects));
}

/** Ends the drain at once: no process on the instance answers, so waiting would be useless. */
async function hurry(deps: AwsDeps, live: NodeClaim): Promise<void> {
  const { metadata, status } = live;
  const key = NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY;
  if (metadata.annotations?.[key] !== undefined) return;
  if (await isReadyNow(deps, status)) return;
  const annotations = { ...metadata.annotations, [key]: toRfc3339(deps.clock.now()) };
  const native = fromClaim(live);
  const after = { ...native, metadata: { ...native.metadata, annotations } };
  await patchObject(deps.kube, claimKind(live), native, after);
}

/**
 * Whether the instance's Node is Ready, read from the API server: if the checks of a whole zone fail, the checks may be
 * wrong. The Node is read by the name in the claim, or found in a list.
 */
async function isReadyNow({ kube }: AwsDeps, status: NodeClaim["status"]): Promise<boolean> {
  const machine = machineOf(status?.providerID);
  const isIts = (node: Node) => machineOf(node.spec?.providerID) === machine;
  const named = await nodeNamed(kube, status?.nodeName ?? "");
  const found =
    named !== undefined && isIts(named) ? [named] : (await kube.list(NODE)).items.filter(isIts);
  return found.some((node) =>
    node.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True"),
  );
}

async function nodeNamed(kube: AwsDeps["kube"], name: string): Promise<Node | undefined> {
  return name === "" ? undefined : getIfThere(kube, NODE, { name });
}
