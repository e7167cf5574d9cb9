/**
 * `karpenter migrate handover`: stops one Karpenter and, when its pods and its Lease are gone, starts another. Both are
 * Deployments, so the same steps lead back. The command changes only `spec.replicas` of the two. Claims, nodes and pods
 * stay as they are.
 */
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { LEASE, type Lease } from "../../apis/policy/kinds.ts";
import type { Clock } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import type { KubeClient, ObjectRef } from "../../kube/client/client.ts";
import { isNotFound } from "../../kube/errors.ts";
import { isSameLease, type LeaseRef, leaseOf } from "../checks/deployments.ts";
import { CliError } from "../program/cli-error.ts";

const LOOK_MS = 500;
/** client-go's lease duration, if the Lease has none. */
const LEASE_MS = 15_000;

/** The two Deployments of a handover. */
export interface HandoverOptions {
  /** The Deployment to stop, as `namespace/name`. */
  readonly from: string;
  readonly to: string;
  /** Replicas of the new Deployment, if it has none yet. */
  readonly replicas: number;
  /** Timeout of each of the two waits. */
  readonly timeoutMs: number;
  readonly say: (line: string) => void;
}

/** Resolves to the Lease's new holder. If the handover gets stuck, throws CliError that says how to go back. */
export async function handOver(
  client: Pick<KubeClient, "get" | "list" | "patch">,
  clock: Clock,
  options: HandoverOptions,
): Promise<string> {
  const { say, timeoutMs } = options;
  const [old, next] = [refOf("--from", options.from), refOf("--to", options.to)];
  if (options.from === options.to)
    throw new CliError(`--from and --to are both ${options.from}: name two Deployments`);
  const from = await deploymentOf(client, "--from", old);
  const to = await deploymentOf(client, "--to", next);
  const before = from.spec.replicas ?? 1;
  const wayBack = `to go back: scale ${options.to} to 0, then ${options.from} to ${before}`;
  const running = to.spec.replicas ?? 1;
  const [oldLease, nextLease] = [leaseOf(from), leaseOf(to)];
  const holderNow = (await leaseAt(client, oldLease))?.spec.holderIdentity ?? "";
  const isDone = before === 0 || (await podsOf(client, to)).some((pod) => isOf(holderNow, pod));
  /** The leader that must end. Undefined: the old Deployment is scaled to 0, or the new one leads already. */
  const heldBefore = isDone ? undefined : holderNow;
  const renewedBefore = (await leaseAt(client, nextLease))?.spec.renewTime;
  await scale(client, old, 0);
  say(`scaled ${options.from} from ${counted(before, "replica")} to 0`);
  const late = `within ${timeoutMs / 1_000} s`;
  const notEnded = `pods of ${options.from} have not ended ${late}; ${wayBack}`;
  await until(
    clock,
    { timeoutMs, problem: notEnded },
    async () => (await podsOf(client, from)).length === 0,
  );
  say("its pods have ended");
  await leaseIsFree(client, clock, { ref: oldLease, holder: heldBefore, timeoutMs, wayBack });
  say("its lease is free");
  if (running === 0) {
    await scale(client, next, options.replicas);
    say(`scaled ${options.to} to ${counted(options.replicas, "replica")}`);
  }
  let holder: string | undefined;
  const lease = `${nextLease.namespace}/${nextLease.name}`;
  const notLed = `${options.to} took no lease ${lease} ${late}; read its log, or ${wayBack}`;
  await until(clock, { timeoutMs, problem: notLed }, async () => {
    const spec = (await leaseAt(client, nextLease))?.spec;
    // A Lease that is no longer renewed may still name an earlier leader.
    const isNew = spec?.renewTime !== renewedBefore && spec?.holderIdentity !== heldBefore;
    holder = isNew ? spec?.holderIdentity || undefined : undefined;
    return holder !== undefined;
  });
  say(`${holder} leads`);
  return holder ?? "";
}

function refOf(flag: string, text: string): ObjectRef & { readonly namespace: string } {
  const [namespace, name, ...more] = text.split("/");
  if (!namespace || !name || more.length > 0)
    throw new CliError(`${flag} ${text}: wanted NAMESPACE/NAME of a Deployment`);
  return { namespace, name };
}

async function deploymentOf(
  client: Pick<KubeClient, "get">,
  flag: string,
  ref: ObjectRef,
): Promise<Deployment> {
  try {
    return await client.get(DEPLOYMENT, ref);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const remedy =
      flag === "--to"
        ? "install it with replicas=0 first"
        : "kubectl get deployments -A shows where the Karpenter that leads now runs";
    throw new CliError(
      `${flag} ${ref.namespace}/${ref.name}: there is no such Deployment; ${remedy}`,
    );
  }
}

async function scale(
  client: Pick<KubeClient, "patch">,
  ref: ObjectRef,
  replicas: number,
): Promise<void> {
  await client.patch(DEPLOYMENT, ref, { type: "merge", body: { spec: { replicas } } }, "scale");
}

async function podsOf(
  client: Pick<KubeClient, "list">,
  { metadata: { namespace }, spec }: Deployment,
): Promise<readonly Pod[]> {
  const labels = Object.entries(spec.selector.matchLabels ?? {});
  const labelSelector = labels.map(([key, value]) => `${key}=${value}`).join(",");
  return (await client.list(POD, { namespace: namespace ?? "", labelSelector })).items;
}

/**
 * Whether a leader's identity is that of the pod. It begins with the pod's name, unless the pod uses the host network.
 */
function isOf(identity: string, { metadata }: Pod): boolean {
  return identity.startsWith(`${metadata.name}_`);
}

async function leaseAt(
  client: Pick<KubeClient, "list">,
  ref: LeaseRef,
): Promise<Lease | undefined> {
  const { items } = await client.list(LEASE, {
    namespace: ref.namespace,
    fieldSelector: `metadata.name=${ref.name}`,
  });
  return items.find(({ metadata }) => isSameLease(ref, metadata));
}

/**
 * Waits until this identity does not hold the Lease. A Lease that was not released is free when it was not renewed
 * for its duration. That is measured with this machine's clock.
 */
async function leaseIsFree(
  client: Pick<KubeClient, "list">,
  clock: Clock,
  {
    ref,
    holder,
    timeoutMs,
    wayBack,
  }: { ref: LeaseRef; holder: string | undefined; timeoutMs: number; wayBack: string },
): Promise<void> {
  let seen: { readonly renewTime: string | undefined; readonly atMs: number } | undefined;
  const problem = `the lease is still renewed by ${holder}; ${wayBack}`;
  await until(clock, { timeoutMs, problem }, async () => {
    const spec = (await leaseAt(client, ref))?.spec;
    if (!spec?.holderIdentity || spec.holderIdentity !== holder) return true;
    const nowMs = clock.elapsedMs();
    if (seen === undefined || seen.renewTime !== spec.renewTime) {
      seen = { renewTime: spec.renewTime, atMs: nowMs };
      return false;
    }
    return nowMs - seen.atMs > (spec.leaseDurationSeconds ?? LEASE_MS / 1_000) * 1_000;
  });
}

async function until(
  clock: Clock,
  { timeoutMs, problem }: { readonly timeoutMs: number; readonly problem: string },
  holds: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = clock.elapsedMs() + timeoutMs;
  while (!(await holds())) {
    if (clock.elapsedMs() > deadlineMs) throw new CliError(problem, 2);
    await clock.sleep(LOOK_MS);
  }
}
