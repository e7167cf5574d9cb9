/** The frame of the page: the strip with the most important numbers, the views, the drawer with reasons, the keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ActsPanel, actsAreOpen } from "./acts.tsx";
import { DecisionsPage } from "./decisions-page.tsx";
import { Drawer } from "./drawer.tsx";
import { clockTime, counted, grouped, knownSum, percent, perHour, plain } from "./format.ts";
import { HealthPage } from "./health-page.tsx";
import { MapPage } from "./map-page.tsx";
import { MoneyPage } from "./money-page.tsx";
import { go, PAGES, type Page, place } from "./place.ts";
import { PoolsPage } from "./pools-page.tsx";
import {
  about,
  connection,
  enter,
  look,
  problem,
  shownAtMs,
  silentS,
  views,
  wants,
} from "./store.ts";
import { TimeBar } from "./time-bar.tsx";
import { WaitingPage } from "./waiting-page.tsx";
import { WhatIfPage } from "./what-if-page.tsx";

const TITLES: Readonly<Record<Page, string>> = {
  map: "Map",
  money: "Money",
  decisions: "Decisions",
  waiting: "Waiting",
  pools: "Pools",
  health: "Health",
  whatif: "What if",
};

/** Pages that can show a recorded moment. */
const GOES_BACK: readonly Page[] = ["map", "money", "decisions", "health"];

const CONTENT: Readonly<Record<Page, () => preact.JSX.Element>> = {
  map: MapPage,
  money: MoneyPage,
  decisions: DecisionsPage,
  waiting: WaitingPage,
  pools: PoolsPage,
  health: HealthPage,
  whatif: WhatIfPage,
};

export function App() {
  const { view } = place.value;
  const search = useRef<HTMLInputElement>(null);
  const isKnown = about.value !== undefined;
  useEffect(() => {
    if (isKnown) look();
  }, [view, isKnown]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event, search.current);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  if (connection.value === "shut") return <Shut />;
  const Content = CONTENT[view];
  return (
    <>
      <header class="top">
        <h1>
          {plain(about.value?.name ?? "Karpenter")}
          <span class="tag">{about.value?.mode === "sandbox" ? "sandbox" : "read-only"}</span>
        </h1>
        <Strip />
        <input
          ref={search}
          type="search"
          placeholder="Filter  /"
          aria-label="Filter"
          value={place.value.filter}
          onInput={({ currentTarget: { value } }) => go({ filter: value })}
        />
        {(about.value?.acts.length ?? 0) > 0 && (
          <button
            type="button"
            aria-expanded={actsAreOpen.value}
            onClick={() => {
              actsAreOpen.value = !actsAreOpen.value;
            }}
          >
            Act
          </button>
        )}
      </header>
      <nav aria-label="Views">
        {PAGES.map((page, index) => (
          <a
            key={page}
            href={`#${page}`}
            aria-current={page === view ? "page" : undefined}
            title={`Key ${index + 1}`}
          >
            {TITLES[page]}
            {page === "waiting" && (views.map.value.head?.waiting ?? 0) > 0 && (
              <span class="badge">{grouped(views.map.value.head?.waiting ?? 0)}</span>
            )}
          </a>
        ))}
      </nav>
      {actsAreOpen.value && <ActsPanel />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <main aria-label={TITLES[view]} tabIndex={0}>
        <Content />
      </main>
      {GOES_BACK.includes(view) && <TimeBar />}
      <Drawer />
    </>
  );
}

function Strip() {
  const { head } = views.map.value;
  const isOld = connection.value === "lost" || problem.value !== undefined;
  const isPast = shownAtMs.value !== undefined;
  const quiet = silentS.value > 20 ? ` · ${silentS.value} s old` : "";
  return (
    <div class="strip">
      <span
        class={`state ${isOld ? "error" : isPast || quiet !== "" ? "warn" : "ok"}`}
        role="status"
      >
        {isPast && !isOld
          ? `▲ ${clockTime(shownAtMs.value ?? 0)}`
          : isOld
            ? `✕ ${problem.value ?? "no connection, trying again"}`
            : connection.value === "live"
              ? `${quiet === "" ? "●" : "▲"} live`
              : "◐ opening"}
        {quiet}
      </span>
      {head !== undefined && (
        <>
          <span>{counted(head.nodes, "node")}</span>
          {head.loading !== undefined ? (
            <span class="state info">◐ listing {head.loading.join(", ")} …</span>
          ) : (
            <>
              <span>{counted(head.pods, "pod")}</span>
              <span class={head.waiting > 0 ? "state warn" : ""}>
                {head.waiting > 0 ? "▲ " : ""}
                {grouped(head.waiting)} waiting
              </span>
            </>
          )}
          <span>
            {perHour(knownSum(head))}
            {head.unpriced > 0 ? ` + ${grouped(head.unpriced)} unpriced` : ""}
          </span>
          {head.loading === undefined && <span>CPU {percent(...head.cpu)} requested</span>}
          <span>{grouped(head.moving)} moving</span>
        </>
      )}
    </div>
  );
}

function Shut() {
  if (wants.value === "token") return <LogIn />;
  return (
    <main class="shut">
      <h1>Karpenter</h1>
      <p>This address lacks its token.</p>
      <p>Open the address that the program printed at its start: it ends in # and 32 characters.</p>
    </main>
  );
}

function LogIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | undefined>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem(await enter(token.trim()));
  };
  return (
    <main class="shut">
      <h1>Karpenter</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Token of the cluster{" "}
          <input
            type="password"
            autocomplete="off"
            value={token}
            onInput={({ currentTarget: { value } }) => setToken(value)}
          />
        </label>{" "}
        <button type="submit">Look</button>
      </form>
      <p role="status" class={problem === undefined ? "" : "state error"}>
        {problem === undefined ? "" : `✕ ${problem}`}
      </p>
      <p>
        Its user must be allowed to get the non-resource URL <code>/console</code>. A ServiceAccount
        gets a token by <code>kubectl create token NAME</code>.
      </p>
    </main>
  );
}

/**
 * Handles single keys, unless a field has the focus. Most are found by `event.code`, so that they work on
 * keyboards of all languages.
 */
function onKey(event: KeyboardEvent, search: HTMLInputElement | null): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement;
  if (event.code === "Escape") {
    if (target === search && place.value.filter !== "") go({ filter: "" });
    else if (place.value.about !== "") go({ about: "" });
    search?.blur();
    return;
  }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
  const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
  const page = digit === undefined ? undefined : PAGES[Number(digit) - 1];
  if (page !== undefined && !event.shiftKey) go({ view: page });
  else if (event.code === "Slash") search?.focus();
  else if (event.code === "KeyT") go({ asTable: !place.value.asTable });
  else if (event.code === "KeyF") dispatchEvent(new Event("map-fit"));
  else return;
  event.preventDefault();
}
