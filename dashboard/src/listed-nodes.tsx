/**
 * Lists of single nodes if the map has groups: the nodes of one group, and those that match the filter. The
 * server makes the lists.
 */
import { useEffect, useState } from "preact/hooks";
import { counted, plain } from "./format.ts";
import { Grid } from "./grid.tsx";
import { NODE_COLUMNS } from "./node-columns.tsx";
import { Loading, StateMark } from "./pieces.tsx";
import { go, place } from "./place.ts";
import { nowMs } from "./store.ts";
import type { ListedNodes } from "./wire.ts";

/** Milliseconds after the last key until the server is asked. */
const TYPING_MS = 250;

/**
 * The server's list for a query, requested again every ten seconds of the cluster's time. Undefined: not here
 * yet, or there is no query.
 */
export function useListed(query: string | undefined): ListedNodes | undefined {
  const [listed, setListed] = useState<{ query: string; nodes: ListedNodes } | undefined>();
  const moment = Math.floor(nowMs.value / 10_000);
  useEffect(() => {
    if (query === undefined) return undefined;
    let isOver = false;
    const ask = async () => {
      const answer = await fetch(`/api/nodes?${query}`).catch(() => undefined);
      if (answer?.ok !== true) return;
      const nodes = (await answer.json()) as ListedNodes;
      if (!isOver) setListed({ query, nodes });
    };
    const wait = setTimeout(() => void ask(), TYPING_MS);
    return () => {
      isOver = true;
      clearTimeout(wait);
    };
  }, [query, moment]);
  return listed !== undefined && listed.query === query ? listed.nodes : undefined;
}

function countText({ total, rows }: ListedNodes): string {
  const shown = Object.keys(rows).length;
  return shown < total
    ? `the first ${shown} of ${counted(total, "node")}; a filter finds the others`
    : counted(total, "node");
}

/** The nodes that match the filter, as a table above the groups. */
export function FoundNodes({ filter }: { filter: string }) {
  const listed = useListed(new URLSearchParams({ filter }).toString());
  if (listed === undefined) return <p class="muted">Looking for nodes …</p>;
  return (
    <>
      <p>Found: {countText(listed)}</p>
      {listed.total > 0 && (
        <div class="found">
          <Grid
            label="Nodes found"
            rows={Object.entries(listed.rows)}
            columns={NODE_COLUMNS}
            onOpen={(name) => go({ about: `node/${name}` })}
          />
        </div>
      )}
    </>
  );
}

/** The nodes of one group, as links to the answer of `explain` for each. */
export function NodesOfGroup({ group }: { group: string }) {
  const { filter } = place.value;
  const listed = useListed(new URLSearchParams({ group, filter }).toString());
  if (listed === undefined) return <Loading what="which nodes are in this group" />;
  return (
    <>
      <p>{countText(listed)}</p>
      <ul class="names">
        {Object.entries(listed.rows).map(([name, { state }]) => (
          <li key={name}>
            <button type="button" class="link" onClick={() => go({ about: `node/${name}` })}>
              {plain(name)}
            </button>{" "}
            {state === "running" ? "" : <StateMark state={state} />}
          </li>
        ))}
      </ul>
    </>
  );
}
