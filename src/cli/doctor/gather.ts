/**
 * Gathers the facts for `karpenter doctor`. It changes nothing; access reviews are POST requests, but only
 * questions.
 */

import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { AWS_NODE_TEMPLATE } from "../../apis/aws/awsnodetemplate.ts";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../apis/aws/ec2nodeclass.ts";
import {
  type Crd,
  CUSTOM_RESOURCE_DEFINITION,
} from "../../apis/core/custom-resource-definition.ts";
import { ENDPOINT_SLICE, NAMESPACE, SERVICE_ACCOUNT } from "../../apis/core/kinds.ts";
import { POD } from "../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { LEASE } from "../../apis/policy/kinds.ts";
import type { Clock } from "../../base/clock.ts";
import { firstLineOf } from "../../base/error-text.ts";
import { isObject } from "../../base/json.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotServed, KubeError } from "../../kube/errors.ts";
import { type ProviderName, type Right, rightsOf } from "../../operator/rights.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { SANDBOX_COMPILER } from "../../sandbox/apiserver/version-info.ts";
import type { Unread } from "../checks/checks.ts";
import {
  isKarpenter,
  isLeaseOf,
  type LeaseRef,
  leaseOf,
  settingOf,
} from "../checks/deployments.ts";
import { isKnownMissing } from "../checks/missing.ts";
import { accessProblem } from "../program/access-problem.ts";
import type {
  AskedRight,
  DoctorFacts,
  ReadQuotas,
  SubnetRoom,
  Tried,
  WebhookTarget,
} from "./facts.ts";

/** The flag of the controller's command line that names the provider. It has no variable. */
const PROVIDER_FLAG = { flag: "provider", env: "", type: "string" } as const;
const KARPENTER_GROUP = /^karpenter\./;
/** Maximum number of concurrent requests. */
const ASKED_AT_ONCE = 8;

/** Where to look and what to try. */
export interface DoctorOptions {
  readonly provider: ProviderName;
  /** The namespace of the controller. */
  readonly namespace: string;
  /** The account (`namespace/name`) whose rights are checked. Absent: the user's own. */
  readonly serviceAccount?: string | undefined;
  /** Checks outside the cluster: DNS and AWS. */
  readonly tries: readonly (() => Promise<Tried>)[];
  /** Asks AWS for free addresses. Absent: AWS is not asked. */
  readonly roomOf?: ((subnetIds: readonly string[]) => Promise<readonly SubnetRoom[]>) | undefined;
  /** Asks AWS for the account's vCPU quotas; absent: AWS is not asked. */
  readonly quotasOf?: (() => Promise<ReadQuotas>) | undefined;
}

/** Gathers all facts. Throws CliError if the API server does not answer. */
export async function gatherDoctor(
  client: Pick<KubeClient, "list" | "raw">,
  clock: Clock,
  options: DoctorOptions,
): Promise<DoctorFacts> {
  const unread: Unread[] = [];
  const list = async <T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]> => {
    try {
      return (await client.list(kind)).items;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!isNotServed(error)) unread.push({ what: kind.plural, why: error.message });
      return [];
    }
  };
  const lists = async (kinds: readonly Kind[]) => (await Promise.all(kinds.map(list))).flat();
  const server = await serverFacts(client, clock);
  const crds = (await list(CUSTOM_RESOURCE_DEFINITION)).filter(({ spec }) =>
    KARPENTER_GROUP.test(spec.group),
  );
  const classKinds =
    options.provider === "kwok"
      ? [KWOK_NODE_CLASS as Kind]
      : [EC2_NODE_CLASS as Kind, AWS_NODE_TEMPLATE as Kind];
  const isAccountMissing = await isMissing(client, options.serviceAccount);
  const tried: Tried[] = [];
  for (const attempt of options.tries) tried.push(await attempt());
  const classes = await lists(classKinds);
  const { namespace } = options;
  const everywhere = (await list(DEPLOYMENT)).filter(isKarpenter);
  const deployments = everywhere.filter((one) => one.metadata.namespace === namespace);
  const selectors = deployments.map(({ spec }) => spec.selector);
  return {
    provider: options.provider,
    deployments,
    controllerPods:
      deployments.length === 0
        ? []
        : (await list(POD)).filter(
            ({ metadata }) =>
              metadata.namespace === namespace &&
              selectors.some((one) => matchesLabelSelector(one, metadata.labels)),
          ),
    nowMs: server.nowMs ?? clock.now(),
    skewMs: server.nowMs === undefined ? undefined : clock.now() - server.nowMs,
    serverVersion: server.version,
    isSandbox: server.isSandbox,
    namespace: options.namespace,
    isNamespaceMissing: await isKnownMissing(client, NAMESPACE, { name: options.namespace }),
    account: options.serviceAccount ?? "whoever runs this",
    isOwnAccount: options.serviceAccount === undefined,
    isAccountMissing,
    rights: isAccountMissing ? [] : await askRights(client, options, deployments),
    crds,
    leases: (await list(LEASE)).filter((one) => isLeaseOf(one, everywhere)),
    missingLeaseNamespaces: await missingNamespaces(client, deployments.map(leaseOf)),
    webhooks: await webhookTargets(crds, list, unread),
    pools: await lists(POOL_KINDS),
    classes,
    subnets: await roomIn(classes, options.roomOf, tried),
    quotas: await options.quotasOf?.(),
    claims: await lists(CLAIM_KINDS),
    tried,
    unread,
  };
}

/**
 * The provider of the Karpenter in this namespace, as its Deployment names it. One that is scaled to 0 counts where none
 * runs. Undefined: none is seen there.
 */
export async function runningProvider(
  client: Pick<KubeClient, "list">,
  namespace: string,
): Promise<ProviderName | undefined> {
  try {
    const { items } = await client.list(DEPLOYMENT, { namespace });
    const all = items.filter(isKarpenter);
    const running = all.filter(({ spec }) => spec.replicas !== 0);
    const asked = running.length > 0 ? running : all;
    const named = asked.map((one) => settingOf(one, PROVIDER_FLAG));
    return named.includes("kwok") ? "kwok" : named.length > 0 ? "aws" : undefined;
  } catch (error) {
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}

async function missingNamespaces(
  client: Pick<KubeClient, "raw">,
  leases: readonly LeaseRef[],
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of new Set(leases.map(({ namespace }) => namespace)))
    if (await isKnownMissing(client, NAMESPACE, { name })) missing.push(name);
  return missing;
}

/** Free addresses of the subnets in the classes' statuses. Errors are added to `tried`. */
async function roomIn(
  classes: readonly (KubeObject & Pick<EC2NodeClass, "status">)[],
  roomOf: DoctorOptions["roomOf"],
  tried: Tried[],
): Promise<readonly SubnetRoom[] | undefined> {
  const ids = [
    ...new Set(classes.flatMap(({ status }) => status?.subnets ?? []).map(({ id }) => id)),
  ];
  if (roomOf === undefined || ids.length === 0) return undefined;
  try {
    return await roomOf(ids.sort());
  } catch (error) {
    tried.push({ what: "free addresses of subnets", problem: firstLineOf(error) });
    return undefined;
  }
}

async function serverFacts(
  client: Pick<KubeClient, "raw">,
  clock: Clock,
): Promise<{ readonly nowMs?: number; readonly version?: string; readonly isSandbox: boolean }> {
  try {
    const startMs = clock.elapsedMs();
    const { headers, body } = await client.raw({ method: "GET", path: "/version" });
    const dateMs = Date.parse(headers["date"] ?? "");
    const version = isObject(body) ? body["gitVersion"] : undefined;
    // The Date header has whole seconds, so half a second is added on average. Half of the request's duration has
    // passed since.
    const nowMs = dateMs + 500 + (clock.elapsedMs() - startMs) / 2;
    return {
      ...(Number.isNaN(dateMs) ? {} : { nowMs: Math.round(nowMs) }),
      ...(typeof version === "string" ? { version } : {}),
      isSandbox: isObject(body) && body["compiler"] === SANDBOX_COMPILER,
    };
  } catch (error) {
    throw accessProblem(error) ?? error;
  }
}

async function isMissing(
  client: Pick<KubeClient, "raw">,
  serviceAccount: string | undefined,
): Promise<boolean> {
  if (serviceAccount === undefined) return false;
  const [namespace = "", name = ""] = serviceAccount.split("/");
  return isKnownMissing(client, SERVICE_ACCOUNT, { namespace, name });
}

interface Question {
  readonly right: Right;
  readonly verb: string;
  readonly resource: string;
  readonly name: string | undefined;
  /** The namespace of the objects. Undefined: all namespaces. */
  readonly where: string | undefined;
}

/**
 * Asks the API server about each right that the controller needs; of Leases and ConfigMaps, about those whose names the
 * Deployments have.
 */
async function askRights(
  client: Pick<KubeClient, "raw">,
  { provider, namespace, serviceAccount }: DoctorOptions,
  deployments: readonly Deployment[],
): Promise<readonly AskedRight[]> {
  const leases = deployments.map(leaseOf);
  const placesOf = (right: Right): readonly Pick<Question, "name" | "where">[] => {
    const where = namespaceOf(right, namespace);
    const isOfLeases = right.resources.includes("leases") && leases.length > 0;
    if (!isOfLeases)
      return (right.names ?? [undefined])
        .flatMap((name) => configMapNames(name, deployments))
        .map((name) => ({ name, where }));
    return leases.map((lease) => ({
      name: right.names === undefined ? undefined : lease.name,
      where: lease.namespace,
    }));
  };
  const questions: Question[] = rightsOf(provider).flatMap((right) =>
    right.resources.flatMap((resource) =>
      right.verbs.flatMap((verb) =>
        placesOf(right).map((place) => ({ right, verb, resource, ...place })),
      ),
    ),
  );
  const answers: AskedRight[] = [];
  for (let at = 0; at < questions.length; at += ASKED_AT_ONCE) {
    const some = questions.slice(at, at + ASKED_AT_ONCE);
    answers.push(...(await Promise.all(some.map((one) => ask(client, one, serviceAccount)))));
  }
  return answers;
}

/** The names that the settings of the Deployments give to a ConfigMap. `name`: its usual name. */
function configMapNames(
  name: string | undefined,
  deployments: readonly Deployment[],
): readonly (string | undefined)[] {
  const setting = [OPTIONS.configLoggingName, OPTIONS.factsName].find(
    (one) => one.default === name,
  );
  if (setting === undefined || deployments.length === 0) return [name];
  return [...new Set(deployments.map((one) => settingOf(one, setting) || name))];
}

function namespaceOf({ where }: Right, own: string): string | undefined {
  if (where === "own namespace") return own;
  return where === "kube-system" ? where : undefined;
}

async function ask(
  client: Pick<KubeClient, "raw">,
  { right, verb, resource: full, name, where }: Question,
  serviceAccount: string | undefined,
): Promise<AskedRight> {
  const [resource = "", subresource] = full.split("/");
  const [ofNamespace = "", account = ""] = (serviceAccount ?? "").split("/");
  const kind = serviceAccount === undefined ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const { body } = await client.raw({
    method: "POST",
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind,
      spec: {
        ...(serviceAccount === undefined
          ? {}
          : {
              user: `system:serviceaccount:${ofNamespace}:${account}`,
              groups: [
                "system:serviceaccounts",
                `system:serviceaccounts:${ofNamespace}`,
                "system:authenticated",
              ],
            }),
        resourceAttributes: {
          verb,
          group: right.group,
          resource,
          ...(subresource === undefined ? {} : { subresource }),
          ...(where === undefined ? {} : { namespace: where }),
          ...(name === undefined ? {} : { name }),
        },
      },
    },
  });
  const status = isObject(body) ? body["status"] : undefined;
  return {
    verb,
    resource: right.group === "" ? full : `${full}.${right.group}`,
    ...(where === undefined ? {} : { namespace: where }),
    ...(name === undefined ? {} : { name }),
    allowed: isObject(status) && status["allowed"] === true,
    why: right.why,
  };
}

interface Configuration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig: {
      readonly url?: string;
      readonly service?: { readonly namespace?: string; readonly name?: string };
    };
  }[];
}

interface Slice extends KubeObject {
  readonly endpoints?: readonly { readonly conditions?: { readonly ready?: boolean } }[] | null;
}

const CONFIGURATION_KINDS: readonly Kind[] = ["Mutating", "Validating"].map((word) => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: `${word}WebhookConfiguration`,
  plural: `${word.toLowerCase()}webhookconfigurations`,
  namespaced: false,
}));

/** Karpenter's admission and conversion webhooks, with the number of ready pods of each. */
async function webhookTargets(
  crds: readonly Crd[],
  list: <T extends KubeObject>(kind: Kind<T>) => Promise<readonly T[]>,
  unread: readonly Unread[],
): Promise<readonly WebhookTarget[]> {
  const configurations = (
    await Promise.all(CONFIGURATION_KINDS.map(list))
  ).flat() as readonly Configuration[];
  const admission = configurations
    .filter(({ metadata }) => metadata.name.includes("karpenter"))
    .flatMap(({ webhooks = [] }) =>
      webhooks.map(({ name, clientConfig }) => ({ name, clientConfig })),
    );
  const conversion = crds.flatMap(({ metadata, spec }) => {
    const clientConfig = spec.conversion?.webhook?.clientConfig;
    return clientConfig === undefined
      ? []
      : [{ name: `conversion of ${metadata.name}`, clientConfig }];
  });
  const targets = [...admission, ...conversion];
  if (targets.length === 0) return [];
  const slices = await list(ENDPOINT_SLICE as Kind<Slice>);
  const isUnread = unread.some(({ what }) => what === ENDPOINT_SLICE.plural);
  return targets.map(({ name, clientConfig: { url, service } }) => {
    if (service === undefined) return { name, url: url ?? "nowhere" };
    const { namespace = "", name: of = "" } = service as { namespace?: string; name?: string };
    const own = slices.filter(
      ({ metadata }) =>
        metadata.namespace === namespace && metadata.labels?.["kubernetes.io/service-name"] === of,
    );
    const ready = own
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter((one) => one.conditions?.ready !== false);
    return { name, service: `${namespace}/${of}`, ready: isUnread ? undefined : ready.length };
  });
}
