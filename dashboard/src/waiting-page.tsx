/** Pods that fit nowhere, by cause, with the smallest change that would place them. */
import { Copied } from "./copy.tsx";
import { ageOf, counted, grouped, plain } from "./format.ts";
import { Empty, Loading } from "./pieces.tsx";
import { go } from "./place.ts";
import { nowMs, views } from "./store.ts";

export function WaitingPage() {
  const { head, rows } = views.waiting.value;
  if (head === undefined) return <Loading what="why pods wait, and the smallest change for each" />;
  const sorted = [...rows].sort(([a, x], [b, y]) => y.pods - x.pods || (a < b ? -1 : 1));
  if (sorted.length === 0)
    return (
      <div class="page">
        <Empty
          says="All pods have a node."
          next="Pods that wait show here, grouped by what they wait for."
        />
      </div>
    );
  return (
    <div class="page">
      {sorted.map(([key, row]) => (
        <article key={key} class="cause">
          <h2>
            <span class={row.waitingFor === "nothing" ? "state warn" : "state info"}>
              {row.waitingFor === "nothing" ? "▲" : "◐"}
            </span>{" "}
            {counted(row.pods, "pod")}
            <span class="muted"> · oldest {ageOf(row.since, nowMs.value)}</span>
          </h2>
          <p class="says">{plain(row.says)}</p>
          {row.fix !== undefined && (
            <p>
              <b>This would place the first of them:</b> {plain(row.fix)}
            </p>
          )}
          {row.fix === undefined && row.waitingFor === "nothing" && (
            <p class="muted">
              No small change that would place them was found here. Choose a pod: its page says what
              each NodePool lacks.
            </p>
          )}
          {row.patch !== undefined && <Copied label="Copy as patch" text={row.patch} />}
          {row.byHand !== undefined && (
            <p class="muted">There is no patch for it: {plain(row.byHand)}.</p>
          )}
          <ul class="names">
            {row.examples.map((name) => (
              <li key={name}>
                <button type="button" class="link" onClick={() => go({ about: `pod/${name}` })}>
                  {plain(name)}
                </button>
              </li>
            ))}
            {row.pods > row.examples.length && (
              <li>and {grouped(row.pods - row.examples.length)} more</li>
            )}
          </ul>
        </article>
      ))}
    </div>
  );
}
