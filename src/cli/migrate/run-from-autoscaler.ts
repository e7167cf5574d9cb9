/**
 * Runs `karpenter migrate from-cluster-autoscaler`: reads node groups, prints NodePools as YAML, and compares the
 * costs.
 */
import type { ConfigMap } from "../../apis/core/kinds.ts";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { counted } from "../../base/counted.ts";
import { type Printed, printedDocument } from "../../base/printable.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { writeYaml } from "../../readers/write-yaml.ts";
import { type Found, readDocuments, readText } from "../plan/documents.ts";
import { configMapsNamed } from "../plan/facts.ts";
import { readConfigMaps } from "../plan/live-cluster.ts";
import { currentCluster, objectsOf } from "../plan/sources.ts";
import { CliError } from "../program/cli-error.ts";
import { valuesOf } from "../program/manifest-text.ts";
import { toStdout } from "../program/output.ts";
import { some } from "./check-objects.ts";
import { draftPools } from "./draft-pools.ts";
import { type GroupCost, groupCost } from "./group-cost.ts";
import { nodeGroups } from "./node-groups.ts";
import { EXPANDER, prioritiesOf } from "./priorities.ts";
import { isOfOtherCluster, readScalingGroups } from "./scaling-groups.ts";

/** Flags of the command, as the parser gives them. */
export interface FromAutoscalerFlags {
  readonly filename?: readonly string[];
  readonly groups?: string;
  readonly clusterName: string;
  readonly role?: string;
  readonly region?: string;
}

/** Prints the drafted NodePools and compares the costs. Throws CliError for bad input, or if there is no node group. */
export async function runFromAutoscaler(
  flags: FromAutoscalerFlags,
  out: (text: Printed) => void = toStdout,
): Promise<void> {
  const file = flags.groups;
  const scaling =
    file === undefined ? [] : readScalingGroups(file, valuesOf(file, readText(file))[0]);
  const found =
    flags.filename === undefined
      ? await liveFound()
      : readDocuments(flags.filename).map((one) => ({ ...one, live: true as const }));
  const ofKind = <T extends KubeObject>(kind: string) =>
    found.flatMap(({ object }) => (object.kind === kind ? [object as T] : []));
  const { clusterName, role = `KarpenterNodeRole-${clusterName}` } = flags;
  const others = scaling.filter((one) => isOfOtherCluster(one, clusterName));
  const own = scaling.filter((one) => !others.includes(one));
  const groups = nodeGroups(ofKind<Node>("Node"), own);
  if (groups.length === 0)
    throw new CliError(
      "no node group was found: no node names one by a label of EKS, eksctl or kOps; give --groups FILE",
    );
  const pods = ofKind<Pod>("Pod");
  const expander = ofKind<ConfigMap>("ConfigMap").find(
    ({ metadata }) => metadata.name === EXPANDER,
  );
  const priorities = prioritiesOf(groups, expander);
  const { objects, notes } = draftPools(groups, pods, { clusterName, role, priorities });
  const isKnown = groups.some(({ nodes }) => nodes.length > 0);
  const cost = isKnown
    ? await groupCost(found, groups, { drafts: objects, region: flags.region })
    : undefined;
  const head = [
    `Drafts for ${counted(groups.length, "node group")}. Read them before you apply them.`,
    ...notes.map((note) => `- ${note}`),
    ...(others.length === 0
      ? []
      : [`- left out, as their tags name other clusters: ${some(others.map(({ name }) => name))}`]),
    ...(cost === undefined
      ? ["Cost: not known, as no node of the groups is there"]
      : costLines(cost)),
  ];
  const comment = head.map((line) => `# ${line}\n`).join("");
  out(printedDocument(`${comment}${objects.map((one) => writeYaml(one)).join("---\n")}`));
}

/** The objects of the current cluster, with the priorities of Cluster Autoscaler. */
async function liveFound(): Promise<readonly Found[]> {
  const { transport } = currentCluster(new SystemClock());
  const client = createKubeClient(transport);
  const { found } = await objectsOf(client, () => []);
  return [...found, ...(await readConfigMaps(() => configMapsNamed(client, EXPANDER)))];
}

function costLines({ before, after, left, unpriced, notes }: GroupCost): readonly string[] {
  const usd = (micro: number) => `$${(micro / 1e6).toFixed(4)}/h`;
  return [
    `Cost now: ${usd(before.priceMicroUsd)} on ${counted(before.nodes, "node")}`,
    `Cost with these NodePools for the same pods: ${usd(after.priceMicroUsd)} on ${counted(after.nodes, "node")}`,
    ...(unpriced.length === 0
      ? []
      : [`- no price is known for ${some(unpriced)}; they count as nothing`]),
    ...(left.length === 0 ? [] : [`- without a place: ${some(left)}; karpenter plan says why`]),
    ...notes.map((note) => `- ${note}`),
  ];
}
