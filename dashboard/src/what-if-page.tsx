/** What if: nodes go, a zone is drained, the cluster is consolidated. The answer of `karpenter simulate`; nothing is done. */
import { useState } from "preact/hooks";
import { counted, perHour, plain } from "./format.ts";
import { inOrder } from "./node-list.ts";
import { Empty } from "./pieces.tsx";
import { views } from "./store.ts";

interface Totals {
  readonly nodes: number;
  readonly pods: number;
  readonly pendingPods: number;
  readonly priceMicroUsdPerHour: number;
}

/** What the page shows of the answer: docs/reference/simulate.md. */
interface Simulated {
  readonly problem?: string;
  readonly says?: string;
  readonly before?: Totals;
  readonly after?: Totals;
  readonly steps?: readonly { readonly at: string; readonly says: string }[];
  readonly unplaced?: readonly { readonly pod: string; readonly reason: string }[];
  readonly against?: readonly { readonly node: string; readonly says: string }[];
}

export function WhatIfPage() {
  const { rows } = views.map.value;
  const [node, setNode] = useState("");
  const [zone, setZone] = useState("");
  const [consolidate, setConsolidate] = useState(false);
  const [answer, setAnswer] = useState<Simulated | "asked" | undefined>();
  const zones = [...new Set([...rows.values()].flatMap((row) => row.zone ?? []))].sort();
  const nodes = inOrder(rows, "").filter(([, { state }]) => state !== "unmanaged");
  const ask = async () => {
    setAnswer("asked");
    const query = new URLSearchParams();
    if (node !== "") query.set("node", node);
    if (zone !== "") query.set("zone", zone);
    if (consolidate) query.set("consolidate", "");
    try {
      setAnswer((await (await fetch(`/api/simulate?${query}`)).json()) as Simulated);
    } catch {
      setAnswer({ problem: "the console does not answer; try again" });
    }
  };
  const flags = [
    node === "" ? "" : ` --remove-node ${node}`,
    zone === "" ? "" : ` --drain-zone ${zone}`,
    consolidate ? " --consolidate" : "",
  ].join("");
  return (
    <div class="page">
      <div class="tools">
        <Choice label="Node" value={node} names={nodes.map(([name]) => name)} onChange={setNode} />
        <Choice label="Zone" value={zone} names={zones} onChange={setZone} />
        <label>
          <input
            type="checkbox"
            checked={consolidate}
            onChange={({ currentTarget: { checked } }) => setConsolidate(checked)}
          />{" "}
          Consolidate to the end
        </label>
        <button type="button" onClick={() => void ask()}>
          Simulate
        </button>
      </div>
      <p class="muted">
        The same in a terminal: <code>karpenter simulate{plain(flags)}</code>
      </p>
      {answer === undefined && (
        <Empty
          says="Nothing is simulated yet."
          next="Choose a node that goes, a zone that is drained, or consolidation. Nothing is done to the cluster."
        />
      )}
      {answer === "asked" && <p role="status">The cluster is being simulated…</p>}
      {typeof answer === "object" && <Answer answer={answer} />}
    </div>
  );
}

function Choice({
  label,
  value,
  names,
  onChange,
}: {
  label: string;
  value: string;
  names: readonly string[];
  onChange: (value: string) => void;
}) {
  return (
    <label>
      {label}{" "}
      <select
        aria-label={label}
        value={value}
        onChange={({ currentTarget: { value: chosen } }) => onChange(chosen)}
      >
        <option value="">none</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {plain(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Answer({ answer }: { answer: Simulated }) {
  const { problem, says, before, after, steps = [], unplaced = [], against = [] } = answer;
  if (problem !== undefined || before === undefined || after === undefined)
    return <p class="state warn">▲ {plain(problem ?? "no answer")}</p>;
  const lines: readonly (readonly [string, string, string])[] = [
    ["Nodes", String(before.nodes), String(after.nodes)],
    ["Pods that run", String(before.pods), String(after.pods)],
    ["Pods without a place", String(before.pendingPods), String(after.pendingPods)],
    ["Price", perHour(before.priceMicroUsdPerHour), perHour(after.priceMicroUsdPerHour)],
  ];
  return (
    <>
      <h2>{plain(says ?? "")}</h2>
      <table>
        <caption>Before and after</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(([name, was, is]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{was}</td>
              <td>{is}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Sentences title="Steps" lines={steps.map((one) => one.says)} />
      <Sentences
        title="What would speak against it"
        lines={against.map((one) => `${one.node}: ${one.says}`)}
      />
      <Sentences
        title={`${counted(unplaced.length, "pod")} without a place`}
        lines={unplaced.slice(0, 50).map((one) => `${one.pod}: ${one.reason}`)}
      />
    </>
  );
}

function Sentences({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ol class="sentences">
        {lines.map((line, index) => (
          <li key={`${index} ${line}`}>{plain(line)}</li>
        ))}
      </ol>
    </>
  );
}
