/**
 * What a server must refuse or keep when a client is malicious: keys that JavaScript inherits, bodies that are no
 * protobuf, too large objects, patches and expressions that would never end. Joined with the checks of
 * strict-rights.ts and strict-webhooks.ts.
 */
import {
  type Check,
  check,
  del,
  get,
  jsonPatch,
  post,
  postRaw,
  type Step,
  strategicPatch,
} from "./check.ts";
import { CONFIG_MAPS, configMap } from "./config-maps.ts";
import { RIGHTS_CHECKS } from "./strict-rights.ts";
import { WEBHOOK_ANSWER_CHECKS } from "./strict-webhooks.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/<<ns>>/deployments";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PROTOBUF = "application/vnd.kubernetes.protobuf";

const deployment = (name: string, container: object, metadata: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, ...metadata },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: "a" } },
    template: {
      metadata: { labels: { app: "a" } },
      spec: { containers: [{ name: "c", image: "x", ...container }] },
    },
  },
});

const JSON_TYPE = { "content-type": "application/json" };
/** A step whose body is text: an object literal cannot have such keys. */
const text = (
  method: "POST" | "PUT" | "PATCH",
  path: string,
  body: string,
  type?: string,
): Step => ({
  method,
  path,
  raw: Buffer.from(body).toString("base64"),
  headers: type === undefined ? JSON_TYPE : { "content-type": type },
});

const MAGIC = [0x6b, 0x38, 0x73, 0x00];
/** One length-delimited field of a protobuf message: bytes or a message. */
const field = (number: number, bytes: readonly number[]): readonly number[] => [
  (number << 3) | 2,
  bytes.length,
  ...bytes,
];

const chars = (value: string): readonly number[] => [...Buffer.from(value)];
/** The envelope in which Kubernetes sends every protobuf message. */
const wrapped = (apiVersion: string, kind: string, raw: readonly number[]): Uint8Array =>
  Uint8Array.from([
    ...MAGIC,
    ...field(1, [...field(1, chars(apiVersion)), ...field(2, chars(kind))]),
    ...field(2, raw),
  ]);

function definition(name: string, spec: object): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${name}s.strict.example.com` },
    spec: {
      group: "strict.example.com",
      scope: "Namespaced",
      names: {
        plural: `${name}s`,
        singular: name,
        kind: `${name[0]?.toUpperCase()}${name.slice(1)}`,
      },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
        },
      ],
    },
  };
}

const CUSTOM = "/apis/strict.example.com/v1/namespaces/<<ns>>";

const custom = (kind: string, name: string, spec: object) => ({
  apiVersion: "strict.example.com/v1",
  kind,
  metadata: { name },
  spec,
});
const OPEN = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const COSTLY_RULE = {
  rule: "TEN.all(a, TEN.all(b, TEN.all(c, TEN.all(d, self >= 0))))".replaceAll(
    "TEN",
    "[0,1,2,3,4,5,6,7,8,9]",
  ),
};
/** A rule over a list in which each item costs about 100,000 units. */
const COSTLY_ITEMS = {
  type: "array",
  maxItems: 100,
  items: { type: "integer", "x-kubernetes-validations": [COSTLY_RULE, COSTLY_RULE] },
};
/** More bytes than a ConfigMap or a Secret may hold. */
const MANY = 1_050_000;

export const STRICTNESS_CHECKS: readonly Check[] = [
  ...RIGHTS_CHECKS,
  ...WEBHOOK_ANSWER_CHECKS,
  check(
    "SJ-05",
    "keys that JavaScript inherits are keys like others",
    text(
      "POST",
      CONFIG_MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"k","annotations":{"constructor":"a","toString":"b"}},"data":{"__proto__":"a","constructor":"b","hasOwnProperty":"c","ok":"d"}}',
    ),
    get(`${CONFIG_MAPS}/k`),
    text("POST", CONFIG_MAPS, '{"metadata":{"name":"l","labels":{"__proto__":"y"}}}'),
    text(
      "POST",
      CONFIG_MAPS,
      '{"__proto__":{"metadata":{"name":"m"}},"kind":"ConfigMap","apiVersion":"v1"}',
    ),
    text(
      "POST",
      `${CONFIG_MAPS}?fieldValidation=Strict`,
      '{"metadata":{"name":"m","__proto__":{"labels":{"a":"b"}}},"constructor":{"a":1}}',
    ),
    text("PATCH", `${CONFIG_MAPS}/k`, '{"data":{"__proto__":"e"}}', "application/merge-patch+json"),
    text(
      "PATCH",
      `${CONFIG_MAPS}/k`,
      '{"data":{"__proto__":"f","toString":"g"}}',
      "application/strategic-merge-patch+json",
    ),
    text(
      "PATCH",
      `${CONFIG_MAPS}/k`,
      '[{"op":"replace","path":"/data/__proto__","value":"h"},{"op":"add","path":"/data/valueOf","value":"i"}]',
      "application/json-patch+json",
    ),
    text(
      "PATCH",
      `${CONFIG_MAPS}/k`,
      '[{"op":"add","path":"/__proto__/polluted","value":"i"}]',
      "application/json-patch+json",
    ),
    text(
      "PATCH",
      `${CONFIG_MAPS}/k`,
      '[{"op":"add","path":"/constructor/prototype/polluted","value":"i"}]',
      "application/json-patch+json",
    ),
    text(
      "PATCH",
      `${CONFIG_MAPS}/k?fieldManager=q`,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"k"},"data":{"isPrototypeOf":"j","constructor":"b"}}',
      "application/apply-patch+yaml",
    ),
    text(
      "PATCH",
      `${CONFIG_MAPS}/k`,
      '{"data":{"__proto__":null}}',
      "application/merge-patch+json",
    ),
    get(`${CONFIG_MAPS}/k`),
  ),
  check(
    "SJ-06",
    "bodies that are no protobuf, or not what they say",
    postRaw(CONFIG_MAPS, PROTOBUF, Uint8Array.from([1, 2, 3])),
    postRaw(CONFIG_MAPS, PROTOBUF, Uint8Array.from(MAGIC)),
    postRaw(CONFIG_MAPS, PROTOBUF, Uint8Array.from([...MAGIC, 255, 255, 255])),
    postRaw(CONFIG_MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [255, 255])),
    postRaw(CONFIG_MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [0x0a, 0x7f, 1])),
    postRaw(CONFIG_MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [0x0b])),
    postRaw(CONFIG_MAPS, PROTOBUF, wrapped("v1", "Nothing", [])),
    postRaw(CONFIG_MAPS, PROTOBUF, wrapped("v1", "Secret", [])),
    postRaw(CONFIG_MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [])),
    postRaw(CONFIG_MAPS, "application/json", "{"),
    postRaw(CONFIG_MAPS, "application/json", "[]"),
  ),
  check(
    "SJ-07",
    "objects that are too large",
    post(CONFIG_MAPS, configMap("big", { a: "x".repeat(MANY) })),
    post("/api/v1/namespaces/<<ns>>/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "big" },
      data: { a: "eHh4".repeat(MANY / 3) },
    }),
    post(CONFIG_MAPS, {
      ...configMap("big"),
      metadata: { name: "big", annotations: { a: "x".repeat(262_144) } },
    }),
    post(DEPLOYMENTS, deployment("big", { command: ["x".repeat(1_600_000)] })),
    post(DEPLOYMENTS, deployment("big", { command: ["x".repeat(2_200_000)] })),
    postRaw(
      DEPLOYMENTS,
      "application/json",
      JSON.stringify(deployment("big", { command: ["x".repeat(3_200_000)] })),
    ),
    post(DEPLOYMENTS, deployment("small", {})),
    jsonPatch(`${DEPLOYMENTS}/small`, [
      {
        op: "add",
        path: "/spec/template/spec/containers/0/command",
        value: ["x".repeat(1_600_000)],
      },
    ]),
    post(DEFINITIONS, definition("large", OPEN)),
    post(`${CUSTOM}/larges`, custom("Large", "big", { a: "x".repeat(1_600_000) }), { until: 500 }),
    del(`${DEFINITIONS}/larges.strict.example.com`),
  ),
  check(
    "SJ-08",
    "patches with too many operations or too much to copy",
    post(CONFIG_MAPS, configMap("p", { a: "x" })),
    jsonPatch(
      `${CONFIG_MAPS}/p`,
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/a", value: "x" })),
    ),
    jsonPatch(
      `${CONFIG_MAPS}/p`,
      Array.from({ length: 10_000 }, () => ({ op: "test", path: "/data/a", value: "x" })),
    ),
    jsonPatch(`${CONFIG_MAPS}/p`, [
      { op: "add", path: "/data", value: { a: "x" } },
      ...Array.from({ length: 26 }, (_, at) => ({
        op: "copy",
        from: "/data",
        path: `/data/k${at}`,
      })),
    ]),
    jsonPatch(`${CONFIG_MAPS}/p`, [
      { op: "add", path: "/data/b", value: "x".repeat(700_000) },
      ...Array.from({ length: 4 }, () => ({ op: "copy", from: "/data/b", path: "/data/c" })),
      { op: "remove", path: "/data/b" },
      { op: "remove", path: "/data/c" },
    ]),
    jsonPatch(`${CONFIG_MAPS}/p`, [
      { op: "add", path: "/data/b", value: "x".repeat(700_000) },
      ...Array.from({ length: 5 }, () => ({ op: "copy", from: "/data/b", path: "/data/c" })),
    ]),
    strategicPatch(`${CONFIG_MAPS}/p`, {
      metadata: {
        "$deleteFromPrimitiveList/finalizers": Array.from({ length: 1_000 }, (_, at) => `a/${at}`),
      },
    }),
  ),
  check(
    "SJ-09",
    "rules that cost too much when they run, and patterns that would never end",
    post(
      DEFINITIONS,
      definition("costly", {
        type: "object",
        properties: {
          l: {
            type: "array",
            maxItems: 100,
            items: { type: "integer" },
            "x-kubernetes-validations": [
              { rule: "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))" },
            ],
          },
          a: COSTLY_ITEMS,
        },
      }),
    ),
    post(`${CUSTOM}/costlys`, custom("Costly", "few", { l: [1, 2, 3] }), { until: 201 }),
    post(
      `${CUSTOM}/costlys`,
      custom("Costly", "most", { l: Array.from({ length: 100 }, (_, at) => at) }),
    ),
    post(
      `${CUSTOM}/costlys`,
      custom("Costly", "all", { a: Array.from({ length: 100 }, (_, at) => at) }),
    ),
    del(`${DEFINITIONS}/costlys.strict.example.com`),
    ...[
      "(a+)+$",
      "(?=x)",
      "a{1000}{1000}",
      "((a{100}){100}){100}",
      "[",
      "(?P<n>a)\\1",
      "\\p{L}+",
    ].map((pattern) =>
      post(
        `${DEFINITIONS}?dryRun=All&pretty=false`,
        definition("pattern", {
          type: "object",
          properties: { s: { type: "string", pattern } },
        }),
      ),
    ),
  ),
];
