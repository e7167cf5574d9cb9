/** NodePools: limits and use, budgets, when nodes may be disrupted, and what blocks disruption now. */
import { counted, knownSum, perHour, plain } from "./format.ts";
import { Bar, Empty, Loading } from "./pieces.tsx";
import { go } from "./place.ts";
import { about, views } from "./store.ts";
import type { PoolRow } from "./wire.ts";

export function PoolsPage() {
  const rows = [...views.pools.value.rows];
  if (views.pools.value.head === undefined)
    return (
      <Loading what="what the disruption loop would do next, which takes some seconds in a large cluster" />
    );
  if (rows.length === 0)
    return (
      <div class="page">
        <Empty
          says="There is no NodePool."
          next={
            about.value?.mode === "sandbox"
              ? "Apply the example: Act, then “Apply the example NodePool”."
              : "Karpenter launches nodes only for a NodePool: kubectl apply -f nodepool.yaml"
          }
        />
      </div>
    );
  return (
    <div class="page pools">
      {rows.map(([key, row]) => (
        <Pool key={key} row={row} />
      ))}
    </div>
  );
}

const DAY_MS = 24 * 3_600_000;

/** How many nodes may be disrupted at each time of the coming week, as bars and, for screen readers, as text. */
function Week({ row: { week, name } }: { row: PoolRow }) {
  const [first] = week[0]?.spans ?? [];
  if (first === undefined)
    return (
      <p class="muted">
        The budgets of the coming week show here as soon as a node of this pool is initialized:
        budgets count no other nodes.
      </p>
    );
  const beginMs = Date.parse(first.from);
  const share = (from: string, to: string) =>
    (100 * (Date.parse(to) - Date.parse(from))) / (7 * DAY_MS);
  const days = [0, 1, 2, 3, 4, 5, 6].map((day) => new Date(beginMs + day * DAY_MS));
  return (
    <table class="week">
      <caption>Budgets of the coming week</caption>
      <thead>
        <tr>
          <th scope="col">Reason</th>
          <th scope="col">
            <span class="days" aria-hidden="true">
              {days.map((day) => (
                <span key={day.getTime()}>
                  {day.toLocaleDateString("en-GB", { weekday: "short" })}
                  <small> {day.getDate()}</small>
                </span>
              ))}
            </span>
            <span class="unseen">Allowed at once</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {week.map(({ reason, spans }) => (
          <tr key={reason}>
            <th scope="row">{reason}</th>
            <td>
              <ol class="spans" aria-label={`${reason} in ${plain(name)}`}>
                {spans.map(({ from, to, allowed }) => (
                  <li
                    key={from}
                    class={allowed === undefined ? "broken" : allowed > 0 ? "open" : "closed"}
                    style={{ width: `${share(from, to)}%` }}
                    title={`${when(from)} to ${when(to)}: ${says(allowed)}`}
                  >
                    <span aria-hidden="true">{allowed ?? "?"}</span>
                    <span class="unseen">
                      {when(from)} to {when(to)}: {says(allowed)}
                    </span>
                  </li>
                ))}
              </ol>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function when(instant: string): string {
  return instant.replace("T", " ").replace(/:\d\dZ$/, " UTC");
}

function says(allowed: number | undefined): string {
  if (allowed === undefined) return "a budget cannot be read";
  return allowed === 0 ? "closed" : `${counted(allowed, "node")} at once`;
}

function Pool({ row }: { row: PoolRow }) {
  return (
    <article class="pool">
      <h2>
        <button type="button" class="link" onClick={() => go({ about: `nodepool/${row.name}` })}>
          {plain(row.name)}
        </button>{" "}
        {row.ready ? (
          <span class="state ok">● ready</span>
        ) : (
          <span class="state error">✕ not ready</span>
        )}
        <span class="muted">
          {" "}
          {counted(row.nodes.total, "node")}
          {row.nodes.leaving > 0 ? `, ${row.nodes.leaving} leaving` : ""} ·{" "}
          {perHour(knownSum({ ...row, unpriced: row.nodes.total }))}
        </span>
      </h2>
      {row.paused !== undefined && <p class="state warn">▲ {plain(row.paused)}</p>}
      {row.limits.map(({ resource, used, limit, percent }) => (
        <p key={resource} class="limit">
          <span>{resource}</span>
          <Bar part={percent} whole={100} label={`${percent} %`} />
          <span>
            {limit === "0"
              ? `${used}, and the limit allows none`
              : `${used} of ${limit} (${percent} %)`}
          </span>
        </p>
      ))}
      {row.limits.length === 0 && <p class="muted">No limits.</p>}
      <p>
        {row.policy.consolidationPolicy}, consolidateAfter {row.policy.consolidateAfter},
        expireAfter {row.policy.expireAfter}
      </p>
      <table>
        <caption>Disruption</caption>
        <thead>
          <tr>
            <th scope="col">Reason</th>
            <th scope="col">Allowed now</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {row.disruptions.map(({ reason, allowed, says }) => (
            <tr key={reason}>
              <th scope="row">{reason}</th>
              <td class="number">{allowed}</td>
              <td>{plain(says)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {row.drifted > 0 && (
        <p>
          <b>Drift: </b>
          {row.nodes.total - row.drifted} of {counted(row.nodes.total, "node")} are as the pool asks
          for now
        </p>
      )}
      <Week row={row} />
      {row.held.length > 0 && (
        <>
          <h3>What protects its nodes</h3>
          <ul class="sentences">
            {row.held.map(({ block, count, says }) => (
              <li key={block}>
                {counted(count, "node")}: {says}
              </li>
            ))}
          </ul>
        </>
      )}
      {row.next.map(({ says }) => (
        <p key={says}>
          <b>Next: </b>
          {plain(says)}
        </p>
      ))}
    </article>
  );
}
