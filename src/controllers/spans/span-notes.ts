/**
 * Collects facts about claims and commands in progress, and exports their spans, the parts of a trace, when they are
 * finished. The decisions of passes and commands are passed in; everything else is read from the objects. If there are
 * too many entries, the oldest are dropped.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import { recordOf, replacementCommandId } from "../../core/disruption/record.ts";
import {
  type ClaimWay,
  claimSpans,
  isWayOver,
  type PassFacts,
  type PlannedPod,
} from "../../core/spans/claim-spans.ts";
import {
  type BegunCommand,
  type CommandWay,
  commandSpans,
  isCommandOver,
} from "../../core/spans/command-spans.ts";
import type { TraceSpan } from "../../core/spans/span.ts";

/** Receives finished spans. `send` never waits and never throws. */
export interface SpanSink {
  send(spans: readonly TraceSpan[]): void;
}

/**
 * The most claims with a trace at the same time. No cluster starts so many nodes at once. If there are more, the oldest
 * are dropped.
 */
const MOST_CLAIMS = 5_000;
const MOST_COMMANDS = 500;
/** Milliseconds after the initialization of a node. A pod that is not bound by then is no longer waited for. */
const MOST_WAIT_MS = 10 * 60_000;

type Way = Omit<ClaimWay, "nowMs" | "isGone">;
type Command = { -readonly [K in keyof Omit<CommandWay, "nowMs">]?: CommandWay[K] };

export class SpanNotes {
  readonly #sink: SpanSink;
  readonly #clock: Pick<Clock, "now">;
  /** What is known about each claim in progress, by the claim's name. */
  readonly #ways = new Map<string, Way>();
  /** The claim that was planned for each pod, by the pod's key. */
  readonly #awaited = new Map<string, string>();
  readonly #commands = new Map<string, Command>();
  /** The command that deletes a claim, by the claim's name. */
  readonly #endedBy = new Map<string, string>();
  #pass: PassFacts | undefined;

  constructor(sink: SpanSink, clock: Pick<Clock, "now">) {
    this.#sink = sink;
    this.#clock = clock;
  }

  /** Records a planned pass. Claims that are created from now on belong to it. */
  passed(pass: PassFacts): void {
    this.#pass = pass;
  }

  /** Records that the claim was created for these pods. */
  planned(claim: NodeClaim, pods: readonly Pod[]): void {
    const { name } = claim.metadata;
    const real = pods.filter((pod) => !isBufferPod(pod));
    const way = this.#ways.get(name) ?? this.#begun(claim);
    for (const pod of real) {
      this.#leave(keyOf(pod));
      this.#awaited.set(keyOf(pod), name);
    }
    const pass = this.#pass;
    this.#keep(name, { ...way, ...(pass === undefined ? {} : { pass }), pods: real.map(planned) });
  }

  /** Records that the command starts now. */
  started(id: string, begun: Omit<BegunCommand, "startedMs">): void {
    this.#commandOf(id).begun = { ...begun, startedMs: this.#clock.now() };
  }

  /** Whether a claim waits for this pod, which is given by its key. */
  awaits(podKey: string): boolean {
    return this.#awaited.has(podKey);
  }

  /**
   * Records the claim's current state. `claim` undefined: the claim is gone. Returns after how many milliseconds the
   * claim must be checked again at the latest.
   */
  saw(name: string, claim: NodeClaim | undefined): number | undefined {
    this.#noteCommand(name, claim);
    const known = this.#ways.get(name);
    if (known === undefined && (claim === undefined || !isOnItsWay(claim))) return undefined;
    const way = known ?? this.#begun(claim as NodeClaim);
    const next = claim === undefined ? way : { ...way, claim, seenMs: this.#seen(way, claim) };
    this.#keep(name, next);
    return this.#settle(name, claim === undefined);
  }

  /** Records the pod's current state. `pod` undefined: it is gone. */
  sawPod(podKey: string, pod: Pod | undefined): void {
    const name = this.#awaited.get(podKey);
    const way = name === undefined ? undefined : this.#ways.get(name);
    if (name === undefined || way === undefined) return;
    const nodeName = pod?.spec.nodeName;
    const isWaiting = pod !== undefined && nodeName === undefined;
    if (isWaiting) return;
    this.#awaited.delete(podKey);
    const atMs = this.#clock.now();
    const pods = way.pods.map((one): PlannedPod => {
      if (keyOfPlanned(one) !== podKey) return one;
      const isSame = pod?.metadata.uid === one.uid;
      return isSame && nodeName !== undefined
        ? { ...one, bound: { atMs, nodeName } }
        : { ...one, isGone: true };
    });
    this.#keep(name, { ...way, pods });
    this.#settle(name, false);
  }

  #begun(claim: NodeClaim): Way {
    const commandId = replacementCommandId(claim);
    return { claim, seenMs: { created: this.#clock.now() }, pods: [], commandId };
  }

  /** Removes the pod from its claim: the claim is gone, or the pod was planned elsewhere. */
  #leave(podKey: string): void {
    const name = this.#awaited.get(podKey);
    const way = name === undefined ? undefined : this.#ways.get(name);
    if (name === undefined || way === undefined) return;
    const pods = way.pods.filter((one) => keyOfPlanned(one) !== podKey);
    this.#keep(name, { ...way, pods });
  }

  #keep(name: string, way: Way): void {
    this.#ways.set(name, way);
    if (this.#ways.size > MOST_CLAIMS) this.#forget(this.#ways.keys().next().value as string);
  }

  #forget(name: string): void {
    const way = this.#ways.get(name);
    this.#ways.delete(name);
    for (const pod of way?.pods ?? [])
      if (this.#awaited.get(keyOfPlanned(pod)) === name) this.#awaited.delete(keyOfPlanned(pod));
  }

  #settle(name: string, isGone: boolean): number | undefined {
    const facts = { ...(this.#ways.get(name) as Way), isGone, nowMs: this.#clock.now() };
    const usableMs = facts.seenMs["Initialized"];
    const leftMs =
      usableMs === undefined ? undefined : Math.max(0, usableMs + MOST_WAIT_MS - facts.nowMs);
    if (!isWayOver(facts) && leftMs !== 0) return leftMs;
    this.#forget(name);
    this.#sink.send(claimSpans(facts));
    return undefined;
  }

  #commandOf(id: string): Command {
    const command = this.#commands.get(id) ?? {};
    this.#commands.set(id, command);
    if (this.#commands.size > MOST_COMMANDS) {
      const oldest = this.#commands.keys().next().value as string;
      this.#commands.delete(oldest);
      for (const [name, by] of this.#endedBy) if (by === oldest) this.#endedBy.delete(name);
    }
    return command;
  }

  #noteCommand(name: string, claim: NodeClaim | undefined): void {
    const replaces = claim === undefined ? undefined : replacementCommandId(claim);
    if (claim !== undefined && replaces !== undefined && this.#commands.has(replaces)) {
      const command = this.#commandOf(replaces);
      command.replacements = this.#with(command.replacements ?? [], claim);
    }
    const record = claim === undefined ? undefined : recordOf(claim);
    const id = record?.id ?? this.#endedBy.get(name);
    if (id === undefined) return;
    const command = this.#commandOf(id);
    if (record !== undefined) {
      command.record ??= record;
      this.#endedBy.set(name, id);
    }
    if (claim !== undefined) command.ended = this.#with(command.ended ?? [], claim);
    if (record === undefined) {
      this.#endedBy.delete(name);
      const isGone = claim === undefined || isDeleting(claim);
      command.ended = (command.ended ?? []).map((one) => {
        if (one.claim.metadata.name !== name) return one;
        if (!isGone) return { ...one, isSpared: true as const };
        return { ...one, seenMs: { ...one.seenMs, gone: this.#clock.now() } };
      });
    }
    const { ended = [], replacements = [], begun } = command;
    if (command.record === undefined) return;
    const facts: CommandWay = {
      record: command.record,
      ...(begun === undefined ? {} : { begun }),
      ended,
      replacements,
      nowMs: this.#clock.now(),
    };
    if (!isCommandOver(facts)) return;
    this.#commands.delete(id);
    this.#sink.send(commandSpans(facts));
  }

  /** The list with this claim's entry replaced by its current state. */
  #with<T extends Pick<Way, "claim" | "seenMs">>(
    claims: readonly T[],
    claim: NodeClaim,
  ): readonly T[] {
    const known = claims.find((one) => one.claim.metadata.name === claim.metadata.name);
    const seenMs = this.#seen(known ?? { seenMs: {} }, claim);
    const now = { ...known, claim, seenMs } as T;
    return known === undefined
      ? [...claims, now]
      : claims.map((one) => (one === known ? now : one));
  }

  /** Adds the current time for each new condition of the claim. */
  #seen({ seenMs }: { readonly seenMs: Way["seenMs"] }, claim: NodeClaim): Way["seenMs"] {
    const nowMs = this.#clock.now();
    const next: Record<string, number> = { ...seenMs };
    for (const { type, status } of claim.status?.conditions ?? [])
      if (status === "True") next[type] ??= nowMs;
    if (isDeleting(claim)) next["deleting"] ??= nowMs;
    return next;
  }
}

/** Whether the claim is still starting. One that was complete when this process started gets no spans. */
function isOnItsWay(claim: NodeClaim): boolean {
  return !isDeleting(claim) && !isTrue(claim, "Initialized") && !isTrue(claim, "Ready");
}

function isDeleting({ metadata }: NodeClaim): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function planned({ metadata }: Pod): PlannedPod {
  const { namespace = "", name, uid = "", creationTimestamp } = metadata;
  return { namespace, name, uid, createdAt: creationTimestamp };
}

function keyOfPlanned({ namespace, name }: PlannedPod): string {
  return `${namespace}/${name}`;
}
