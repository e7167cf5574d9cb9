/**
 * The Fault Injection Service, only for interruptions of spot instances. A template says which instances and when;
 * an experiment runs it. The experiment sends a rebalance recommendation at once and the notice two minutes before
 * the end, and then interrupts the instances. Other actions, selection by tags and stop conditions are refused.
 */
import type { Timer } from "../../../base/clock.ts";
import { parseDuration } from "../../../base/duration.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { AwsState, InstanceRecord } from "../account/state.ts";
import { INTERRUPTION_NOTICE_MS, reclaim } from "../instances/instances.ts";
import { tellRebalance } from "../queues/instance-events.ts";

const ACTION = "aws:ec2:send-spot-instance-interruptions";
const RESOURCE = "aws:ec2:spot-instance";
const SHORTEST_MS = 120_000;
const LONGEST_MS = 900_000;

interface TemplateInput {
  readonly description?: string;
  readonly targets?: Readonly<Record<string, { resourceType?: string; resourceArns?: string[] }>>;
  readonly actions?: Readonly<
    Record<string, { actionId?: string; parameters?: Record<string, string> }>
  >;
}

interface Template {
  readonly id: string;
  readonly input: TemplateInput;
  readonly instanceIds: readonly string[];
  readonly beforeMs: number;
}

interface Experiment {
  readonly id: string;
  readonly experimentTemplateId: string;
  readonly startTime: number;
  state: { status: "running" | "completed" | "stopped" | "failed"; reason: string };
}

/** The calls by method name. Members begin with a small letter on the wire. */
export function fisCalls(state: AwsState): Readonly<Record<string, (input: never) => unknown>> {
  const templates = new Map<string, Template>();
  const experiments = new Map<string, { experiment: Experiment; timer: Timer | undefined }>();
  const templateOf = (id = ""): Template => found(templates, id, "experiment template");
  const named = ({ id = "" }: { readonly id?: string }) => found(experiments, id, "experiment");
  return {
    createExperimentTemplate(input: TemplateInput) {
      const id = `EXT${state.messageIds.hex(14)}`;
      templates.set(id, { id, input, ...planOf(input) });
      return { experimentTemplate: { id, ...input } };
    },
    deleteExperimentTemplate({ id }: { readonly id?: string }) {
      const { id: known, input } = templateOf(id);
      templates.delete(known);
      return { experimentTemplate: { id: known, ...input } };
    },
    startExperiment({ experimentTemplateId }: { readonly experimentTemplateId?: string }) {
      const template = templateOf(experimentTemplateId);
      const experiment: Experiment = {
        id: `EXP${state.messageIds.hex(14)}`,
        experimentTemplateId: template.id,
        startTime: state.clock.now() / 1_000,
        state: { status: "running", reason: "Experiment is running." },
      };
      experiments.set(experiment.id, { experiment, timer: start(state, template, experiment) });
      return { experiment };
    },
    getExperiment: (input: { readonly id?: string }) => ({ experiment: named(input).experiment }),
    stopExperiment(input: { readonly id?: string }) {
      const { experiment, timer } = named(input);
      timer?.cancel();
      if (experiment.state.status === "running") {
        experiment.state = { status: "stopped", reason: "Experiment was stopped." };
      }
      return { experiment };
    },
  };
}

function found<T>(table: ReadonlyMap<string, T>, id: string, noun: string): T {
  const value = table.get(id);
  if (value !== undefined) return value;
  throw new AwsError("ResourceNotFoundException", `The ${noun} ${id} does not exist.`, 404);
}

function planOf({ targets = {}, actions = {} }: TemplateInput): Omit<Template, "id" | "input"> {
  const instanceIds = Object.values(targets).flatMap(({ resourceType, resourceArns = [] }) => {
    if (resourceType !== RESOURCE) throw invalid(`only targets of ${RESOURCE} are simulated`);
    return resourceArns.map((arn) => arn.split("/").at(-1) ?? "");
  });
  if (instanceIds.length === 0) throw invalid("targets must name instances by resourceArns");
  const [action, ...others] = Object.values(actions);
  if (action?.actionId !== ACTION || others.length > 0) {
    throw invalid(`exactly one action, ${ACTION}, is simulated`);
  }
  const text = action.parameters?.["durationBeforeInterruption"] ?? "";
  const beforeMs = isoDuration(text);
  if (beforeMs === undefined || beforeMs < SHORTEST_MS || beforeMs > LONGEST_MS) {
    throw invalid(`durationBeforeInterruption must be from PT2M to PT15M, got ${text}`);
  }
  return { instanceIds, beforeMs };
}

/** The milliseconds of an ISO 8601 duration such as `PT2M15S`. */
function isoDuration(text: string): number | undefined {
  return /^PT(?=\d)/.test(text) ? parseDuration(text.slice(2).toLowerCase()) : undefined;
}

function invalid(message: string): AwsError {
  return new AwsError("ValidationException", message);
}

function start(state: AwsState, template: Template, experiment: Experiment): Timer | undefined {
  const running = (): InstanceRecord[] =>
    template.instanceIds.flatMap((id) => {
      const record = state.instances.get(id);
      return record?.capacityType === "spot" && record.state === "running" ? [record] : [];
    });
  const targets = running();
  if (targets.length < template.instanceIds.length) {
    const found = new Set(targets.map(({ id }) => id));
    const missing = template.instanceIds.filter((id) => !found.has(id)).join(", ");
    const reason = `Target resolution failed: ${missing} is no running spot instance.`;
    experiment.state = { status: "failed", reason };
    return undefined;
  }
  for (const record of targets) tellRebalance(state, record);
  return state.clock.after(template.beforeMs - INTERRUPTION_NOTICE_MS, () => {
    for (const record of running()) reclaim(state, record);
    experiment.state = { status: "completed", reason: "Experiment completed." };
  });
}
