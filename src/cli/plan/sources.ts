/** Where a plan gets its facts: the objects of a cluster, and what its NodePools can launch. */
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { KubeconfigError } from "../../kube/kubeconfig/entry.ts";
import { clusterAccess } from "../../kube/kubeconfig/kubeconfig.ts";
import { createHttpTransport } from "../../kube/transport/http-transport.ts";
import type { Transport } from "../../kube/transport/transport.ts";
import { KWOK_WELL_KNOWN_LABELS, kwokInstanceTypes } from "../../providers/kwok/instance-types.ts";
import { isAwsRegion } from "../program/aws-region.ts";
import { BUILD } from "../program/build.ts";
import { CliError } from "../program/cli-error.ts";
import { awsCatalogue, type Cloud } from "./aws-catalogue.ts";
import { readText } from "./documents.ts";
import { factsIn, type ReadFacts } from "./facts.ts";
import { parseInstanceTypes } from "./instance-type-file.ts";
import { readCluster, readFacts, timeOf } from "./live-cluster.ts";
import type { Manifests } from "./manifests.ts";
import { regionOf } from "./region.ts";

type Live = Awaited<ReturnType<typeof readCluster>> & { readonly nowMs: number };

/** Kinds beyond what a plan needs, by what Karpenter tells of itself. */
type Further = (facts: ReadFacts | undefined) => readonly Kind[];

/** Reads the objects of a cluster. */
export type ReadLive = (clock: Clock, further: Further) => Promise<Live>;

/** From the cluster that KUBECONFIG names, or the one this runs in; and what time it is there. */
export async function liveObjects(clock: Clock, further: Further = () => []): Promise<Live> {
  const { transport, warnings } = currentCluster(clock);
  const client = createKubeClient(transport);
  const nowMs = (await timeOf(client)) ?? clock.now();
  const { found, notes } = await objectsOf(client, further);
  return { found, notes: [...warnings, ...notes], nowMs };
}

/** What is read of a cluster, Karpenter's facts among it. */
export async function objectsOf(
  client: Pick<KubeClient, "get" | "list">,
  further: Further,
): ReturnType<typeof readCluster> {
  const maps = await readFacts(client);
  const { found, notes } = await readCluster(client, further(factsIn(maps)));
  return { found: [...maps, ...found], notes };
}

/**
 * The cluster that KUBECONFIG names, or the one this runs in. Throws CliError where there is none. `onlyLive`: the
 * command reads no files in its place.
 */
export function currentCluster(
  clock: Clock,
  { onlyLive = false }: { readonly onlyLive?: boolean } = {},
): {
  readonly transport: Transport;
  readonly server: string;
  readonly warnings: readonly string[];
} {
  try {
    const access = clusterAccess(process.env["KUBECONFIG"], process.env, clock);
    const transport = createHttpTransport({ ...access, userAgent: `karpenter/${BUILD.version}` });
    return { transport, server: access.server, warnings: access.warnings ?? [] };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new CliError(
      onlyLive ? error.message : `--cluster: ${error.message}; or read files: -f FILE`,
    );
  }
}

export async function cloudOf(
  flags: { readonly instanceTypes?: string; readonly region?: string },
  manifests: Manifests,
  facts?: ReadFacts,
): Promise<Cloud> {
  if (flags.region !== undefined && !isAwsRegion(flags.region)) {
    throw new CliError(`--region: wanted a region of AWS such as eu-west-1, got "${flags.region}"`);
  }
  if (flags.instanceTypes === undefined) {
    // Who launches there knows best: a zone that a pod asks for may be one that the cluster has not.
    const region = flags.region ?? facts?.prices?.region ?? regionOf(manifests);
    if (region !== undefined && !isAwsRegion(region)) {
      const place = `ConfigMap ${facts?.where}`;
      throw new CliError(`${place}: "${region}" is no region of AWS; say which with --region`);
    }
    return withKwok(await awsCatalogue(region, manifests, facts));
  }
  const path = flags.instanceTypes;
  const { instanceTypes, wellKnownLabels } = parseInstanceTypes(path, readText(path));
  const notes =
    flags.region === undefined
      ? []
      : [`--region ${flags.region} counts for nothing: --instance-types says what can be launched`];
  return { wellKnownLabels, typesOf: async () => instanceTypes, notes };
}

/** NodePools of the kwok provider get its catalogue. */
function withKwok(aws: Cloud): Cloud {
  return {
    wellKnownLabels: [...aws.wellKnownLabels, ...KWOK_WELL_KNOWN_LABELS],
    nodeClassKinds: [...(aws.nodeClassKinds ?? []), KWOK_NODE_CLASS] as readonly Kind[],
    notes: aws.notes,
    ...(aws.quotaRoom === undefined ? {} : { quotaRoom: aws.quotaRoom }),
    typesOf: async (pool) =>
      pool.classRef.group === KWOK_NODE_CLASS.group ? kwokInstanceTypes() : aws.typesOf(pool),
  };
}
