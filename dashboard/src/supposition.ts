/** The input of the page What if, and the console's answer. Both are kept while other pages are open. */
import { batch, signal } from "@preact/signals";
import type { Unplaced } from "./unplaced.ts";
import type { Editable, MapRow, SimulationProgress, Supposition } from "./wire.ts";

/** A supposition in which every field is set. */
export type Supposed = Required<Supposition>;

const NOTHING: Supposed = {
  nodes: [],
  zones: [],
  prices: [],
  scales: [],
  pools: "",
  consolidate: false,
};

export const supposed = signal<Supposed>(NOTHING);
/** The name of the NodePool in the editor; "": none. */
export const editedPool = signal("");
export const editable = signal<Editable | undefined>(undefined);

export interface Totals {
  readonly nodes: number;
  readonly pods: number;
  readonly pendingPods: number;
  readonly priceMicroUsdPerHour: number;
}

export interface Step {
  readonly at: string;
  readonly kind: "removal" | "provisioning" | "command";
  readonly says: string;
  readonly removed: readonly string[];
  readonly launched: readonly { readonly node: string }[];
  readonly moves: readonly {
    readonly pod: string;
    readonly from?: string;
    readonly to?: string;
  }[];
  readonly priceMicroUsdPerHour: number;
}

/** A CapacityBuffer: how many pods it asks room for, and how many of them have room on a node. */
export interface BufferRoom {
  readonly buffer: string;
  readonly pods: number;
  readonly placed: number;
}

/** The part of the answer that the page shows. All fields: docs/reference/simulate.md. */
export interface Simulated {
  readonly says: string;
  readonly from: string;
  readonly to: string;
  readonly before: Totals;
  readonly after: Totals;
  readonly steps: readonly Step[];
  readonly podsMoved: number;
  readonly savesMicroUsdPerHour: number;
  readonly unplaced: readonly Unplaced[];
  readonly headroom?: readonly BufferRoom[];
  readonly headroomBefore?: readonly BufferRoom[];
  readonly against: readonly { readonly node: string; readonly says: string }[];
  readonly ended?: string;
  readonly next: readonly { readonly says: string }[];
  readonly notes: readonly string[];
  readonly commandLine: string;
  readonly nodesBefore: Readonly<Record<string, MapRow>>;
  readonly nodesAfter: {
    readonly set: Readonly<Record<string, MapRow>>;
    readonly del: readonly string[];
  };
}

interface Problem {
  readonly problem: string;
}

export type Answered = Simulated | Problem;

export const answered = signal<Answered | undefined>(undefined);

/** The question that is being answered. */
interface Asking {
  /** When it was asked, by the browser's clock. */
  readonly atMs: number;
  /** How far the simulation has come. Absent: no round of the disruption loop is complete. */
  readonly progress?: SimulationProgress;
}

export const asking = signal<Asking | undefined>(undefined);
let cancel = new AbortController();

export function suppose(change: Partial<Supposed>): void {
  supposed.value = { ...supposed.value, ...change };
}

export function supposeNothing(): void {
  supposed.value = NOTHING;
  editedPool.value = "";
  answered.value = undefined;
}

/** Gives up the question that is being answered. */
export function cancelWhatIf(): void {
  cancel.abort();
}

export async function askWhatIf(): Promise<void> {
  cancel.abort();
  const own = new AbortController();
  cancel = own;
  batch(() => {
    asking.value = { atMs: Date.now() };
    answered.value = undefined;
  });
  const found = await followed(supposed.value, own.signal).catch(() => NO_ANSWER);
  // A later question was asked meanwhile.
  if (cancel !== own) return;
  batch(() => {
    asking.value = undefined;
    answered.value = own.signal.aborted ? undefined : found;
  });
}

const NO_ANSWER: Problem = { problem: "the console does not answer; try again" };

/** One line of the answer: how far the simulation has come, or at last what it found. */
interface Line {
  readonly progress?: SimulationProgress;
  readonly answer?: Simulated;
  readonly problem?: string;
}

/** Asks, and shows how far the simulation has come until its answer is there. */
async function followed(body: Supposed, aborted: AbortSignal): Promise<Answered> {
  const headers = { "content-type": "application/json", accept: "application/x-ndjson" };
  const init = { method: "POST", headers, body: JSON.stringify(body), signal: aborted };
  const response = await fetch("/api/simulate", init);
  if (!response.ok || response.body === null)
    return { problem: (await response.text()) || `the console answers ${response.status}` };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return NO_ANSWER;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") continue;
      const { progress, answer, problem } = JSON.parse(line) as Line;
      if (answer !== undefined) return answer;
      if (problem !== undefined) return { problem };
      if (progress !== undefined && asking.value !== undefined)
        asking.value = { ...asking.value, progress };
    }
  }
}

/** The errors that the API server would report for the text in the editor. */
export async function problemsOf(pools: string): Promise<readonly string[]> {
  const answer = await posted<{ readonly problems: readonly string[] }>("/api/pool-problems", {
    pools,
  });
  return "problem" in answer ? [answer.problem] : answer.problems;
}

export async function readEditable(): Promise<void> {
  const answer = await fetch("/api/editable").catch(() => undefined);
  if (answer?.ok === true) editable.value = (await answer.json()) as Editable;
}

async function posted<T>(path: string, body: object): Promise<T | Problem> {
  const headers = { "content-type": "application/json" };
  try {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.headers.get("content-type")?.startsWith("application/json") === true)
      return (await answer.json()) as T;
    return { problem: (await answer.text()) || `the console answers ${answer.status}` };
  } catch {
    return NO_ANSWER;
  }
}
