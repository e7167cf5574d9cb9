/** NodePools: limits and use, budgets, what may be disrupted when, and what keeps their nodes. */
import { counted, perHour, plain } from "./format.ts";
import { Bar, Empty } from "./pieces.tsx";
import { go } from "./place.ts";
import { about, views } from "./store.ts";
import type { PoolRow } from "./wire.ts";

export function PoolsPage() {
  const rows = [...views.pools.value.rows];
  if (views.pools.value.head === undefined) return <div class="page skeleton" />;
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
          {perHour(row.priceMicroUsdPerHour)}
        </span>
      </h2>
      {row.paused !== undefined && <p class="state warn">▲ {plain(row.paused)}</p>}
      {row.limits.map(({ resource, used, limit, percent }) => (
        <p key={resource} class="limit">
          <span>{resource}</span>
          <Bar part={percent} whole={100} label={`${percent} %`} />
          <span>
            {used} of {limit} ({percent} %)
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
      {row.held.length > 0 && (
        <p>
          <b>Held: </b>
          {row.held.map(({ block, count }) => `${count} by ${block}`).join(", ")}
        </p>
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
