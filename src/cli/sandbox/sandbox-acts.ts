/** Actions in the console of a sandbox: the same as kubectl or the steps of a scenario can do. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEPLOYMENT } from "../../apis/apps/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { formatDuration, parseDuration } from "../../base/duration.ts";
import { errorText } from "../../base/error-text.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import type { PacedClock } from "../../base/paced-clock.ts";
import type { SandboxAct } from "../../console/source.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { applyCloudFault } from "../../sandbox/scenario/cloud-fault.ts";
import { discoverResources } from "../../sandbox/scenario/resources.ts";
import { runScenario } from "../../sandbox/scenario/run-scenario.ts";
import type { Trace } from "../../sandbox/trace.ts";
import { CliError } from "../program/cli-error.ts";
import { type Box, readManifests } from "./box.ts";
import { loadManifests, readScenario } from "./story-file.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples/", import.meta.url));

/** The actions of the dashboard's button Act. `wants` names the fields to fill in. */
const ACTS: readonly SandboxAct[] = [
  { name: "start", label: "Apply the example NodePool and the Deployment inflate", wants: [] },
  { name: "scale", label: "Scale a Deployment", wants: ["deployment", "replicas"] },
  { name: "reclaim", label: "Reclaim the oldest spot node", wants: [] },
  { name: "break", label: "Stop the machine of a Node", wants: ["node"] },
  { name: "noCapacity", label: "Run out of capacity in a zone", wants: ["zone"] },
  { name: "heal", label: "End all faults of the cloud", wants: [] },
  { name: "restart", label: "Restart Karpenter", wants: [] },
  { name: "pause", label: "Stop time, or let it go on", wants: [] },
  { name: "jump", label: "Jump ahead", wants: ["time"] },
  { name: "speed", label: "Set the speed", wants: ["speed"] },
];

/** The actions, with the scenarios for this provider and the zones of the region. */
export function sandboxActs(
  provider: Actor["provider"],
  zones: readonly string[],
): readonly SandboxAct[] {
  const stories = storiesFor(provider);
  const story = {
    name: "story",
    label: "Play a story",
    wants: ["story"],
    choices: { story: stories },
  };
  const acts = ACTS.map((one) =>
    one.wants.includes("zone") ? { ...one, choices: { zone: zones } } : one,
  );
  return [...acts, story];
}

function storiesFor(provider: Actor["provider"]): readonly string[] {
  const isOfKwok = provider === "kwok";
  return readdirSync(EXAMPLES)
    .filter((name) => name.endsWith(".yaml") && name.startsWith("kwok") === isOfKwok)
    .filter((name) => /^steps:/m.test(readFileSync(join(EXAMPLES, name), "utf8")))
    .map((name) => name.replace(/\.yaml$/, ""))
    .sort();
}

/** Maximum number of replicas. A sandbox in one process is too slow for more pods. */
const MOST_REPLICAS = 5_000;

/** The sandbox on which actions are done. */
export interface Actor {
  readonly box: Pick<Box, "sandbox" | "restart">;
  readonly provider: "aws" | "kwok";
  readonly clusterName: string;
  readonly clock: Pick<
    PacedClock,
    "now" | "sleep" | "speed" | "isPaused" | "pause" | "resume" | "jump"
  >;
  /** Receives the events of a scenario. */
  readonly trace: Trace;
  /** Prints how a scenario ended. */
  readonly say: (line: string) => void;
}

/** The running scenario of each sandbox. Only one may run at a time. */
const PLAYING = new WeakMap<Actor["box"], string>();

/** The longest jump in time. A day of a busy cluster takes the machine about a minute. */
const LONGEST_JUMP_MS = 24 * 3_600_000;
const FASTEST = 10_000;

/** Does an action. Throws CliError that says what to change. */
export async function actOnSandbox(
  actor: Actor,
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<string> {
  const { box, provider, clock } = actor;
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
      const found = await getIfThere(client, NODE, { name: node });
      if (found === undefined) throw new CliError(`node: "${node}": there is no such Node`);
      const instanceId = found.spec?.providerID?.split("/").at(-1) ?? "";
      if (!instanceId.startsWith("i-"))
        throw new CliError(`node: ${node} does not run on a machine of the simulated AWS`);
      aws.controls.stopInstance(instanceId);
      return `the machine of Node ${node} stopped`;
    }
    case "noCapacity": {
      const zone = values["zone"] ?? "";
      applyCloudFault(aws, { outOfCapacity: { instanceType: "*", zone, capacityType: "*" } });
      return `nothing more can be launched in ${zone}`;
    }
    case "heal":
      applyCloudFault(aws, { heal: true });
      return "the simulated AWS has no faults any more";
    case "restart":
      await box.restart();
      return "Karpenter ended and started again";
    case "pause":
      if (clock.isPaused) clock.resume();
      else clock.pause();
      return clock.isPaused ? "time stands still" : `time goes on, at speed ${clock.speed}`;
    case "jump":
      return jump(clock, values["time"] ?? "");
    case "speed": {
      const speed = Number(values["speed"]);
      if (!(speed > 0 && speed <= FASTEST))
        throw new CliError(
          `speed: "${values["speed"]}": wanted a number above 0, at most ${FASTEST}`,
        );
      clock.speed = speed;
      return `${speed} simulated seconds in each real second`;
    }
    case "story":
      return playStory(actor, values["story"] ?? "");
    default:
      throw new CliError(`"${name}": no such act`);
  }
}

async function applyExamples(client: KubeClient, provider: "aws" | "kwok"): Promise<string> {
  const resources = discoverResources(client);
  const files = [`${provider === "kwok" ? "kwok" : "v1"}/nodepool.yaml`, "inflate.yaml"];
  const applied: string[] = [];
  for (const file of files) {
    for (const object of readManifests(readFileSync(join(EXAMPLES, file), "utf8"), file)) {
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
  const ref = { name, namespace };
  if ((await getIfThere(client, DEPLOYMENT, ref)) === undefined)
    throw new CliError(`deployment: "${namespace}/${name}": there is no such Deployment`);
  const body = { spec: { replicas: count } };
  await client.patch(DEPLOYMENT, ref, { type: "merge", body }, "scale");
  return `Deployment ${namespace}/${name} wants ${count} replicas`;
}

async function jump(clock: Actor["clock"], time: string): Promise<string> {
  const ms = parseDuration(time);
  if (ms === undefined || ms <= 0 || ms > LONGEST_JUMP_MS)
    throw new CliError(`time: "${time}": wanted a duration up to 24h, such as 90s or 2h`);
  await clock.jump(ms);
  return `${formatDuration(ms)} have passed`;
}

/**
 * Starts a scenario on the present cluster and returns. The scenario continues for minutes of the cluster's time.
 */
function playStory({ box, provider, clusterName, clock, trace, say }: Actor, name: string): string {
  const playing = PLAYING.get(box);
  if (playing !== undefined)
    throw new CliError(`story: ${playing} is being played; wait for its end`);
  if (!storiesFor(provider).includes(name))
    throw new CliError(`story: "${name}": wanted one of ${storiesFor(provider).join(", ")}`);
  const scenario = readScenario(join(EXAMPLES, `${name}.yaml`));
  const { client, aws } = box.sandbox;
  PLAYING.set(box, name);
  const played = runScenario(scenario, {
    clock: {
      now: () => clock.now(),
      advance: (ms) => clock.sleep(ms),
      settle: () => clock.sleep(0),
    },
    client,
    trace,
    load: (file) => loadManifests(join(EXAMPLES, file), clusterName),
    fault: (fault) => applyCloudFault(aws, fault),
  })
    .then(({ kept, broken }) =>
      say([`story ${name} ended: ${kept} promises kept`, ...broken].join("; ")),
    )
    .catch((error: unknown) => say(`story ${name} stopped: ${errorText(error)}`))
    .finally(() => PLAYING.delete(box));
  mustNotFail(played, "playing a story");
  return `${scenario.name}: it begins; what it promises is checked against what else is in the cluster`;
}
