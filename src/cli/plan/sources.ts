/** The two inputs of a plan: the objects of a cluster, and what its NodePools can launch. */

import type { Pool } from "../../apis/hub/pool.ts";
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { KubeconfigError, NoClusterError } from "../../kube/kubeconfig/entry.ts";
import { clusterAccess } from "../../kube/kubeconfig/kubeconfig.ts";
import { createHttpTransport } from "../../kube/transport/http-transport.ts";
import type { Transport } from "../../kube/transport/transport.ts";
import { KWOK_WELL_KNOWN_LABELS, kwokInstanceTypes } from "../../providers/kwok/instance-types.ts";
import { isAwsRegion } from "../program/aws-region.ts";
import { BUILD } from "../program/build.ts";
import { CliError } from "../program/cli-error.ts";
import { noInput } from "../program/no-input.ts";
import { awsCatalogue, type Cloud } from "./aws-catalogue.ts";
import { readText } from "./documents.ts";
import { factsIn, factsMaps, type ReadFacts } from "./facts.ts";
import { parseInstanceTypes } from "./instance-type-file.ts";
import { readCluster, readConfigMaps, timeOf } from "./live-cluster.ts";
import type { Manifests } from "./manifests.ts";
import { regionOf } from "./region.ts";

type Live = Awaited<ReturnType<typeof readCluster>> & { readonly nowMs: number };

/** Returns the kinds to read beyond those that every plan needs, depending on Karpenter's facts. */
type Further = (facts: ReadFacts | undefined) => readonly Kind[];

/** Reads the objects of a cluster. */
export type ReadLive = (clock: Clock, further: Further) => Promise<Live>;

/** Reads the current cluster (KUBECONFIG, or the one that this runs in) and its time. */
export async function liveObjects(clock: Clock, further: Further = () => []): Promise<Live> {
  const { transport, warnings } = currentCluster(clock);
  const client = createKubeClient(transport);
  const nowMs = (await timeOf(client)) ?? clock.now();
  const { found, notes } = await objectsOf(client, further);
  return { found, notes: [...warnings, ...notes], nowMs };
}

/** The objects of a cluster, including Karpenter's facts. */
export async function objectsOf(
  client: Pick<KubeClient, "get" | "list">,
  further: Further,
): ReturnType<typeof readCluster> {
  const maps = await readConfigMaps(() => factsMaps(client));
  const { found, notes } = await readCluster(client, further(factsIn(maps)));
  return { found: [...maps, ...found], notes };
}

/**
 * The current cluster: that of KUBECONFIG, or the one that this runs in. Throws CliError if there is none.
 * `onlyLive`: the command cannot read files instead.
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
    if (onlyLive) throw new CliError(error.message);
    throw new CliError(
      error instanceof NoClusterError
        ? noInput(error.message)
        : `--cluster: ${error.message}; or read files: -f FILE`,
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
    // The region of the running Karpenter is preferred, because a pod may ask for a zone that the cluster does not
    // have.
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

/** Adds the catalogue of the kwok provider for its NodePools. */
function withKwok(aws: Cloud): Cloud {
  const isKwok = (pool: Pool) => pool.classRef.group === KWOK_NODE_CLASS.group;
  return {
    wellKnownLabels: [...aws.wellKnownLabels, ...KWOK_WELL_KNOWN_LABELS],
    nodeClassKinds: [...(aws.nodeClassKinds ?? []), KWOK_NODE_CLASS] as readonly Kind[],
    notes: aws.notes,
    ...(aws.quotaRoom === undefined ? {} : { quotaRoom: aws.quotaRoom }),
    missingClass: (pool) => (isKwok(pool) ? undefined : aws.missingClass?.(pool)),
    typesOf: async (pool) => (isKwok(pool) ? kwokInstanceTypes() : aws.typesOf(pool)),
  };
}
