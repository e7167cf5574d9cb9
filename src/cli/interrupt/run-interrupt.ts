/**
 * Interrupts spot instances through the Fault Injection Service of a sandbox, and prints the progress. The requests
 * are not signed, so real AWS refuses them, on purpose.
 */
import { createInterface } from "node:readline/promises";
import { setTimeout } from "node:timers/promises";
import { formatDuration } from "../../base/duration.ts";
import { errorText } from "../../base/error-text.ts";
import { isObject } from "../../base/json.ts";
import { printedLines } from "../../base/printable.ts";
import { CliError } from "../program/cli-error.ts";
import { terminal, toStdout } from "../program/output.ts";

/** Flags of `karpenter interrupt`, as the parser gives them. */
export interface InterruptFlags {
  readonly instanceIds?: readonly string[];
  /** The delay of the notice in milliseconds. */
  readonly delay: number;
  readonly interactive: boolean;
  readonly clean: "true" | "false";
  readonly profile?: string;
  readonly region: string;
  readonly endpointUrl: string;
}

const NOTICE_S = 120;
/** Milliseconds between two checks of the experiment. */
const POLL_MS = 500;

interface Experiment {
  readonly id: string;
  readonly state: { readonly status: string; readonly reason?: string };
}

/** Output and waiting, so that tests can replace them. */
export interface InterruptDoors {
  readonly say: (line: string) => void;
  /** Waits between two checks; in real time by default. */
  readonly sleep: (ms: number) => Promise<void>;
}

const DOORS: InterruptDoors = {
  say: (line) => toStdout(printedLines([line])),
  sleep: (ms) => setTimeout(ms),
};

/** Interrupts spot instances of the simulated AWS, by an experiment of its Fault Injection Service. */
export async function runInterrupt(
  flags: InterruptFlags,
  doors: InterruptDoors = DOORS,
): Promise<void> {
  const url = flags.endpointUrl;
  if (url === "") {
    throw new CliError(
      "missing the sandbox's AWS: set AWS_ENDPOINT_URL or --endpoint-url to the address that `karpenter sandbox` prints (real instances are not interrupted)",
    );
  }
  if (!URL.canParse(url))
    throw new CliError(
      `--endpoint-url: wanted an address such as http://127.0.0.1:4566, got ${JSON.stringify(url)}`,
    );
  const ids = flags.interactive ? await choose(flags, doors) : (flags.instanceIds ?? []);
  if (ids.length === 0) {
    throw new CliError("missing the instances: name them with --instance-ids, or choose with -i");
  }
  const template = await ask(url, "POST", "/experimentTemplates", templateFor(ids, flags));
  const { id: templateId } = template["experimentTemplate"] as { readonly id: string };
  try {
    const started = await ask(url, "POST", "/experiments", { experimentTemplateId: templateId });
    let experiment = started["experiment"] as Experiment;
    if (experiment.state.status === "running") {
      const wait = formatDuration(flags.delay);
      doors.say(
        `rebalance recommendation sent to ${ids.join(", ")}; the notice follows in ${wait}`,
      );
    }
    while (experiment.state.status === "running") {
      await doors.sleep(POLL_MS);
      const looked = await ask(url, "GET", `/experiments/${experiment.id}`);
      experiment = looked["experiment"] as Experiment;
    }
    const { status, reason } = experiment.state;
    if (status !== "completed") {
      throw new CliError(`interrupting ${ids.join(", ")}: ${reason ?? status}`);
    }
    doors.say(
      "interruption notice sent; EC2 ends the instances in 2 minutes of the sandbox's time",
    );
  } finally {
    if (flags.clean === "true") await ask(url, "DELETE", `/experimentTemplates/${templateId}`);
  }
}

function templateFor(ids: readonly string[], { delay, region }: InterruptFlags): unknown {
  const resourceArns = ids.map((id) => `arn:aws:ec2:${region}:123456789012:instance/${id}`);
  return {
    description: "karpenter interrupt",
    stopConditions: [{ source: "none" }],
    targets: {
      spot: { resourceType: "aws:ec2:spot-instance", resourceArns, selectionMode: "ALL" },
    },
    actions: {
      interrupt: {
        actionId: "aws:ec2:send-spot-instance-interruptions",
        parameters: { durationBeforeInterruption: `PT${delay / 1_000 + NOTICE_S}S` },
        targets: { SpotInstances: "spot" },
      },
    },
  };
}

async function choose(
  { endpointUrl, region }: InterruptFlags,
  { say }: InterruptDoors,
): Promise<readonly string[]> {
  // The SDK's advice on Node.js versions is not for users of this command.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const { createSdkApi } = await import("../../providers/aws/sdk.ts");
  const credentials = { accessKeyId: "sandbox", secretAccessKey: "sandbox" };
  const { ec2 } = createSdkApi({ region, endpoint: endpointUrl, credentials });
  const { Reservations = [] } = await ec2
    .describeInstances({
      Filters: [
        { Name: "instance-lifecycle", Values: ["spot"] },
        { Name: "instance-state-name", Values: ["running"] },
      ],
    })
    .catch((error: unknown) => unreachable(endpointUrl, error));
  const instances = Reservations.flatMap(({ Instances }) => Instances ?? []);
  for (const [index, one] of instances.entries()) {
    const { InstanceId, InstanceType, Placement, PrivateDnsName } = one;
    say(
      `${index + 1}  ${InstanceId}  ${InstanceType}  ${Placement?.AvailabilityZone}  ${PrivateDnsName}`,
    );
  }
  if (instances.length === 0) throw new CliError("no spot instance is running");
  const answer = await askPerson("which (numbers, separated by comma)? ");
  return answer.split(",").flatMap((number) => {
    const chosen = instances[Number(number.trim()) - 1];
    if (chosen === undefined) throw new CliError(`${JSON.stringify(number)} is not in the list`);
    return [chosen.InstanceId];
  });
}

/** Asks the user a question on the terminal. Rejects with CliError if the input ends without an answer. */
async function askPerson(question: string): Promise<string> {
  const prompt = createInterface(terminal());
  const nobody = new Promise<never>((_, reject) => {
    prompt.once("close", () => reject(new CliError("nothing was chosen")));
  });
  try {
    return await Promise.race([prompt.question(question), nobody]);
  } finally {
    prompt.close();
  }
}

async function ask(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(new URL(path, url), { method, headers, ...sent }).catch(
    (error: unknown) => unreachable(url, (error as Error).cause ?? error),
  );
  const value: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok || !isObject(value)) {
    const why = isObject(value) ? String(value["message"]) : `HTTP ${answer.status}`;
    throw new CliError(`${method} ${url}${path}: ${why}`);
  }
  return value;
}

function unreachable(url: string, error: unknown): never {
  const why = errorText(error);
  throw new CliError(`cannot reach the simulated AWS at ${url}: ${why}; is the sandbox running?`);
}
