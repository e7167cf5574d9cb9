/** Kinds that a user defines: what a CustomResourceDefinition may contain, and which definitions are refused. */
import {
  AS_TABLE,
  apply,
  type Check,
  check,
  del,
  get,
  jsonPatch,
  mergePatch,
  post,
  put,
} from "./check.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function definition(
  plural: string,
  schema: object,
  version: object = {},
  spec: object = {},
): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.foreign.example.com` },
    spec: {
      group: "foreign.example.com",
      scope: "Namespaced",
      names: { plural, singular: plural.slice(0, -1), kind: kindOf(plural) },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...version,
        },
      ],
      ...spec,
    },
  };
}

const kindOf = (plural: string): string => `${plural[0]?.toUpperCase()}${plural.slice(1, -1)}`;
const of = (plural: string): string => `/apis/foreign.example.com/v1/namespaces/<<ns>>/${plural}`;
const ofSecond = (plural: string): string => of(plural).replace("/v1/", "/v2/");
const BELOW = "/apis/foreign.k8s.io/v1/namespaces/<<ns>>/approveds";

function thing(plural: string, name: string, spec: object, more: object = {}): object {
  return {
    apiVersion: "foreign.example.com/v1",
    kind: kindOf(plural),
    metadata: { name },
    spec,
    ...more,
  };
}

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const text = { type: "string" };
/** Short texts, so that the estimated cost of the rules stays within the limit. */
const word = { type: "string", maxLength: 10 };
const gone = (plural: string) => del(`${CRDS}/${plural}.foreign.example.com`);

export const FOREIGN_CHECKS: readonly Check[] = [
  check(
    "CD-01",
    "rules of a user's own: on transitions, with messages that are computed, with paths and reasons",
    post(
      CRDS,
      definition(
        "ruleds",
        object({
          spec: object(
            {
              fixed: {
                ...word,
                "x-kubernetes-validations": [
                  { rule: "self == oldSelf", messageExpression: "'stays ' + oldSelf" },
                ],
              },
              count: {
                type: "integer",
                "x-kubernetes-validations": [
                  { rule: "self >= oldSelf", message: "may not shrink" },
                ],
              },
              fresh: {
                ...word,
                "x-kubernetes-validations": [
                  {
                    rule: "oldSelf.hasValue() || self == 'first'",
                    optionalOldSelf: true,
                    message: "begins as first",
                  },
                ],
              },
              list: {
                type: "array",
                maxItems: 5,
                items: { ...word, maxLength: 10 },
                "x-kubernetes-validations": [
                  { rule: "self.all(x, x.startsWith('a'))", reason: "FieldValueForbidden" },
                ],
              },
              a: word,
              b: word,
            },
            {
              "x-kubernetes-validations": [
                {
                  rule: "!has(self.a) || !has(self.b)",
                  message: "one of them",
                  fieldPath: ".a",
                  reason: "FieldValueDuplicate",
                },
                { rule: "has(self.a) == has(oldSelf.a)", message: "a stays or stays away" },
              ],
            },
          ),
        }),
      ),
    ),
    get(of("ruleds"), { until: 200 }),
    post(of("ruleds"), thing("ruleds", "a", { fixed: "x", count: 3, fresh: "first" })),
    post(of("ruleds"), thing("ruleds", "b", { fresh: "second" })),
    post(of("ruleds"), thing("ruleds", "b", { list: ["ab", "b"], a: "1", b: "2" })),
    mergePatch(`${of("ruleds")}/a`, { spec: { fixed: "y" } }),
    mergePatch(`${of("ruleds")}/a`, { spec: { count: 2 } }),
    mergePatch(`${of("ruleds")}/a`, { spec: { a: "1" } }),
    mergePatch(`${of("ruleds")}/a`, { spec: { fresh: "third", count: 4 } }),
    jsonPatch(`${of("ruleds")}/a`, [{ op: "remove", path: "/spec/fixed" }]),
    apply(`${of("ruleds")}/a?fieldManager=me`, thing("ruleds", "a", { count: 1 })),
    gone("ruleds"),
  ),
  check(
    "CD-02",
    "lists by key and sets, numbers or texts, what is kept unknown, defaults, nothing",
    post(
      CRDS,
      definition(
        "shapeds",
        object({
          spec: object({
            ports: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["port", "protocol"],
              items: object(
                {
                  port: { type: "integer" },
                  protocol: { ...text, default: "TCP" },
                  note: { ...text, nullable: true },
                },
                { required: ["port"] },
              ),
            },
            tags: { type: "array", "x-kubernetes-list-type": "set", items: text },
            either: { "x-kubernetes-int-or-string": true },
            any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            whole: {
              type: "object",
              "x-kubernetes-map-type": "atomic",
              additionalProperties: text,
            },
            deep: { ...object({ on: { type: "boolean", default: true } }), default: {} },
            defaulted: { ...text, default: "d" },
          }),
        }),
      ),
    ),
    get(of("shapeds"), { until: 200 }),
    post(
      of("shapeds"),
      thing("shapeds", "a", {
        ports: [
          { port: 1, note: null, nonsense: 1 },
          { port: 1, protocol: "UDP" },
        ],
        tags: ["x", "y"],
        either: "5%",
        any: { kept: { deep: [1] } },
        whole: { a: "1" },
        defaulted: null,
      }),
    ),
    post(of("shapeds"), thing("shapeds", "b", { ports: [{ port: 1 }, { port: 1 }] })),
    post(of("shapeds"), thing("shapeds", "b", { tags: ["x", "x"] })),
    post(of("shapeds"), thing("shapeds", "b", { either: true })),
    post(of("shapeds"), thing("shapeds", "b", { whole: { a: 1 } })),
    post(of("shapeds"), thing("shapeds", "b", { any: [] })),
    post(of("shapeds"), thing("shapeds", "b", { ports: null, deep: null })),
    apply(
      `${of("shapeds")}/a?fieldManager=one`,
      thing("shapeds", "a", { ports: [{ port: 2 }], tags: ["z"], whole: { b: "2" } }),
    ),
    apply(
      `${of("shapeds")}/a?fieldManager=one&force=true`,
      thing("shapeds", "a", { ports: [{ port: 2, note: "n" }], tags: ["z"], whole: { b: "2" } }),
    ),
    apply(`${of("shapeds")}/a?fieldManager=one`, thing("shapeds", "a", { ports: [] })),
    apply(
      `${of("shapeds")}/a?fieldManager=two`,
      thing("shapeds", "a", { ports: [{ port: 3 }, { port: 3, protocol: "TCP" }] }),
    ),
    get(`${of("shapeds")}/a`),
    gone("shapeds"),
  ),
  check(
    "CD-03",
    "bounds, patterns, formats, enums, and columns",
    post(
      CRDS,
      definition(
        "boundeds",
        object({
          spec: object(
            {
              low: { type: "integer", minimum: 1, maximum: 5, multipleOf: 2 },
              above: { type: "number", minimum: 0, exclusiveMinimum: true },
              short: { ...text, minLength: 2, maxLength: 4, pattern: "^[a-z]+$" },
              one: { ...text, enum: ["a", "b"] },
              when: { ...text, format: "date-time" },
              long: { ...text, format: "duration" },
              where: { ...text, format: "ipv4" },
              few: { type: "array", minItems: 1, maxItems: 2, items: { type: "integer" } },
              map: {
                type: "object",
                maxProperties: 1,
                minProperties: 1,
                additionalProperties: text,
              },
              wide: { type: "integer", format: "int32" },
            },
            {
              required: ["low"],
              anyOf: [{ required: ["short"] }, { required: ["one"] }],
              not: { required: ["when", "long"] },
            },
          ),
        }),
        {
          additionalPrinterColumns: [
            { name: "Low", type: "integer", jsonPath: ".spec.low" },
            { name: "When", type: "date", jsonPath: ".spec.when" },
            { name: "Few", type: "string", jsonPath: ".spec.few[1]" },
            { name: "Wide", type: "integer", jsonPath: ".spec.wide", priority: 1 },
            { name: "Lost", type: "string", jsonPath: ".status.lost" },
          ],
        },
      ),
    ),
    get(of("boundeds"), { until: 200 }),
    post(of("boundeds"), thing("boundeds", "a", { low: 2, one: "a", few: [1, 2] })),
    ...[
      { one: "a" },
      { low: 2, one: "c" },
      { low: 7, one: "a" },
      { low: 0, one: "a" },
      { low: 2, one: "a", above: 0 },
      { low: 2, one: "a", short: "ABCDE" },
      { low: 2, one: "a", short: "AB" },
      { low: 2, one: "a", short: "a" },
      { low: 2, one: "a", when: "now" },
      { low: 2, one: "a", where: "::1" },
      { low: 2, one: "a", long: "1 day" },
      { low: 2, one: "a", few: [] },
      { low: 2, one: "a", few: [1, 2, 3] },
      { low: 2, one: "a", few: ["2"] },
      { low: 2, one: "a", few: [3.5] },
      { low: 2, one: "a", map: {} },
      { low: 2, one: "a", map: { a: "1", b: "2" } },
      { low: 2, one: "a", when: "2026-01-01T00:00:00Z", long: "5m" },
      { low: "2", one: "a" },
      { low: null, one: "a" },
    ].map((spec) => post(of("boundeds"), thing("boundeds", "b", spec))),
    post(of("boundeds"), thing("boundeds", "w", { low: 2, one: "a", wide: 3_000_000_000 })),
    get(`${of("boundeds")}/a`, { headers: AS_TABLE }),
    get(`${of("boundeds")}/a/status`),
    get(`${of("boundeds")}/a/scale`),
    put(`${of("boundeds")}/a`, thing("boundeds", "a", { low: 4, one: "b" })),
    gone("boundeds"),
  ),
  check(
    "CD-04",
    "definitions that are refused",
    ...[
      { type: "string" },
      {},
      object({ spec: {} }),
      object({ spec: { type: "array" } }),
      object({ spec: { type: "text" } }),
      object({ spec: { type: "object", additionalProperties: false } }),
      object({ spec: { type: "object", properties: {}, additionalProperties: text } }),
      object({ spec: { ...text, default: 5 } }),
      object({ metadata: object({ labels: { type: "object" } }) }),
      object({ spec: { ...text, pattern: "[" } }),
      object({ spec: { ...text, "x-kubernetes-validations": [{ rule: "self.x(" }] } }),
      object({ spec: { ...text, "x-kubernetes-validations": [{ rule: "self + 1" }] } }),
      object({ spec: { ...text, "x-kubernetes-validations": [{ rule: "self.size()" }] } }),
      object({ spec: { ...text, "x-kubernetes-validations": [{ rule: "" }] } }),
      object({
        spec: { type: "array", items: text, "x-kubernetes-list-type": "map" },
      }),
      object({
        spec: { type: "array", items: text, "x-kubernetes-list-type": "bag" },
      }),
      object({
        spec: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: object({ name: text }),
        },
      }),
      object({ spec: { "x-kubernetes-int-or-string": true, type: "integer" } }),
      object({ spec: { type: "object", uniqueItems: true } }),
      object({ spec: { ...text, anyOf: [{ type: "integer" }] } }),
    ].map((schema) => post(`${CRDS}?dryRun=All`, definition("refuseds", schema))),
    post(`${CRDS}?dryRun=All`, {
      ...definition("refuseds", object({})),
      metadata: { name: "other.foreign.example.com" },
    }),
    post(`${CRDS}?dryRun=All`, definition("refuseds", object({}), { subresources: { scale: {} } })),
    post(
      `${CRDS}?dryRun=All`,
      definition("refuseds", object({}), {
        subresources: { scale: { specReplicasPath: ".x", statusReplicasPath: ".status.y" } },
      }),
    ),
    post(
      `${CRDS}?dryRun=All`,
      definition("refuseds", object({}), {
        additionalPrinterColumns: [{ name: "A", type: "word", jsonPath: ".a" }],
      }),
    ),
    post(
      `${CRDS}?dryRun=All`,
      definition("refuseds", object({}), {}, { conversion: { strategy: "Webhook" } }),
    ),
    post(`${CRDS}?dryRun=All`, definition("refuseds", object({}), { storage: false })),
    post(`${CRDS}?dryRun=All`, definition("refuseds", object({}), { name: "Version_1" })),
    post(`${CRDS}?dryRun=All`, definition("refuseds", object({}), {}, { scope: "Everywhere" })),
    post(
      `${CRDS}?dryRun=All`,
      definition("refuseds", object({}), {}, { preserveUnknownFields: true }),
    ),
    post(
      `${CRDS}?dryRun=All`,
      definition("refuseds", object({}), { selectableFields: [{ jsonPath: ".spec.x" }] }),
    ),
  ),
  check(
    "CD-05",
    "a definition that changes: what is stored may stay as it was",
    post(CRDS, definition("changeds", object({ spec: object({ a: text, b: text }) }))),
    get(of("changeds"), { until: 200 }),
    post(of("changeds"), thing("changeds", "old", { a: "long", b: "stays" })),
    mergePatch(`${CRDS}/changeds.foreign.example.com`, {
      spec: {
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: object({
                spec: object({
                  a: { ...text, maxLength: 2 },
                  c: { ...text, default: "new" },
                }),
              }),
            },
          },
        ],
      },
    }),
    get(`${of("changeds")}/old`, { untilText: '"c":"new"' }),
    post(of("changeds"), thing("changeds", "new", { a: "long" })),
    mergePatch(`${of("changeds")}/old`, { metadata: { labels: { a: "b" } } }),
    mergePatch(`${of("changeds")}/old`, { spec: { a: "longer" } }),
    mergePatch(`${CRDS}/changeds.foreign.example.com`, { spec: { group: "other.example.com" } }),
    mergePatch(`${CRDS}/changeds.foreign.example.com`, { spec: { scope: "Cluster" } }),
    mergePatch(`${CRDS}/changeds.foreign.example.com`, { spec: { names: { kind: "Other" } } }),
    gone("changeds"),
  ),
  check(
    "CD-06",
    "of two versions each shows its own fields and defaults; tenths; both bounds and formats",
    post(CRDS, {
      ...definition(
        "twices",
        {},
        {},
        {
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: object({
                  spec: object({
                    both: text,
                    mine: text,
                    tenth: { type: "number", multipleOf: 0.1 },
                    when: { ...text, format: "date", maxLength: 3 },
                  }),
                }),
              },
            },
            {
              name: "v2",
              served: true,
              storage: false,
              schema: {
                openAPIV3Schema: object({
                  spec: object({ both: text, yours: { ...text, default: "here" } }),
                }),
              },
            },
          ],
        },
      ),
    }),
    get(of("twices"), { until: 200 }),
    get(ofSecond("twices"), { until: 200 }),
    post(of("twices"), thing("twices", "a", { both: "b", mine: "m", tenth: 0.3 })),
    get(`${ofSecond("twices")}/a`),
    get(ofSecond("twices")),
    post(of("twices"), thing("twices", "b", { tenth: 0.35 })),
    post(of("twices"), thing("twices", "b", { when: "tomorrow" })),
    gone("twices"),
  ),
  check(
    "CD-07",
    "a kind below k8s.io that is a user's own",
    post(CRDS, {
      ...definition(
        "approveds",
        object({ spec: object({ a: text }), status: object({ b: text }) }),
        {
          subresources: { status: {} },
        },
        { group: "foreign.k8s.io" },
      ),
      metadata: {
        name: "approveds.foreign.k8s.io",
        annotations: { "api-approved.kubernetes.io": "unapproved, for this check" },
      },
    }),
    get(BELOW, { until: 200 }),
    post(BELOW, {
      apiVersion: "foreign.k8s.io/v1",
      kind: "Approved",
      metadata: { name: "a", labels: { stays: "yes" } },
    }),
    mergePatch(`${BELOW}/a/status`, { status: { b: "c" } }),
    get(BELOW),
    del(`${CRDS}/approveds.foreign.k8s.io`),
  ),
];
