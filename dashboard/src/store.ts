/** The data of the page: the views from the server, the cluster's clock, and the state of the connection. */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { place } from "./place.ts";
import { type KeptMoment, momentAt, type Shown, withMoment } from "./recording.ts";
import type {
  CostRow,
  CostsHead,
  DecisionRow,
  DecisionsHead,
  HealthHead,
  MapHead,
  MapRow,
  MoneyHead,
  MoneyRow,
  NextRow,
  PoolRow,
  PricePoint,
  SandboxAct,
  ViewPatch,
  VitalPoint,
  WaitingHead,
  WaitingRow,
} from "./wire.ts";

function shown<Head, Row>() {
  return signal<Shown<Head, Row>>({ head: undefined, rows: new Map() });
}

/** The views as the stream sent them last. */
const live = {
  map: shown<MapHead, MapRow>(),
  money: shown<MoneyHead, MoneyRow>(),
  costs: shown<CostsHead, CostRow>(),
  history: shown<object, PricePoint>(),
  decisions: shown<DecisionsHead, DecisionRow>(),
  next: shown<{ commands: number }, NextRow>(),
  waiting: shown<WaitingHead, WaitingRow>(),
  pools: shown<object, PoolRow>(),
  health: shown<HealthHead, never>(),
  vitals: shown<{ readonly isKnown: boolean }, VitalPoint>(),
};

type ViewName = keyof typeof live;

/** What the page has recorded since it was opened. */
export const moments = signal<readonly KeptMoment[]>([]);
/** The recorded time that the page shows, by the cluster's clock. Undefined: it shows the present. */
export const shownAtMs = signal<number | undefined>(undefined);

export function goBackTo(atMs: number | undefined): void {
  shownAtMs.value = atMs;
}

const past = computed(() =>
  shownAtMs.value === undefined ? undefined : momentAt(moments.value, shownAtMs.value),
);

function until<Head, Row>(
  source: ReadonlySignal<Shown<Head, Row>>,
  atMsOf: (row: Row) => number,
): ReadonlySignal<Shown<Head, Row>> {
  return computed(() => {
    const untilMs = shownAtMs.value;
    const { head, rows } = source.value;
    if (untilMs === undefined) return source.value;
    return { head, rows: new Map([...rows].filter(([, row]) => atMsOf(row) <= untilMs)) };
  });
}

/** The views that pages show: the present ones, or those of the recorded moment if it has them. */
export const views = {
  ...live,
  map: computed(() => past.value?.map ?? live.map.value),
  money: computed(() => past.value?.money ?? live.money.value),
  history: until(live.history, ({ atMs }) => atMs),
  vitals: until(live.vitals, ({ atMs }) => atMs),
  decisions: until(live.decisions, ({ at }) => Date.parse(at)),
};

export interface About {
  readonly name: string;
  readonly mode: "sandbox" | "cluster";
  readonly acts: readonly SandboxAct[];
}

export const about = signal<About | undefined>(undefined);
/** The state of the connection. `shut`: the server does not accept the page's token or cookie. */
export const connection = signal<"opening" | "live" | "lost" | "shut">("opening");
type Wants = "address" | "token";
/** What the page asks the user for before it shows the cluster. */
export const wants = signal<Wants>("address");
/** Why the server's last update failed, so that the page shows older data. */
export const problem = signal<string | undefined>(undefined);
/** The cluster's time in the last message, and the browser's time when it arrived. */
const clock = signal({ clusterMs: 0, hereMs: 0 });
/** The browser's time, updated every second. */
const tick = signal(Date.now());
export const secondMs: ReadonlySignal<number> = tick;
setInterval(() => {
  tick.value = Date.now();
}, 1_000);

/**
 * The cluster's time in the last message, or the recorded time that is shown. It does not advance between
 * messages, because simulated time has its own speed.
 */
export const nowMs = computed(() => shownAtMs.value ?? clock.value.clusterMs);
/** Seconds since the last message, by the browser's clock. */
export const silentS = computed(() =>
  clock.value.hereMs === 0 ? 0 : Math.max(0, Math.round((tick.value - clock.value.hereMs) / 1_000)),
);

/**
 * The views that each page needs in addition to `map` and `money`, which the strip at the top and the recording
 * need.
 */
const VIEWS_OF: Readonly<Record<string, readonly ViewName[]>> = {
  map: ["decisions"],
  money: ["history", "costs"],
  decisions: ["decisions", "next"],
  waiting: ["waiting"],
  pools: ["pools"],
  health: ["health", "vitals"],
};

let stream: EventSource | undefined;
let looksAt = "";

/** Opens a stream of the views that the page needs, and closes the stream before it. */
export function look(): void {
  const wanted = [...new Set(["map", "money", ...(VIEWS_OF[place.value.view] ?? [])])].join();
  if (wanted === looksAt && stream !== undefined) return;
  looksAt = wanted;
  stream?.close();
  const opened = new EventSource(`/api/stream?views=${wanted}`);
  stream = opened;
  opened.onopen = () => {
    connection.value = "live";
  };
  opened.onerror = () => {
    connection.value = "lost";
    // A refusal closes the stream for good. `start` then finds out the reason.
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => void start(), 2_000);
  };
  for (const name of Object.keys(live) as ViewName[])
    opened.addEventListener(name, (event) => take(name, JSON.parse(event.data) as ViewPatch));
  opened.addEventListener("clock", (event) => {
    const { nowMs: clusterMs } = JSON.parse(event.data) as { nowMs: number };
    batch(() => {
      clock.value = { clusterMs, hereMs: Date.now() };
      problem.value = undefined;
    });
  });
  opened.addEventListener("problem", (event) => {
    problem.value = (JSON.parse(event.data) as { says: string }).says;
  });
}

function take(name: ViewName, patch: ViewPatch): void {
  const view = live[name] as { value: Shown<unknown, unknown> };
  const rows = new Map(patch.whole === true ? [] : view.value.rows);
  for (const [key, row] of Object.entries(patch.set)) rows.set(key, row);
  for (const key of patch.del) rows.delete(key);
  batch(() => {
    view.value = { head: patch.head === undefined ? view.value.head : patch.head, rows };
    if (name === "map" || name === "money") remember();
  });
}

/** Records a moment. Its time is right, because the server sends its time before the views of that time. */
function remember(): void {
  const atMs = clock.value.clusterMs;
  if (atMs === 0 || live.map.value.head === undefined) return;
  const moment = { atMs, map: live.map.value, money: live.money.value };
  moments.value = withMoment(moments.value, moment);
}

/** Exchanges the token in the URL for a cookie, reads what the console can do, and opens the stream. */
export async function start(): Promise<void> {
  const token = /^#([0-9a-f]{32})$/.exec(location.hash)?.[1];
  if (token !== undefined) {
    history.replaceState(null, "", "#map");
    await post("/api/login", { token });
  }
  const answer = await fetch("/api/about").catch(() => undefined);
  if (answer?.status === 401) {
    const door = await fetch("/api/door").catch(() => undefined);
    if (door?.ok === true) wants.value = ((await door.json()) as { wants: Wants }).wants;
    connection.value = "shut";
    return;
  }
  if (answer?.ok !== true) {
    connection.value = "lost";
    setTimeout(() => void start(), 2_000);
    return;
  }
  about.value = (await answer.json()) as About;
  stream?.close();
  stream = undefined;
  look();
}

/**
 * Exchanges a token of the cluster for a session. Resolves with the reason if it is refused; undefined if the
 * page opens.
 */
export async function enter(token: string): Promise<string | undefined> {
  const answer = await post("/api/login", { token }).catch(() => undefined);
  if (answer === undefined) return "The console does not answer.";
  if (!answer.ok) return answer.text();
  connection.value = "opening";
  await start();
  return undefined;
}

/** Does an action. Resolves with a sentence: what was done, or why not. */
export async function act(values: Readonly<Record<string, string>>): Promise<string> {
  const answer = await post("/api/act", values);
  const said = (await answer.json()) as { says?: string; problem?: string };
  return said.says ?? said.problem ?? "";
}

function post(path: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}
