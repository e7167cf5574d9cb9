/**
 * The drawer: the answer of `karpenter explain` for the chosen object. For a group of nodes, the list of its
 * nodes.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { plain } from "./format.ts";
import { NodesOfGroup } from "./listed-nodes.tsx";
import { Loading } from "./pieces.tsx";
import { go, place } from "./place.ts";
import { nowMs } from "./store.ts";

type Answer = Readonly<Record<string, unknown>>;

export function Drawer() {
  const { about } = place.value;
  const [answer, setAnswer] = useState<Answer | undefined>();
  const box = useRef<HTMLElement>(null);
  // The answer is requested again every ten seconds of the cluster's time.
  const moment = Math.floor(nowMs.value / 10_000);
  useEffect(() => {
    if (about === "" || about.startsWith("group/")) return undefined;
    let isOver = false;
    void ask(about).then((found) => {
      if (!isOver) setAnswer(found);
    });
    return () => {
      isOver = true;
    };
  }, [about, moment]);
  useEffect(() => {
    setAnswer(undefined);
    box.current?.focus();
  }, [about]);
  if (about === "") return null;
  const [kind = "", ...rest] = about.split("/");
  return (
    <section
      ref={box}
      class="drawer"
      tabIndex={-1}
      aria-label={kind === "group" ? `Nodes of ${rest.join("/")}` : `Why: ${about}`}
    >
      <header>
        <h2>
          {kind} {plain(rest.join("/"))}
        </h2>
        <button type="button" onClick={() => go({ about: "" })}>
          Close
        </button>
      </header>
      {kind === "group" ? (
        <NodesOfGroup group={rest.join("/")} />
      ) : answer === undefined ? (
        <Loading what={`why ${kind} ${plain(rest.join("/"))} is as it is`} />
      ) : (
        <Explained answer={answer} />
      )}
    </section>
  );
}

async function ask(about: string): Promise<Answer> {
  const [kind = "", ...rest] = about.split("/");
  const name = rest.at(-1) ?? "";
  const query = new URLSearchParams({ kind, name });
  if (rest.length > 1) query.set("namespace", rest[0] ?? "");
  try {
    return (await (await fetch(`/api/explain?${query}`)).json()) as Answer;
  } catch {
    return { problem: "the console does not answer; it is asked again" };
  }
}

function Explained({ answer }: { answer: Answer }) {
  const { says, problem, holds, origin, next, alone, removal, pods, plan, ...rest } = answer;
  return (
    <div class="explained">
      {typeof problem === "string" && <p class="state warn">▲ {plain(problem)}</p>}
      {typeof says === "string" && <p class="lead">{plain(says)}</p>}
      <Says title="Made for" value={origin} />
      <Says title="It is removed" value={removal} />
      <Says title="What keeps it" value={holds} />
      <Says title="If nothing kept it" value={alone} />
      <Says title="Next in the cluster" value={next} />
      <Names title="Pods" value={pods} />
      <details>
        <summary>All of the answer</summary>
        <pre>{plainJson({ ...rest, origin, holds, removal, alone, plan })}</pre>
      </details>
      <p class="muted">
        The same in a terminal:{" "}
        <code>karpenter explain {plain(inTerminal(place.value.about))}</code>
      </p>
    </div>
  );
}

/** What stands after `karpenter explain` for the same question: `node a`, `pod a -n shop`. */
function inTerminal(about: string): string {
  const [kind = "", ...rest] = about.split("/");
  const namespace = rest.length > 1 ? ` -n ${rest[0]}` : "";
  return `${kind} ${rest.at(-1) ?? ""}${namespace}`;
}

/** Formats the value as JSON over several lines. Control characters in its texts are replaced. */
function plainJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_, inner: unknown) => (typeof inner === "string" ? plain(inner) : inner),
    2,
  );
}

/** A heading, and below it the sentences of one or several answers. */
function Says({ title, value }: { title: string; value: unknown }) {
  const list = (Array.isArray(value) ? value : [value]) as readonly unknown[];
  const sentences = list.flatMap((one) => {
    const { says, until } = (one ?? {}) as { says?: unknown; until?: unknown };
    if (typeof says !== "string") return [];
    return [typeof until === "string" && !says.includes(until) ? `${says}, until ${until}` : says];
  });
  if (sentences.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="sentences">
        {sentences.map((text) => (
          <li key={text}>{plain(text)}</li>
        ))}
      </ul>
    </>
  );
}

function Names({ title, value }: { title: string; value: unknown }) {
  if (!Array.isArray(value) || value.length === 0) return null;
  const names = value.filter((one): one is string => typeof one === "string");
  return (
    <>
      <h3>
        {title} ({names.length})
      </h3>
      <ul class="names">
        {names.slice(0, 50).map((name) => (
          <li key={name}>
            <button type="button" class="link" onClick={() => go({ about: `pod/${name}` })}>
              {plain(name)}
            </button>
          </li>
        ))}
        {names.length > 50 && <li>and {names.length - 50} more</li>}
      </ul>
    </>
  );
}
