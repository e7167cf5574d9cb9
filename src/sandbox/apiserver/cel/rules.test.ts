import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../apis/meta.ts";
import { printFieldError } from "../schema/field-error.ts";
import type { Schema, ValidationRule } from "../schema/schema.ts";
import { compileRules, ruleProblem } from "./rules.ts";

/** The errors of `spec` under one rule on its schema. */
function judge(
  schema: Schema,
  rule: ValidationRule | string,
  spec: unknown,
  old?: unknown,
): string[] {
  const rules = [typeof rule === "string" ? { rule, message: "no" } : rule];
  const root: Schema = {
    type: "object",
    properties: { spec: { ...schema, "x-kubernetes-validations": rules } },
  };
  const object = (value: unknown) => ({ metadata: { name: "x" }, spec: value }) as KubeObject;
  const check = compileRules(root);
  return check(object(spec), old === undefined ? undefined : object(old)).map(printFieldError);
}

const text: Schema = { type: "string" };
const number: Schema = { type: "integer" };
const texts: Schema = { type: "array", items: text };
const pair: Schema = { type: "object", properties: { min: number, max: number, namespace: text } };

describe("CEL rules of a CRD", () => {
  it.each<[Schema, string, unknown, boolean]>([
    [pair, "self.min <= self.max", { min: 1, max: 2 }, true],
    [pair, "self.min <= self.max", { min: 3, max: 2 }, false],
    [pair, "!has(self.min) || self.min > 0", {}, true],
    [pair, "self.__namespace__ == 'a'", { namespace: "a" }, true],
    [text, "self.matches('^[a-z]+$')", "abc", true],
    [text, "self.matches('(?i)^ABC$')", "abc", true],
    [text, "self == 'x.matches(y)'", "x.matches(y)", true],
    [text, "self.find('[0-9]+') == '12'", "a12b3", true],
    [text, "self.findAll('[0-9]+').size() == 2", "a12b3", true],
    [text, "quantity(self).isGreaterThan(quantity('1Gi'))", "2048Mi", true],
    [text, "isQuantity(self)", "x", false],
    [text, "cidr('10.0.0.0/8').containsIP(self)", "10.1.2.3", true],
    [text, "ip(self).family() == 6", "::1", true],
    [text, "url(self).getHostname() == 'a.b'", "https://a.b/c", true],
    [text, "duration(self) >= duration('1h')", "90m", true],
    [texts, "sets.contains(self, ['a']) && sets.equivalent(self, ['b', 'a'])", ["a", "b"], true],
    [text, "!format.dns1123Label().validate(self).hasValue()", "good-name", true],
    [text, "!format.dns1123Label().validate(self).hasValue()", "Bad.Name", false],
    [texts, "self.isSorted() && self.indexOf('b') == 1", ["a", "b"], true],
    [texts, "self.all(x, x.startsWith('a')) && self.exists_one(x, x == 'a1')", ["a1", "a2"], true],
    [{ type: "array", items: number }, "self.sum() == 6 && self.max() == 3", [1, 2, 3], true],
    [
      { type: "object", additionalProperties: text },
      "self.all(k, self[k] != '')",
      { a: "b" },
      true,
    ],
    [{ "x-kubernetes-int-or-string": true }, "type(self) == string || self > 3", 5, true],
    [
      { type: "string", format: "date-time" },
      "self.getFullYear() == 2024",
      "2024-05-01T00:00:00Z",
      true,
    ],
  ])("for the schema %j check values with %s", (schema, rule, value, good) => {
    expect(judge(schema, rule, value)).toHaveLength(good ? 0 : 1);
  });

  it("give errors with type, message and path", () => {
    expect(judge(pair, "false", {})).toEqual(['spec: Invalid value: "object": no']);
    expect(judge(number, { rule: "self > 5" }, 1)).toEqual([
      'spec: Invalid value: "integer": failed rule: self > 5',
    ]);
    const withPath = {
      rule: "false",
      message: "set it",
      fieldPath: ".min",
      reason: "FieldValueRequired",
    };
    expect(judge(pair, withPath, {})).toEqual(["spec.min: Required value: set it"]);
    const spoken = { rule: "false", messageExpression: "'got ' + string(self.min)" };
    expect(judge(pair, spoken, { min: 7 })).toEqual(['spec: Invalid value: "object": got 7']);
  });

  it("report an error inside a rule", () => {
    expect(judge(pair, "self.min > 1", {})).toEqual([
      'spec: Invalid value: "object": no such key: min evaluating rule: no',
    ]);
  });

  it("with oldSelf run only on an update, if an old value corresponds", () => {
    expect(judge(text, "self == oldSelf", "a")).toEqual([]);
    expect(judge(text, "self == oldSelf", "a", "a")).toEqual([]);
    expect(judge(text, "self == oldSelf", "b", "a")).toEqual(['spec: Invalid value: "string": no']);
  });

  it("get oldSelf as an optional value if they ask for that", () => {
    const rule = {
      rule: "oldSelf.hasValue() ? self == oldSelf.value() : self == 'first'",
      message: "no",
      optionalOldSelf: true,
    };
    expect(judge(text, rule, "first")).toEqual([]);
    expect(judge(text, rule, "other")).toHaveLength(1);
    expect(judge(text, rule, "other", "first")).toHaveLength(1);
  });

  it("find the old items of a map list by key, and do not report old errors on an update", () => {
    const item: Schema = {
      type: "object",
      properties: { name: text, size: number },
      "x-kubernetes-validations": [{ rule: "self.size >= oldSelf.size", message: "shrank" }],
    };
    const list: Schema = {
      type: "array",
      items: item,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    };
    const before = [
      { name: "a", size: 5 },
      { name: "b", size: 5 },
    ];
    const after = [
      { name: "b", size: 4 },
      { name: "a", size: 6 },
    ];
    expect(judge(list, "true", after, before)).toEqual([
      'spec[0]: Invalid value: "object": shrank',
    ]);
    expect(judge(text, "self == 'good'", "bad", "bad")).toEqual([]);
  });

  it("must not be missing or empty", () => {
    for (const rule of [{}, { rule: " " }])
      expect(ruleProblem(rule, "spec.rule")).toMatchObject({
        field: "spec.rule",
        message: "Required value: rule is not specified",
      });
  });

  it("that do not compile, or are not boolean, are reported", () => {
    const problemOf = (rule: string) => ruleProblem({ rule }, "rule")?.message ?? "";
    expect(problemOf("self.nope(")).toContain("compilation failed");
    expect(problemOf("size('a')")).toContain("cel expression must evaluate to a bool");
    expect(problemOf("self == oldSelf")).toBe("");
  });
});
