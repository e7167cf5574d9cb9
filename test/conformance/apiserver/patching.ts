/**
 * Edge cases of patches: each operation of a JSON patch on a missing field, and directives of strategic merge
 * patches.
 */
import { type Check, check, get, jsonPatch, mergePatch, post, strategicPatch } from "./check.ts";

const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/<<ns>>/deployments";

const MAP = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", labels: { one: "1" }, finalizers: ["x.io/a", "x.io/b", "x.io/c"] },
  data: { color: "blue" },
};

const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "a" },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: "a" } },
    template: {
      metadata: { labels: { app: "a" } },
      spec: {
        containers: [
          {
            name: "c",
            image: "i:1",
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "2" },
            ],
          },
        ],
        volumes: [{ name: "v", emptyDir: {} }],
      },
    },
  },
};

const ops = (...operations: readonly object[]) => jsonPatch(`${MAPS}/a`, operations);
const pods = (spec: object) => strategicPatch(`${DEPLOYMENTS}/a`, { spec: { template: { spec } } });

export const PATCH_CHECKS: readonly Check[] = [
  check(
    "PA-01",
    "JSON patches: test, copy and move",
    post(MAPS, MAP),
    ops({ op: "test", path: "/data/color", value: "red" }),
    ops({ op: "test", path: "/data/color", value: "blue" }),
    ops({ op: "test", path: "/data/nothing", value: null }),
    ops({ op: "test", path: "/data/nothing", value: "x" }),
    ops({ op: "test", path: "/nothing/deeper", value: null }),
    ops(
      { op: "copy", from: "/metadata/labels/one", path: "/metadata/labels/two" },
      { op: "move", from: "/metadata/labels/one", path: "/metadata/labels/x.io~1three" },
    ),
    ops({ op: "copy", from: "/data/nothing", path: "/data/copied" }),
    ops({ op: "move", from: "/data/nothing", path: "/data/moved" }),
    ops({ op: "copy", from: "/nothing/deeper", path: "/data/copied" }),
  ),
  check(
    "PA-02",
    "JSON patches: places in lists, and places that are not there",
    post(MAPS, MAP),
    ops({ op: "add", path: "/metadata/finalizers/1", value: "x.io/d" }),
    ops({ op: "add", path: "/metadata/finalizers/-", value: "x.io/e" }),
    ops({ op: "add", path: "/metadata/finalizers/9", value: "x.io/f" }),
    ops({ op: "replace", path: "/metadata/finalizers/-1", value: "x.io/g" }),
    ops({ op: "remove", path: "/metadata/finalizers/-5" }),
    ops({ op: "remove", path: "/metadata/finalizers/7" }),
    ops({ op: "remove", path: "/metadata/finalizers/-" }),
    ops({ op: "replace", path: "/data/nothing", value: "x" }),
    ops({ op: "remove", path: "/data/never" }),
    ops({ op: "add", path: "/nothing/deeper", value: "x" }),
    ops({ op: "add", path: "data", value: {} }),
    ops({ op: "add", path: "", value: {} }),
    ops({ op: "replace", path: "", value: {} }),
    ops({ op: "fly", path: "/data/color", value: "x" }),
    ops({ path: "/data/color", value: "x" }),
    jsonPatch(`${MAPS}/a`, { op: "add", path: "/data/color", value: "x" }),
  ),
  check(
    "PA-03",
    "strategic patches: directives",
    post(DEPLOYMENTS, DEPLOYMENT),
    pods({ containers: [{ name: "c", env: [{ $patch: "delete", name: "A" }] }] }),
    pods({ containers: [{ name: "c", env: [{ $patch: "replace" }, { name: "Z", value: "9" }] }] }),
    pods({
      "$setElementOrder/containers": [{ name: "d" }, { name: "c" }],
      containers: [{ name: "d", image: "j" }],
    }),
    pods({
      volumes: [{ $retainKeys: ["name", "configMap"], name: "v", configMap: { name: "m" } }],
    }),
    strategicPatch(`${DEPLOYMENTS}/a`, {
      spec: { strategy: { $patch: "replace", type: "Recreate" } },
    }),
    strategicPatch(`${DEPLOYMENTS}/a`, {
      spec: { strategy: { $retainKeys: ["type"], type: "RollingUpdate" } },
    }),
    pods({ $patch: "bogus" }),
    pods({ containers: [{ image: "nameless" }] }),
    pods({
      "$setElementOrder/containers": [{ name: "q" }],
      containers: [{ name: "d", image: "k" }],
    }),
    pods({ containers: "x" }),
    strategicPatch(`${DEPLOYMENTS}/a`, []),
    mergePatch(`${DEPLOYMENTS}/a`, []),
    get(`${DEPLOYMENTS}/a`),
  ),
  check(
    "PA-04",
    "patches that make another object of it",
    post(MAPS, MAP),
    mergePatch(`${MAPS}/a`, { kind: "Secret" }),
    mergePatch(`${MAPS}/a`, { apiVersion: "v2" }),
    mergePatch(`${MAPS}/a`, { metadata: { name: "b" } }),
    mergePatch(`${MAPS}/a`, { metadata: { namespace: "elsewhere" } }),
    mergePatch(`${MAPS}/a`, { metadata: { uid: "4c4b9a5a-0000-4000-8000-000000000000" } }),
    mergePatch(`${MAPS}/a`, { metadata: { resourceVersion: "1" } }),
    mergePatch(`${MAPS}/a`, { metadata: null }),
  ),
];
