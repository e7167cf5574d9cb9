/**
 * Collects the files of a support bundle. It uses only list and get, and removes secrets before anything is
 * written.
 */
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { AWS_NODE_TEMPLATE } from "../../apis/aws/awsnodetemplate.ts";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "../../apis/core/custom-resource-definition.ts";
import { EVENT, type Event } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import { NODE_OVERLAY } from "../../apis/karpenter/nodeoverlay.ts";
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { LEASE, POD_DISRUPTION_BUDGET } from "../../apis/policy/kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotServed, KubeError } from "../../kube/errors.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { isKarpenter, settingOf } from "../checks/deployments.ts";
import { scrubbed, scrubbedText } from "./scrub.ts";

/** Kinds whose objects are all in the bundle. Secrets and ConfigMaps are never read. */
const KINDS = [
  ...POOL_KINDS,
  ...CLAIM_KINDS,
  EC2_NODE_CLASS,
  AWS_NODE_TEMPLATE,
  KWOK_NODE_CLASS,
  NODE_OVERLAY,
  NODE,
  POD,
  POD_DISRUPTION_BUDGET,
] as readonly Kind[];

/** One file of the bundle. */
export interface BundleFile {
  readonly path: string;
  readonly text: string;
}

/** The files, and a sentence for each thing that could not be read. */
export interface Collected {
  readonly files: readonly BundleFile[];
  readonly missing: readonly string[];
}

/** Collects the files. `version` is that of this program. */
export async function collectBundle(
  client: Pick<KubeClient, "list" | "raw">,
  { namespace, version }: { readonly namespace: string; readonly version: string },
): Promise<Collected> {
  const files: BundleFile[] = [];
  const missing: string[] = [];
  const list = async <T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]> => {
    try {
      return (await client.list(kind)).items;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!isNotServed(error)) missing.push(`${kind.plural}: ${error.message}`);
      return [];
    }
  };
  const put = (path: string, objects: readonly KubeObject[]): void => {
    if (objects.length > 0)
      files.push({ path, text: `${JSON.stringify(objects.map(scrubbed), null, 1)}\n` });
  };
  for (const kind of KINDS) put(`objects/${fileName(kind)}`, await list(kind));
  const definitions = (await list(CUSTOM_RESOURCE_DEFINITION)).filter(({ spec }) =>
    spec.group.startsWith("karpenter."),
  );
  put("objects/customresourcedefinitions.json", definitions.map(withoutSchemas));
  const deployments = (await list(DEPLOYMENT)).filter(
    ({ metadata }: Deployment) => metadata.namespace === namespace,
  );
  put("objects/deployments.json", deployments);
  put(
    "objects/leases.json",
    (await list(LEASE)).filter(({ metadata }) => metadata.namespace === namespace),
  );
  put("events.json", (await list(EVENT)).filter(isOurs));
  const metrics = await metricsOf(client, { namespace, port: metricsPort(deployments) }, missing);
  if (metrics !== undefined) files.push({ path: "metrics.txt", text: scrubbedText(metrics) });
  const server = await client.raw({ method: "GET", path: "/version" });
  const versions = { karpenter: version, server: server.body, missing: missing.sort() };
  files.push({ path: "versions.json", text: `${JSON.stringify(versions, null, 1)}\n` });
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), missing };
}

function fileName({ plural, group }: Kind): string {
  return `${plural}${group === "" ? "" : `.${group}`}.json`;
}

/** Removes the schemas of a CRD, because they are long and known for each release. */
function withoutSchemas(crd: KubeObject): KubeObject {
  const { spec } = crd as KubeObject & {
    readonly spec: { readonly versions: readonly { readonly schema?: unknown }[] };
  };
  const versions = spec.versions.map(({ schema: _, ...rest }) => rest);
  return { ...crd, spec: { ...spec, versions } } as KubeObject;
}

function isOurs({ source, reportingComponent }: Event): boolean {
  return [source?.component, reportingComponent].some(
    (one) => one?.startsWith("karpenter") === true,
  );
}

/** The port that the chart gave to the controller. */
function metricsPort(deployments: readonly Deployment[]): string {
  const given = deployments.filter(isKarpenter).flatMap((one) => {
    const port = settingOf(one, OPTIONS.metricsPort);
    return port ? [port] : [];
  });
  return given[0] ?? String(OPTIONS.metricsPort.default);
}

/** The metrics of the first pod that answers, through the API server's proxy. */
async function metricsOf(
  client: Pick<KubeClient, "list" | "raw">,
  { namespace, port }: { readonly namespace: string; readonly port: string },
  missing: string[],
): Promise<string | undefined> {
  const labelSelector = "app.kubernetes.io/name=karpenter";
  const pods = await client.list(POD, { namespace, labelSelector }).catch(() => ({ items: [] }));
  for (const { metadata } of pods.items) {
    const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}:${port}/proxy/metrics`;
    try {
      const { body } = await client.raw({ method: "GET", path });
      if (typeof body === "string") return body;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      missing.push(`metrics of ${metadata.name}: ${error.message}`);
    }
  }
  return undefined;
}
