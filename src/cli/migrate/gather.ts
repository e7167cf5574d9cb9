/** Gathers the facts for `karpenter migrate check`: from the API server, with get and list only, and from files. */
import { readdirSync, readFileSync } from "node:fs";
import { DEPLOYMENT } from "../../apis/apps/kinds.ts";
import {
  type Crd,
  CUSTOM_RESOURCE_DEFINITION,
} from "../../apis/core/custom-resource-definition.ts";
import { NODE } from "../../apis/core/node.ts";
import { customResourceDefinitions } from "../../apis/crds/all.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { LEASE } from "../../apis/policy/kinds.ts";
import { isObject } from "../../base/json.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotServed, KubeError } from "../../kube/errors.ts";
import { isKarpenter, isLeaseOf } from "../checks/deployments.ts";
import { readText } from "../plan/documents.ts";
import { accessProblem } from "../program/access-problem.ts";
import { CliError } from "../program/cli-error.ts";
import { valuesOf } from "../program/manifest-text.ts";
import type { MigrationFacts, OwnFacts, ValueSchema } from "./facts.ts";

const GROUP = /^(karpenter\.sh|karpenter\.k8s\.aws|karpenter\.kwok\.sh)$/;
/** API versions of Karpenter's kinds, newest first. */
const VERSIONS = ["v1", "v1beta1", "v1alpha5", "v1alpha1"];
const WEBHOOK_KINDS: readonly Kind[] = ["Mutating", "Validating"].map((word) => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: `${word}WebhookConfiguration`,
  plural: `${word.toLowerCase()}webhookconfigurations`,
  namespaced: false,
}));

/** Files that a user gave. */
export interface GivenFiles {
  readonly values?: string | undefined;
  readonly policy?: readonly string[] | undefined;
}

/** Gathers all facts. Throws CliError if the server does not answer or a file is invalid. */
export async function gatherMigration(
  client: Pick<KubeClient, "list">,
  nowMs: number,
  files: GivenFiles,
): Promise<MigrationFacts> {
  // Files are read first, so that a wrong file name is reported without waiting for the cluster.
  const given = {
    ...(files.values === undefined ? {} : { values: valuesIn(files.values) }),
    ...(files.policy === undefined ? {} : { allowed: files.policy.flatMap(allowedIn) }),
  };
  const unread: { what: string; why: string }[] = [];
  const list = async <T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]> => {
    try {
      return (await client.list(kind)).items;
    } catch (error) {
      const problem = accessProblem(error);
      if (problem !== undefined) throw problem;
      if (!(error instanceof KubeError)) throw error;
      if (!isNotServed(error)) unread.push({ what: kind.plural, why: error.message });
      return [];
    }
  };
  const crds = (await list(CUSTOM_RESOURCE_DEFINITION)).filter(({ spec }) =>
    GROUP.test(spec.group),
  );
  const objects: KubeObject[] = [];
  for (const crd of crds) objects.push(...(await list(newestOf(crd))));
  const deployments = (await list(DEPLOYMENT)).filter(isKarpenter);
  const webhooks = (await Promise.all(WEBHOOK_KINDS.map(list))).flat();
  return {
    nowMs,
    crds,
    objects,
    nodes: await list(NODE),
    deployments,
    leases: (await list(LEASE)).filter((one) => isLeaseOf(one, deployments)),
    webhooks: webhooks
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.includes("karpenter"))
      .sort(),
    ...given,
    unread,
  };
}

function newestOf({ metadata, spec }: Crd): Kind {
  const served = spec.versions.filter((one) => one.served).map(({ name }) => name);
  const version = VERSIONS.find((one) => served.includes(one)) ?? served[0] ?? "v1";
  const { kind = "" } = spec.names as { readonly kind?: string };
  return {
    group: spec.group,
    version,
    kind,
    plural: spec.names.plural,
    namespaced: (spec as { readonly scope?: string }).scope === "Namespaced",
    name: metadata.name,
  } as Kind;
}

function valuesIn(path: string): Readonly<Record<string, unknown>> {
  const [value, ...more] = valuesOf(path, readText(path));
  // `helm get values` prints null if no values were given.
  if (value === null || value === undefined) return {};
  if (!isObject(value) || more.length > 0)
    throw new CliError(`--values ${path}: wanted one YAML object, the values of the chart`);
  return value;
}

/** Actions of the Allow statements in a policy document, or in the AWS CLI's output that contains such a document. */
function allowedIn(path: string): readonly string[] {
  const [value] = valuesOf(path, readText(path));
  const actions = statementsIn(value).flatMap((one) => {
    if (!isObject(one) || one["Effect"] !== "Allow") return [];
    return [one["Action"]].flat().filter((action) => typeof action === "string");
  });
  if (actions.length === 0)
    throw new CliError(
      `--policy ${path}: no Allow statement with an Action is in it; give an IAM policy document`,
    );
  return actions;
}

function statementsIn(value: unknown): readonly unknown[] {
  if (!isObject(value)) return [];
  const { Statement, PolicyVersion, Document } = value;
  if (PolicyVersion !== undefined) return statementsIn(PolicyVersion);
  if (typeof Document === "string") return statementsIn(JSON.parse(decodeURIComponent(Document)));
  if (Document !== undefined) return statementsIn(Document);
  return [Statement].flat().filter((one) => one !== undefined);
}

/** Policies for features that a user must turn on. */
const UNASKED: ReadonlySet<string> = new Set(["former-generations.json", "service-quotas.json"]);

/** The facts of this program, from its own files. */
export function ownFacts(): OwnFacts {
  const schema = new URL("../../../deploy/charts/karpenter/values.schema.json", import.meta.url);
  const policies = new URL("../../../deploy/aws/policies/", import.meta.url);
  const needed = readdirSync(policies)
    .filter((name) => name.endsWith(".json") && !UNASKED.has(name))
    .flatMap((name) => allowedActions(readFileSync(new URL(name, policies), "utf8")));
  return {
    crds: customResourceDefinitions(),
    valuesSchema: JSON.parse(readFileSync(schema, "utf8")) as ValueSchema,
    needed: [...new Set(needed)].sort(),
  };
}

function allowedActions(text: string): readonly string[] {
  const { Statement } = JSON.parse(text) as {
    readonly Statement: readonly { readonly Action: readonly string[] }[];
  };
  return Statement.flatMap(({ Action }) => Action);
}
