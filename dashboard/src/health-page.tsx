/** Whether what the page shows can be trusted. */
import { plain } from "./format.ts";
import { Loading } from "./pieces.tsx";
import { about, connection, nowMs, problem, silentS, views } from "./store.ts";
import { VitalsOfController } from "./vitals-of-controller.tsx";

export function HealthPage() {
  const { head } = views.health.value;
  if (head === undefined) return <Loading what="the console's own state" />;
  const facts: readonly (readonly [string, string])[] = [
    ["Connection", connection.value],
    ["Cluster's clock", new Date(nowMs.value).toISOString().replace(/\.\d+Z$/, "Z")],
    ["Last message", `${silentS.value} s ago`],
    ["Views took", `${head.readingMs} ms`],
    ["Pages that look", String(head.viewers)],
    ["Events held", String(head.events)],
    ["May act", about.value?.mode === "sandbox" ? "yes: this is a sandbox" : "no: read-only"],
  ];
  return (
    <div class="page">
      <h2>The controller</h2>
      <VitalsOfController />
      <h2>This console</h2>
      {problem.value !== undefined && <p class="state error">✕ {plain(problem.value)}</p>}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h2>What could not be seen, and what was assumed</h2>
      {head.notes.length === 0 ? (
        <p>Everything could be seen.</p>
      ) : (
        <ul class="sentences">
          {head.notes.map((note) => (
            <li key={note}>{plain(note)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
