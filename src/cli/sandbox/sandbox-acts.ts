/** What a person may do to the sandbox from its console: the same as by kubectl, and as the steps of a story. */
import { readFileSync } from "node:fs";
import { DEPLOYMENT } from "../../apis/apps/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import type { Act } from "../../console/source.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { applyCloudFault } from "../../sandbox/scenario/cloud-fault.ts";
import { discoverResources } from "../../sandbox/scenario/resources.ts";
import { CliError } from "../program/cli-error.ts";
import { type Box, readManifests } from "./box.ts";

/** What the dashboard's button Act offers. `wants` names the fields to fill in. */
export const SANDBOX_ACTS: readonly Act[] = [
  { name: "start", label: "Apply the example NodePool and the Deployment inflate", wants: [] },
  { name: "scale", label: "Scale a Deployment", wants: ["deployment", "replicas"] },
  { name: "reclaim", label: "Reclaim the oldest spot node", wants: [] },
  { name: "break", label: "Stop the machine of a Node", wants: ["node"] },
  { name: "noCapacity", label: "Run out of capacity in a zone", wants: ["zone"] },
  { name: "heal", label: "End all faults of the cloud", wants: [] },
  { name: "restart", label: "Restart Karpenter", wants: [] },
];

const EXAMPLES = new URL("../../../examples/", import.meta.url);
/** More pods than a sandbox of one process is for. */
const MOST_REPLICAS = 5_000;

/** The sandbox that acts are done to. */
export interface Actor {
  readonly box: Pick<Box, "sandbox" | "restart">;
  readonly provider: "aws" | "kwok";
}

/** Carries an act out. Throws CliError, which says what to mend. */
export async function actOnSandbox(
  { box, provider }: Actor,
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<string> {
  const { client, aws } = box.sandbox;
  switch (name) {
    case "start":
      return applyExamples(client, provider);
    case "scale":
      return scale(client, values["deployment"] ?? "", values["replicas"] ?? "");
    case "reclaim":
      applyCloudFault(aws, { reclaimSpot: { instanceType: "*", zone: "*", count: 1 } });
      return "the oldest spot instance got its interruption notice: it ends in 2 minutes";
    case "break": {
      const node = values["node"] ?? "";
      if (node === "") throw new CliError("node: say its name");
      const { spec } = await client.get(NODE, { name: node });
      const instanceId = spec?.providerID?.split("/").at(-1) ?? "";
      if (!instanceId.startsWith("i-"))
        throw new CliError(`node: ${node} does not run on a machine of the simulated AWS`);
      aws.controls.stopInstance(instanceId);
      return `the machine of Node ${node} stopped`;
    }
    case "noCapacity": {
      const zone = values["zone"] ?? "";
      if (zone === "") throw new CliError("zone: say its name, such as us-west-2a");
      applyCloudFault(aws, { outOfCapacity: { instanceType: "*", zone, capacityType: "*" } });
      return `nothing more can be launched in ${zone}`;
    }
    case "heal":
      applyCloudFault(aws, { heal: true });
      return "the simulated AWS has no faults any more";
    case "restart":
      await box.restart();
      return "Karpenter ended and started again";
    default:
      throw new CliError(`"${name}": no such act`);
  }
}

async function applyExamples(client: KubeClient, provider: "aws" | "kwok"): Promise<string> {
  const resources = discoverResources(client);
  const files = [`${provider === "kwok" ? "kwok" : "v1"}/nodepool.yaml`, "inflate.yaml"];
  const applied: string[] = [];
  for (const file of files) {
    for (const object of readManifests(readFileSync(new URL(file, EXAMPLES), "utf8"), file)) {
      const kind = await resources.kind(object.apiVersion ?? "", object.kind ?? "");
      const namespace = kind.namespaced ? (object.metadata.namespace ?? "default") : undefined;
      const ref = { name: object.metadata.name, namespace };
      const body = { ...object, metadata: { ...object.metadata, ...(namespace && { namespace }) } };
      await client.patch(kind, ref, { type: "apply", body, fieldManager: "kubectl", force: true });
      applied.push(`${kind.kind} ${object.metadata.name}`);
    }
  }
  return `applied: ${applied.join(", ")}`;
}

async function scale(client: KubeClient, deployment: string, replicas: string): Promise<string> {
  const [name = "", namespace = "default"] = deployment.split("/").reverse();
  if (name === "") throw new CliError("deployment: say its name, or namespace/name");
  const count = Number(replicas);
  if (!/^\d+$/.test(replicas) || count > MOST_REPLICAS)
    throw new CliError(`replicas: "${replicas}": wanted a whole number from 0 to ${MOST_REPLICAS}`);
  const body = { spec: { replicas: count } };
  await client.patch(DEPLOYMENT, { name, namespace }, { type: "merge", body }, "scale");
  return `Deployment ${namespace}/${name} wants ${count} replicas`;
}
