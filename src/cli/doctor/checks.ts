/** The checks of `karpenter doctor`, as pure functions of facts: what is wrong, and what to do. */

import { DEPLOYMENT } from "../../apis/apps/kinds.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "../../apis/core/custom-resource-definition.ts";
import { POD } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject, ResourceAmounts } from "../../apis/meta.ts";
import { LEASE } from "../../apis/policy/kinds.ts";
import { formatResource, parseResources, type Resources } from "../../apis/resources.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { BRAKE_CONDITION, shownBrake } from "../../core/safety/brake-condition.ts";
import { SET_BACK_CONDITION, setBackShown } from "../../core/safety/set-back.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { type CheckedItem, checkSections, type Section } from "../checks/checks.ts";
import { some } from "../migrate/check-objects.ts";
import { checkAddresses, checkImages } from "./check-classes.ts";
import { CLASSES_AREA, checkConditions, POOLS_AREA } from "./check-conditions.ts";
import { checkController, checkLead } from "./check-controller.ts";
import { checkDefinitions } from "./check-definitions.ts";
import type { AskedRight, DoctorFacts } from "./facts.ts";
import { checkQuotas } from "./quotas.ts";

/**
 * Maximum difference between two clocks at which Karpenter still terminates nodes because of a time
 * (docs/explanation/safety.md).
 */
const SKEW_LIMIT_MS = 5 * 60_000;
const SKEW_SEEN_MS = 5_000;
/** Limits whose used share is at least this are reported. */
const FULL_SHARE = 0.9;
/**
 * Times after which the start or the drain of a node counts as slow. A node usually starts within minutes and drains
 * within an hour.
 */
const SLOW_START_MS = 15 * 60_000;
const SLOW_END_MS = 60 * 60_000;

/** The fields of a NodePool that the checks read: its limits and how much of them is used. */
interface PoolFields extends KubeObject {
  readonly spec?: { readonly limits?: ResourceAmounts };
  readonly status?: { readonly resources?: ResourceAmounts };
}

/** All checks. Causes are before their effects. */
export function doctorChecks(
  facts: DoctorFacts,
  kinds: readonly KubeObject[],
): readonly CheckedItem[] {
  const claims = CLAIM_KINDS.map(({ plural }) => plural);
  const pools = POOL_KINDS.map(({ plural }) => plural);
  const sections: readonly Section[] = [
    { needs: [], check: () => checkServer(facts) },
    { needs: [], check: () => checkNamespace(facts) },
    { needs: [], check: () => checkRights(facts) },
    { needs: [CUSTOM_RESOURCE_DEFINITION.plural], check: () => checkDefinitions(facts, kinds) },
    { needs: [DEPLOYMENT.plural, POD.plural], check: () => checkController(facts) },
    { needs: [LEASE.plural, DEPLOYMENT.plural], check: () => checkLead(facts) },
    { needs: [], check: () => checkWebhooks(facts) },
    { needs: [], check: () => checkConditions(POOLS_AREA, facts.pools) },
    { needs: pools, check: () => checkEnds(facts) },
    { needs: [], check: () => checkLimits(facts) },
    { needs: [], check: () => checkConditions(CLASSES_AREA, facts.classes) },
    { needs: pools, check: () => checkImages(facts) },
    { needs: [], check: () => checkAddresses(facts) },
    { needs: [], check: () => checkQuotas(facts) },
    { needs: claims, check: () => checkClaims(facts) },
    { needs: [], check: () => checkTried(facts) },
  ];
  return checkSections(sections, facts.unread, "the doctor");
}

function checkServer(facts: DoctorFacts): readonly CheckedItem[] {
  const { skewMs, serverVersion, isSandbox } = facts;
  const area = "API server";
  const version: CheckedItem =
    serverVersion === undefined
      ? { area, item: "version", state: "unknown", says: "It does not tell its version" }
      : {
          area,
          item: "version",
          state: "ready",
          says: isSandbox ? `${serverVersion}, a sandbox` : serverVersion,
        };
  if (skewMs === undefined)
    return [version, { area, item: "clock", state: "unknown", says: "It does not tell the time" }];
  const off = Math.abs(skewMs);
  const says = `This machine is ${formatDuration(Math.round(off / 1_000) * 1_000)} ${skewMs > 0 ? "ahead" : "behind"}`;
  // A sandbox may run faster than real time. Its clock then differs from this machine's, and Karpenter in it uses the
  // sandbox's clock.
  if (isSandbox && off > SKEW_SEEN_MS)
    return [
      version,
      { area, item: "clock", state: "ready", says: `${says}: a sandbox's own time` },
    ];
  if (off > SKEW_LIMIT_MS)
    return [
      version,
      {
        area,
        item: "clock",
        state: "todo",
        says,
        remedy: "set the clock by NTP: over 5 minutes, no node is terminated because of a time",
      },
    ];
  if (off > SKEW_SEEN_MS) return [version, { area, item: "clock", state: "differs", says }];
  return [version, { area, item: "clock", state: "ready", says: "Both clocks agree" }];
}

/** Checks the controller's namespace, which contains its roles and its Lease. */
function checkNamespace(facts: DoctorFacts): readonly CheckedItem[] {
  const { namespace, isNamespaceMissing, leases } = facts;
  if (!isNamespaceMissing) return [];
  const [led] = leases.map(({ metadata }) => metadata.namespace).sort();
  return [
    {
      area: "namespace",
      item: namespace,
      state: "todo",
      says: "There is no such namespace",
      remedy:
        led === undefined
          ? "give the controller's by -n: kubectl get deployments -A -l app.kubernetes.io/name=karpenter lists them"
          : `give the controller's by -n: a Lease of Karpenter is in ${led}`,
    },
  ];
}

/** Checks the account's rights. In a sandbox Karpenter runs in its process, unless a chart was installed there. */
function checkRights(facts: DoctorFacts): readonly CheckedItem[] {
  const { rights, account, isAccountMissing, isOwnAccount } = facts;
  const area = "rights";
  if (isAccountMissing)
    return [
      {
        area,
        item: account,
        state: "todo",
        says: "There is no such ServiceAccount",
        remedy:
          "give the controller's by --service-account NAMESPACE/NAME: kubectl get serviceaccounts -A lists them",
      },
    ];
  if (facts.isSandbox && facts.deployments.length === 0)
    return [
      {
        area,
        item: "none",
        state: "ready",
        says: "Karpenter runs in the sandbox's process, as its administrator, and needs none",
      },
    ];
  const missing = rights.filter(({ allowed }) => !allowed);
  const asked = { area, item: account, state: "ready" } as const;
  if (missing.length === 0)
    return [
      { ...asked, says: `All ${counted(rights.length, "right")} of the controller are there` },
    ];
  const again = "install the chart's roles again; docs/reference/rights.md lists them";
  const remedy = isOwnAccount
    ? `ask for the controller's account, not for your own: --service-account NAMESPACE/NAME. If it lacks them, too: ${again}`
    : again;
  const groups = new Map<string, AskedRight[]>();
  for (const one of missing) {
    const key = `${one.resource} ${one.namespace} ${isOfOtherLease(one, facts)}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()].map((group): CheckedItem => {
    const [first] = group as [AskedRight];
    const { resource, namespace, why } = first;
    const verbs = [...new Set(group.map(({ verb }) => verb))].join(", ");
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    const says = `${account} may not${where}: ${why}`;
    const item = `${verbs} ${resource}`;
    const isOther = isOfOtherLease(first, facts);
    return { area, item, state: "todo", says, remedy: isOther ? OTHER_LEASE.remedy : remedy };
  });
}

/** The chart's roles grant the usual Lease in the controller's own namespace, and no other. */
const OTHER_LEASE = {
  resource: `${LEASE.plural}.${LEASE.group}`,
  remedy:
    "the chart grants only its own Lease: grant this one by additionalClusterRoleRules; docs/guide/install.md has the rule",
} as const;

/** Whether the right is one to a Lease that the chart's roles do not name. */
function isOfOtherLease(
  { resource, namespace, name }: AskedRight,
  facts: Pick<DoctorFacts, "namespace">,
): boolean {
  if (resource !== OTHER_LEASE.resource) return false;
  const usual = OPTIONS.leaderElectionName.default;
  return namespace !== facts.namespace || (name ?? usual) !== usual;
}

/** Checks the webhooks. In a sandbox their Services exist only in its process. */
function checkWebhooks(facts: DoctorFacts): readonly CheckedItem[] {
  const { webhooks, isSandbox, controllerPods } = facts;
  const area = "webhooks";
  // Pods that are ready answer, so the fault is in the Service.
  const remedy = controllerPods.some(isReady)
    ? "a pod of the controller is ready, so the Service is missing or does not select it: install the chart again"
    : "start the controller, or delete the configuration if nothing serves it any more";
  return webhooks.map(({ name, service, url, ready }): CheckedItem => {
    if (service === undefined)
      return {
        area,
        item: name,
        state: "unknown",
        says: `served at ${url}, which only the API server need reach`,
      };
    if (isSandbox)
      return { area, item: name, state: "ready", says: "answered in the sandbox's process" };
    if (ready === undefined)
      return {
        area,
        item: name,
        state: "unknown",
        says: `whether Service ${service} has a ready pod could not be read`,
      };
    if (ready > 0)
      return {
        area,
        item: name,
        state: "ready",
        says: `Service ${service} has ${counted(ready, "ready address", "ready addresses")}`,
      };
    return {
      area,
      item: name,
      state: "todo",
      says: `Service ${service} has no ready pod, so requests of this kind fail`,
      remedy,
    };
  });
}

/** Checks whether the controller ends no nodes now, as the conditions of the NodePools say. */
function checkEnds({ pools, nowMs }: DoctorFacts): readonly CheckedItem[] {
  const area = "ends of nodes";
  const brake = shownBrake(pools, nowMs);
  const setBack = pools.flatMap((pool) => setBackShown(pool) ?? [])[0];
  return [
    ...(brake === undefined
      ? []
      : [
          {
            area,
            item: BRAKE_CONDITION,
            state: "todo" as const,
            says: brake.why,
            remedy: `find out why so many nodes would be removed; then allow it: ${brake.release}`,
          },
        ]),
    ...(setBack === undefined
      ? []
      : [
          {
            area,
            item: SET_BACK_CONDITION,
            state: "todo" as const,
            says: setBack,
            remedy:
              "if etcd was restored, restart all replicas of the controller; else look at the API servers",
          },
        ]),
  ];
}

/** Checks how much of each NodePool's limits its nodes use. Provisioners are skipped. */
function checkLimits({ pools }: DoctorFacts): readonly CheckedItem[] {
  return pools.flatMap(({ kind, metadata, spec, status }: PoolFields): readonly CheckedItem[] => {
    const limits = kind === "NodePool" ? parseResources(spec?.limits) : {};
    const used = parseResources(status?.resources);
    const full = Object.keys(limits)
      .sort()
      .filter((name) => (used[name] ?? 0) >= (limits[name] ?? 0) * FULL_SHARE);
    if (full.length === 0) return [];
    const amount = (name: string, of: Resources) => formatResource(name, of[name] ?? 0);
    const uses = full.map((name) => `${amount(name, used)} of ${amount(name, limits)} ${name}`);
    return [
      {
        area: "limits",
        item: metadata.name,
        state: "differs",
        says: `Its nodes use ${uses.join(", ")}: it may get no further node`,
        remedy: `raise spec.limits of NodePool ${metadata.name}, or let pods use another one`,
      },
    ];
  });
}

function checkClaims({ claims, nowMs }: DoctorFacts): readonly CheckedItem[] {
  const area = "claims";
  const all = claims as readonly NodeClaim[];
  const age = (text: string | undefined) => nowMs - (fromRfc3339(text ?? "") ?? nowMs);
  const names = (some: readonly NodeClaim[]) => some.map(({ metadata }) => metadata.name);
  const slow = all.filter(
    (one) =>
      one.metadata.deletionTimestamp === undefined &&
      !isTrue(one, "Initialized") &&
      age(one.metadata.creationTimestamp) > SLOW_START_MS,
  );
  const stuck = all.filter(({ metadata }) => age(metadata.deletionTimestamp) > SLOW_END_MS);
  const checks: CheckedItem[] = [];
  if (slow.length > 0)
    checks.push({
      area,
      item: "starting",
      state: "todo",
      says: `${counted(slow.length, "claim")} not initialized after 15 minutes: ${some(names(slow))}`,
      remedy: `karpenter explain nodeclaim ${names(slow).sort()[0]}`,
    });
  if (stuck.length > 0)
    checks.push({
      area,
      item: "ending",
      state: "todo",
      says: `${counted(stuck.length, "claim")} still being deleted after an hour: ${some(names(stuck))}`,
      remedy: `kubectl describe nodeclaim ${names(stuck).sort()[0]}: its events name the pod that cannot be evicted`,
    });
  if (checks.length === 0)
    checks.push({
      area,
      item: "all",
      state: "ready",
      says:
        all.length === 0
          ? "there are no claims"
          : `${counted(all.length, "claim")}, ${all.length === 1 ? "not" : "none"} stuck`,
    });
  return checks;
}

function checkTried({ tried, isSandbox }: DoctorFacts): readonly CheckedItem[] {
  const usual = "check credentials, rights, DNS, proxies and the network policy";
  return tried.map(({ what, problem, skipped, instead, remedy = usual }): CheckedItem => {
    const at = { area: "reachable", item: what } as const;
    if (skipped !== undefined && isSandbox)
      return { ...at, state: "ready", says: "not asked: a sandbox simulates AWS in its process" };
    if (skipped !== undefined) return { ...at, state: "unknown", says: skipped };
    if (problem === undefined) return { ...at, state: "ready", says: "it answers" };
    return {
      ...at,
      state: instead === undefined ? "todo" : "differs",
      says: instead === undefined ? problem : `${problem}; ${instead}`,
      remedy,
    };
  });
}
