/** Checks of the controller itself: its Deployment, its pods and who leads. */
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import type { CheckedItem } from "../checks/checks.ts";
import { isSameLease, type LeaseRef, leaseOf, settingOf } from "../checks/deployments.ts";
import type { DoctorFacts } from "./facts.ts";

const LEASE_SECONDS = 15;

/**
 * Checks the Deployments and their pods. A sandbox has none, and neither has a process that leads without a Deployment.
 */
export function checkController(facts: DoctorFacts): readonly CheckedItem[] {
  const { deployments, controllerPods, namespace, isNamespaceMissing, isSandbox } = facts;
  const area = "controller";
  if (deployments.length === 0) {
    if (isSandbox || isNamespaceMissing || holders(facts).length > 0) return [];
    return [
      {
        area,
        item: "none",
        state: "todo",
        says: `No Deployment of Karpenter is in namespace ${namespace}`,
        remedy:
          "install the chart (docs/guide/install.md), or give its namespace by -n: kubectl get deployments -A -l app.kubernetes.io/name=karpenter lists them",
      },
    ];
  }
  const stopped = deployments.filter(({ spec }) => spec.replicas === 0);
  const waiting = controllerPods.filter(
    (pod) => pod.metadata.deletionTimestamp === undefined && !isReady(pod),
  );
  const checks = [
    ...stopped.map(({ metadata: { name } }) => ({ area, item: name, ...whyStopped(facts, name) })),
    ...waiting.map((pod): CheckedItem => ({ area, item: pod.metadata.name, ...whyNotReady(pod) })),
  ];
  if (checks.length > 0) return checks;
  if (controllerPods.length > 0)
    return [{ area, item: "pods", state: "ready", says: readyText(controllerPods.length) }];
  return [
    {
      area,
      item: "pods",
      state: "todo",
      says: "Its Deployment has no pod",
      remedy: `kubectl -n ${namespace} get events: they say what refuses its pods`,
    },
  ];
}

/**
 * Why a Deployment has no pods. After a hand-over this is normal for the earlier controller, because another one leads.
 */
function whyStopped(
  facts: DoctorFacts,
  name: string,
): Pick<CheckedItem, "state" | "says" | "remedy"> {
  if (holders(facts).length > 0)
    return { state: "ready", says: "It is scaled to 0, and another controller leads" };
  const remedy = `kubectl -n ${facts.namespace} scale deployment ${name} --replicas=2`;
  return { state: "todo", says: "It is scaled to 0", remedy };
}

/** Checks that some process holds the Lease. */
export function checkLead(facts: DoctorFacts): readonly CheckedItem[] {
  const { leases, isSandbox, namespace } = facts;
  const area = "lease";
  if (leases.length === 0 && isSandbox)
    return [
      {
        area,
        item: "none",
        state: "ready",
        says: "Karpenter runs in the sandbox's process, alone, and needs none",
      },
    ];
  const remedy =
    whyNoneCanLead(facts) ??
    `none of the controller's pods can lead; their log says why: kubectl -n ${namespace} logs -l app.kubernetes.io/name=karpenter`;
  const used = facts.deployments.filter(leads).map(leaseOf);
  const homeless = used.filter((ref) => facts.missingLeaseNamespaces.includes(ref.namespace));
  if (leases.length === 0 && homeless.length === 0)
    return [
      {
        area,
        item: "none",
        state: "todo",
        says: "No Karpenter has ever led in this cluster",
        remedy,
      },
    ];
  const missing = used.filter(
    (ref) => !homeless.includes(ref) && !leases.some((one) => isSameLease(ref, one.metadata)),
  );
  const todo = (ref: LeaseRef, says: string, remedy: string): CheckedItem => {
    return { area, item: `${ref.namespace}/${ref.name}`, state: "todo", says, remedy };
  };
  return [
    ...homeless.map((ref) =>
      todo(
        ref,
        `Namespace ${ref.namespace} of the Lease does not exist`,
        `kubectl create namespace ${ref.namespace}, or name another by --leader-election-namespace (LEADER_ELECTION_NAMESPACE in controller.env)`,
      ),
    ),
    ...missing.map((ref) => todo(ref, "No controller of this namespace has ever led", remedy)),
    ...leases.map(({ metadata, spec }): CheckedItem => {
      const item = `${metadata.namespace}/${metadata.name}`;
      const holder = spec.holderIdentity ?? "";
      if (holders(facts).includes(`${item} ${holder}`))
        return { area, item, state: "ready", says: `${holder} leads` };
      const ageMs = facts.nowMs - (fromRfc3339(spec.renewTime ?? "") ?? 0);
      const age = formatDuration(Math.round(ageMs / 1_000) * 1_000);
      const says = holder === "" ? "Nobody leads" : `${holder} has not renewed it for ${age}`;
      const isUsed = used.length === 0 || used.some((ref) => isSameLease(ref, metadata));
      if (isUsed) return { area, item, state: "todo", says, remedy };
      const why = `no Deployment in ${namespace} that runs uses it`;
      return { area, item, state: "ready", says: `${says}, but ${why}` };
    }),
  ];
}

/** What to do where no Deployment has pods that compete for leadership. Undefined: some have, or there is no Deployment. */
function whyNoneCanLead({ deployments }: DoctorFacts): string | undefined {
  if (deployments.length === 0 || deployments.some(leads)) return undefined;
  return deployments.every(({ spec }) => spec.replicas === 0)
    ? "scale the controller up: no pod of it is there to lead"
    : "only an observer runs, and it never leads: set settings.observeOnly=false once it shall act";
}

/** Whether pods of the Deployment compete for leadership. */
function leads(deployment: Deployment): boolean {
  return deployment.spec.replicas !== 0 && settingOf(deployment, OPTIONS.observeOnly) !== "true";
}

/** The Leases that are held, each with its holder. */
function holders({ leases, nowMs }: DoctorFacts): readonly string[] {
  return leases.flatMap(({ metadata, spec }) => {
    const holder = spec.holderIdentity ?? "";
    const ageMs = nowMs - (fromRfc3339(spec.renewTime ?? "") ?? 0);
    const limitMs = (spec.leaseDurationSeconds ?? LEASE_SECONDS) * 1_000;
    const item = `${metadata.namespace}/${metadata.name}`;
    return holder !== "" && ageMs <= limitMs ? [`${item} ${holder}`] : [];
  });
}

function readyText(pods: number): string {
  return pods === 1 ? "1 pod, which is ready" : `${counted(pods, "pod")}, all ready`;
}

interface Waiting {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
}

/** What the pod or its container waits for. */
function whyNotReady({ metadata, status }: Pod): Pick<CheckedItem, "state" | "says" | "remedy"> {
  const at = `kubectl -n ${metadata.namespace}`;
  const todo = (says: string, remedy: string) => ({ state: "todo", says, remedy }) as const;
  const placed = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (placed?.status === "False")
    return todo(
      `It has no node: ${placed.message ?? placed.reason}`,
      "make room on nodes that are not Karpenter's: each replica needs one of its own",
    );
  const container = status?.containerStatuses?.find(({ ready }) => !ready);
  const { waiting } = (container?.["state"] ?? {}) as Waiting;
  const { terminated } = (container?.["lastState"] ?? {}) as {
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number };
  };
  if (/^(ErrImage|ImagePull|InvalidImage)/.test(waiting?.reason ?? ""))
    return todo(
      `${waiting?.reason}: ${waiting?.message ?? "the image cannot be pulled"}`,
      "set controller.image.repository, tag or digest to an image that the nodes can pull",
    );
  if (terminated?.reason === "OOMKilled")
    return todo(
      "Its last container was ended because it used too much memory",
      "raise controller.resources.limits.memory",
    );
  if (waiting?.reason === "CrashLoopBackOff")
    return todo(
      `It ended with exit code ${terminated?.exitCode ?? "unknown"} and is started again`,
      `${at} logs ${metadata.name} --previous: the last line says why`,
    );
  const message = waiting?.message === undefined ? "" : `: ${waiting.message}`;
  return todo(
    `It is not ready${waiting?.reason === undefined ? "" : `: ${waiting.reason}${message}`}`,
    `${at} describe pod ${metadata.name}, and its log`,
  );
}
