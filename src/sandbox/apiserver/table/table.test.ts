import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../apis/meta.ts";
import { createRegistry } from "../registry/create-registry.ts";
import { humanDuration } from "./age.ts";
import { customCells, printerColumns } from "./custom-cells.ts";
import { jsonPath } from "./json-path.ts";

const NOW_MS = Date.parse("2024-01-01T01:00:00Z");
const CREATED = "2024-01-01T00:55:00Z";
const registry = createRegistry({ kubernetesVersion: "1.34" });

/** The cells of an object's row, by column name. */
function row(group: string, plural: string, fields: object): Record<string, unknown> {
  const definition = registry.find(group, "v1", plural)!;
  const metadata = { name: "x", creationTimestamp: CREATED };
  const cells = definition.tableCells({ metadata, ...fields } as KubeObject, NOW_MS);
  expect(cells).toHaveLength(definition.columns.length);
  return Object.fromEntries(definition.columns.map(({ name }, index) => [name, cells[index]]));
}

describe("table rows of built-in kinds", () => {
  it("have as many cells as columns for every kind, even for an empty object", () => {
    for (const definition of registry.list()) {
      const cells = definition.tableCells({ metadata: { name: "x" } }, NOW_MS);
      expect([definition.kind, cells.length]).toEqual([definition.kind, definition.columns.length]);
    }
  });

  const spec = { containers: [{ name: "a" }, { name: "b" }], nodeName: "n1" };
  const running = { name: "a", ready: true, restartCount: 0, state: { running: {} } };
  it.each<[string, object, string, string]>([
    ["Pending", { spec, status: { phase: "Pending" } }, "Pending", "0/2"],
    [
      "Running",
      { spec, status: { phase: "Running", containerStatuses: [running, running] } },
      "Running",
      "2/2",
    ],
    [
      "a crash loop",
      {
        spec,
        status: {
          phase: "Running",
          containerStatuses: [
            running,
            { name: "b", restartCount: 3, state: { waiting: { reason: "CrashLoopBackOff" } } },
          ],
        },
      },
      "CrashLoopBackOff",
      "1/2",
    ],
    [
      "Completed",
      {
        spec,
        status: {
          phase: "Succeeded",
          containerStatuses: [
            { name: "a", state: { terminated: { exitCode: 0, reason: "Completed" } } },
          ],
        },
      },
      "Completed",
      "0/2",
    ],
    [
      "a failed init container",
      {
        spec: { ...spec, initContainers: [{ name: "i" }] },
        status: {
          phase: "Pending",
          initContainerStatuses: [{ name: "i", state: { terminated: { exitCode: 2 } } }],
        },
      },
      "Init:ExitCode:2",
      "0/2",
    ],
    [
      "an init container at work",
      {
        spec: { ...spec, initContainers: [{ name: "i" }] },
        status: {
          phase: "Pending",
          initContainerStatuses: [{ name: "i", state: { running: {} } }],
        },
      },
      "Init:0/1",
      "0/2",
    ],
    ["an evicted pod", { spec, status: { phase: "Failed", reason: "Evicted" } }, "Evicted", "0/2"],
    [
      "a gated pod",
      {
        spec,
        status: {
          phase: "Pending",
          conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }],
        },
      },
      "SchedulingGated",
      "0/2",
    ],
  ])("show %s of a pod", (_what, fields, status, ready) => {
    expect(row("", "pods", fields)).toMatchObject({
      Status: status,
      Ready: ready,
      Age: "5m",
      Node: "n1",
    });
  });

  it("show a pod that is being deleted as Terminating", () => {
    const metadata = { name: "x", creationTimestamp: CREATED, deletionTimestamp: CREATED };
    expect(row("", "pods", { metadata, spec, status: { phase: "Running" } })["Status"]).toBe(
      "Terminating",
    );
  });

  it("show a cordoned node, its roles and versions", () => {
    const metadata = {
      name: "n",
      creationTimestamp: CREATED,
      labels: { "node-role.kubernetes.io/control-plane": "" },
    };
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      nodeInfo: { kubeletVersion: "v1.34.0" },
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
    };
    expect(row("", "nodes", { metadata, spec: { unschedulable: true }, status })).toMatchObject({
      Status: "Ready,SchedulingDisabled",
      Roles: "control-plane",
      Version: "v1.34.0",
      "Internal-IP": "10.0.0.1",
      "External-IP": "<none>",
    });
  });

  it("show workloads, PodDisruptionBudgets and events", () => {
    expect(
      row("apps", "deployments", { spec: { replicas: 3 }, status: { readyReplicas: 1 } })["Ready"],
    ).toBe("1/3");
    expect(
      row("policy", "poddisruptionbudgets", { spec: { maxUnavailable: "10%" } }),
    ).toMatchObject({
      "Min Available": "N/A",
      "Max Unavailable": "10%",
      "Allowed Disruptions": 0,
    });
    const involvedObject = { kind: "Pod", name: "p" };
    const event = {
      involvedObject,
      type: "Normal",
      reason: "Nominated",
      message: "m\n",
      lastTimestamp: CREATED,
    };
    expect(row("", "events", event)).toMatchObject({
      "Last Seen": "5m",
      Object: "pod/p",
      Message: "m",
    });
  });
});

describe("printer columns of custom kinds", () => {
  const object = {
    metadata: { name: "x", creationTimestamp: CREATED, labels: { "a.b/c": "label" } },
    spec: { list: [{ n: 1 }, { n: 2 }], count: 0, on: false },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  };
  it.each([
    [".metadata.labels.a\\.b/c", ["label"]],
    [".metadata.labels['a.b/c']", ["label"]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type == 'Gone')].status", []],
    [".spec.list[*].n", [1, 2]],
    [".spec.list[-1].n", [2]],
    ["{.spec.count}", [0]],
    [".spec.[", []],
  ])("find %s", (path, found) => {
    expect(jsonPath(path)(object)).toEqual(found);
  });

  it("show values by type, nothing for missing values, and Age without any columns", () => {
    const columns = [
      { name: "N", type: "integer", jsonPath: ".spec.count" },
      { name: "On", type: "boolean", jsonPath: ".spec.on" },
      { name: "Born", type: "date", jsonPath: ".metadata.creationTimestamp" },
      { name: "None", type: "string", jsonPath: ".spec.none" },
    ];
    expect(customCells(columns)(object, NOW_MS)).toEqual(["x", 0, false, "5m", null]);
    expect(customCells(printerColumns(undefined))(object, NOW_MS)).toEqual(["x", "5m"]);
  });
});

describe("ages in tables", () => {
  const minute = 60_000;
  const hour = 60 * minute;
  const day = 24 * hour;
  it.each([
    [-5_000, "<invalid>"],
    [-500, "0s"],
    [0, "0s"],
    [119_000, "119s"],
    [125_000, "2m5s"],
    [2 * minute, "2m"],
    [10 * minute, "10m"],
    [179 * minute, "179m"],
    [3 * hour + minute, "3h1m"],
    [8 * hour, "8h"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [2 * day + hour, "2d1h"],
    [9 * day, "9d"],
    [729 * day, "729d"],
    [735 * day, "2y5d"],
    [3_000 * day, "8y"],
  ])("show %d ms as %s", (spanMs, text) => {
    expect(humanDuration(spanMs)).toBe(text);
  });
});
