/** The form of the page What if: removed nodes and zones, an edited NodePool, prices, replicas, consolidation. */
import { useEffect, useId, useState } from "preact/hooks";
import { counted, plain } from "./format.ts";
import { useListed } from "./listed-nodes.tsx";
import { inOrder } from "./node-list.ts";
import { place } from "./place.ts";
import { views } from "./store.ts";
import {
  askWhatIf,
  editable,
  editedPool,
  problemsOf,
  readEditable,
  suppose,
  supposed,
  supposeNothing,
} from "./supposition.ts";

export function WhatIfForm() {
  const { head, rows } = views.map.value;
  const { nodes, zones, prices, scales, consolidate } = supposed.value;
  const known = editable.value;
  useEffect(() => {
    void readEditable();
  }, []);
  const zoneNames = [...new Set([...rows.values()].flatMap((row) => row.zone ?? []))].sort();
  // The rows of a map of groups are not nodes. So the choice has the nodes that match the filter,
  // as the server lists them.
  const { filter } = place.value;
  const isGrouped = head?.groupedBy !== undefined;
  const listed = useListed(isGrouped ? new URLSearchParams({ filter }).toString() : undefined);
  const nodeRows = isGrouped ? new Map(Object.entries(listed?.rows ?? {})) : rows;
  const nodeNames = inOrder(nodeRows, "")
    .filter(([, { state }]) => state !== "unmanaged")
    .map(([name]) => name);
  return (
    <form
      class="suppose"
      onSubmit={(event) => {
        event.preventDefault();
        void askWhatIf();
      }}
    >
      <Picked
        label="Node"
        verb={isGrouped ? "goes (the first ones that the filter names)" : "goes"}
        names={nodeNames}
        chosen={nodes}
        onChange={(chosen) => suppose({ nodes: chosen })}
      />
      <Picked
        label="Zone"
        verb="is drained"
        names={zoneNames}
        chosen={zones}
        onChange={(chosen) => suppose({ zones: chosen })}
      />
      <Scale scales={scales} workloads={known?.workloads ?? []} />
      <Price prices={prices} types={known?.types ?? []} />
      <PoolEditor />
      <div class="tools">
        <label>
          <input
            type="checkbox"
            checked={consolidate}
            onChange={({ currentTarget: { checked } }) => suppose({ consolidate: checked })}
          />{" "}
          Consolidate to the end
        </label>
        <button type="submit" class="main">
          Simulate
        </button>
        <button type="button" onClick={supposeNothing}>
          Clear
        </button>
      </div>
    </form>
  );
}

/** The chosen texts, each with a button that removes it. */
function Chosen({
  label,
  texts,
  onRemove,
}: {
  label: string;
  texts: readonly string[];
  onRemove: (text: string) => void;
}) {
  if (texts.length === 0) return null;
  return (
    <ul class="chosen" aria-label={label}>
      {texts.map((text) => (
        <li key={text}>
          {plain(text)}{" "}
          <button type="button" aria-label={`Remove ${text}`} onClick={() => onRemove(text)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

interface PickedOf {
  readonly label: string;
  readonly verb: string;
  readonly names: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function Picked({ label, verb, names, chosen, onChange }: PickedOf) {
  const [name, setName] = useState("");
  const left = names.filter((one) => !chosen.includes(one));
  const add = () => {
    if (!left.includes(name)) return;
    onChange([...chosen, name]);
    setName("");
  };
  return (
    <fieldset>
      <legend>
        {label} {verb}
      </legend>
      <div class="tools">
        <select
          aria-label={label}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        >
          <option value="">choose…</option>
          {left.map((one) => (
            <option key={one} value={one}>
              {plain(one)}
            </option>
          ))}
        </select>
        <button
          type="button"
          aria-label={`Add ${label.toLowerCase()}`}
          disabled={name === ""}
          onClick={add}
        >
          Add
        </button>
      </div>
      <Chosen
        label={`${label}s that go`}
        texts={chosen}
        onRemove={(one) => onChange(chosen.filter((other) => other !== one))}
      />
    </fieldset>
  );
}

function Scale({
  scales,
  workloads,
}: {
  scales: readonly string[];
  workloads: readonly { readonly workload: string; readonly replicas: number }[];
}) {
  const [workload, setWorkload] = useState("");
  const [replicas, setReplicas] = useState("");
  const now = workloads.find((one) => one.workload === workload);
  const isReady = now !== undefined && /^\d{1,7}$/.test(replicas);
  const add = () => {
    const others = scales.filter((one) => !one.startsWith(`${workload}=`));
    suppose({ scales: [...others, `${workload}=${replicas}`] });
    setWorkload("");
    setReplicas("");
  };
  return (
    <fieldset>
      <legend>Deployment has other replicas</legend>
      <div class="tools">
        <select
          aria-label="Deployment"
          value={workload}
          onChange={({ currentTarget: { value } }) => {
            setWorkload(value);
            const own = workloads.find((one) => one.workload === value);
            setReplicas(own === undefined ? "" : String(own.replicas));
          }}
        >
          <option value="">choose…</option>
          {workloads.map((one) => (
            <option key={one.workload} value={one.workload}>
              {plain(one.workload)} ({one.replicas})
            </option>
          ))}
        </select>
        <input
          aria-label="Replicas"
          type="number"
          min={0}
          max={1_000_000}
          placeholder="replicas"
          value={replicas}
          onInput={({ currentTarget: { value } }) => setReplicas(value)}
        />
        <button type="button" aria-label="Add replicas" disabled={!isReady} onClick={add}>
          Add
        </button>
      </div>
      <Chosen
        label="Deployments with other replicas"
        texts={scales}
        onRemove={(one) => suppose({ scales: scales.filter((other) => other !== one) })}
      />
    </fieldset>
  );
}

function Price({ prices, types }: { prices: readonly string[]; types: readonly string[] }) {
  const [type, setType] = useState("");
  const [capacity, setCapacity] = useState("on-demand");
  const [usd, setUsd] = useState("");
  const list = useId();
  const isOffered = types.includes(type);
  const isReady = isOffered && /^\d+(\.\d+)?$/.test(usd);
  const add = () => {
    const what = capacity === "on-demand" ? type : `${type}:${capacity}`;
    suppose({ prices: [...prices.filter((one) => !one.startsWith(`${what}=`)), `${what}=${usd}`] });
    setType("");
    setUsd("");
  };
  return (
    <fieldset>
      <legend>Type has another price</legend>
      <div class="tools">
        <input
          aria-label="Instance type"
          list={list}
          placeholder="type, as m5.large"
          value={type}
          aria-invalid={type !== "" && !isOffered}
          onInput={({ currentTarget: { value } }) => setType(value.trim())}
        />
        <datalist id={list}>
          {matching(types, type).map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <select
          aria-label="Capacity type"
          value={capacity}
          onChange={({ currentTarget: { value } }) => setCapacity(value)}
        >
          <option>on-demand</option>
          <option>spot</option>
          <option>reserved</option>
        </select>
        <input
          aria-label="Dollars an hour"
          inputMode="decimal"
          placeholder="$ an hour"
          value={usd}
          onInput={({ currentTarget: { value } }) => setUsd(value.trim())}
        />
        <button type="button" aria-label="Add price" disabled={!isReady} onClick={add}>
          Add
        </button>
      </div>
      {type !== "" && !isOffered && matching(types, type).length === 0 && (
        <p class="state error">✕ No NodePool offers {plain(type)}: choose a type of the list.</p>
      )}
      <Chosen
        label="Types with another price"
        texts={prices}
        onRemove={(one) => suppose({ prices: prices.filter((other) => other !== one) })}
      />
    </fieldset>
  );
}

/** Maximum number of instance types in the choice, because a longer list is hard to read. */
const MOST_TYPES = 50;

function matching(types: readonly string[], text: string): readonly string[] {
  return types.filter((one) => one.startsWith(text)).slice(0, MOST_TYPES);
}

/** Milliseconds after the last key until the text of the NodePool is checked. */
const TYPING_MS = 400;

function PoolEditor() {
  const { pools: text } = supposed.value;
  const name = editedPool.value;
  const [problems, setProblems] = useState<readonly string[]>([]);
  const told = useId();
  const pools = editable.value?.pools ?? [];
  const stored = pools.find((pool) => pool.name === name)?.yaml ?? "";
  useEffect(() => {
    setProblems([]);
    if (name === "" || text === stored) return undefined;
    let isOver = false;
    const timer = setTimeout(() => {
      void problemsOf(text).then((found) => {
        if (!isOver) setProblems(found);
      });
    }, TYPING_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text, name, stored]);
  const choose = (chosen: string) => {
    editedPool.value = chosen;
    suppose({ pools: pools.find((pool) => pool.name === chosen)?.yaml ?? "" });
  };
  const changed = changedLines(stored, text);
  return (
    <fieldset class="wide">
      <legend>NodePool is edited</legend>
      <div class="tools">
        <select
          aria-label="NodePool"
          value={name}
          onChange={({ currentTarget: { value } }) => choose(value)}
        >
          <option value="">choose…</option>
          {pools.map((pool) => (
            <option key={pool.name} value={pool.name}>
              {plain(pool.name)}
            </option>
          ))}
        </select>
        {name !== "" && (
          <>
            <button type="button" disabled={text === stored} onClick={() => choose(name)}>
              Reset
            </button>
            <span class="muted">
              {changed === 0 ? "as it is in the cluster" : `${counted(changed, "line")} changed`}
            </span>
          </>
        )}
      </div>
      {name !== "" && (
        <textarea
          class="editor"
          aria-label="NodePool as YAML"
          aria-describedby={told}
          aria-invalid={problems.length > 0}
          spellcheck={false}
          rows={Math.min(24, Math.max(8, text.split("\n").length))}
          value={text}
          onInput={({ currentTarget: { value } }) => suppose({ pools: value })}
        />
      )}
      <div id={told} role="status">
        {problems.length > 0 && (
          <ul class="problems">
            {problems.map((problem) => (
              <li key={problem} class="state error">
                ✕ {plain(problem)}
              </li>
            ))}
          </ul>
        )}
      </div>
    </fieldset>
  );
}

/**
 * Number of lines that differ between two texts: those that only one text has, counted in the text that has
 * more of them.
 */
function changedLines(before: string, after: string): number {
  const [was, is] = [before.split("\n"), after.split("\n")];
  const count = (lines: readonly string[], others: readonly string[]) => {
    const left = new Map<string, number>();
    for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
    return lines.filter((line) => {
      const there = left.get(line) ?? 0;
      left.set(line, there - 1);
      return there <= 0;
    }).length;
  };
  return Math.max(count(was, is), count(is, was));
}
