/**
 * The checks of `karpenter migrate check`, as pure functions: whether another Karpenter can hand this cluster over.
 * Each item says what would differ and what must be done first.
 */
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "../../apis/core/custom-resource-definition.ts";
import { NODE } from "../../apis/core/node.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { isObject } from "../../base/json.ts";
import { meantName } from "../../base/slips.ts";
import type { OptionDefinition } from "../../operator/settings/option-definition.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { type CheckedItem, checkSections, type Section } from "../checks/checks.ts";
import { environmentOf, imageOf, settingOf } from "../checks/deployments.ts";
import {
  checkDefinitions,
  checkDrift,
  checkObjects,
  checkUnderWay,
  some,
} from "./check-objects.ts";
import type { MigrationFacts, OwnFacts, ValueSchema } from "./facts.ts";
import { refusedValues, unknownFields } from "./unknown-fields.ts";

/** Environment variables of upstream's chart that are no settings of the program, or that Node.js does not use. */
const NO_SETTINGS: ReadonlySet<string> = new Set([
  "KUBERNETES_MIN_VERSION",
  "SYSTEM_NAMESPACE",
  "GOMEMLIMIT",
  "GOMAXPROCS",
  "AWS_REGION",
  "AWS_DEFAULT_REGION",
  "KUBECONFIG",
]);
const LEASE_SECONDS = 15;
const PRESET = "upstream-compatible";

/** All checks, in the order in which to work through them. */
export function migrationChecks(facts: MigrationFacts, own: OwnFacts): readonly CheckedItem[] {
  const definitions = CUSTOM_RESOURCE_DEFINITION.plural;
  const claims = [definitions, ...CLAIM_KINDS.map(({ plural }) => plural)];
  const pools = POOL_KINDS.map(({ plural }) => plural);
  const sections: readonly Section[] = [
    { needs: [definitions], check: () => checkDefinitions(facts, own) },
    { needs: [], check: () => checkObjects(facts, own) },
    { needs: [...claims, ...pools], check: () => checkDrift(facts) },
    { needs: [...claims, NODE.plural], check: () => checkUnderWay(facts) },
    { needs: [DEPLOYMENT.plural], check: () => checkRunning(facts) },
    { needs: [], check: () => checkSettings(facts) },
    { needs: [], check: () => checkValues(facts, own) },
    { needs: [], check: () => checkPolicy(facts, own) },
  ];
  return checkSections(sections, facts.unread, "the check");
}

/** Checks which replica leads, and which webhooks would be replaced. */
function checkRunning({
  deployments,
  leases,
  webhooks,
  nowMs,
}: MigrationFacts): readonly CheckedItem[] {
  const area = "controller";
  const checks = deployments.map((one): CheckedItem => {
    const item = nameOf(one);
    const image = imageOf(one);
    const replicas = one.spec.replicas ?? 1;
    const role = onlyObserves(one) ? ", only observes" : "";
    return { area, item, state: "ready", says: `${image}, ${counted(replicas, "replica")}${role}` };
  });
  if (checks.length === 0)
    checks.push({
      area,
      item: "none",
      state: "ready",
      says: "No Deployment of a Karpenter was found, so nothing has to be scaled down",
    });
  const running = deployments.filter((one) => one.spec.replicas !== 0 && !onlyObserves(one));
  if (running.length > 1)
    checks.push({
      area,
      item: "several",
      state: "todo",
      says: `${running.length} Deployments run a Karpenter: ${some(running.map(nameOf))}`,
      remedy: "scale all but one to 0: two that lead would launch nodes for the same pods",
    });
  for (const { metadata, spec } of leases) {
    const renewedMs = fromRfc3339(spec.renewTime ?? "") ?? 0;
    const holder = spec.holderIdentity ?? "";
    const isFree = holder === "" || nowMs - renewedMs > LEASE_SECONDS * 1_000;
    checks.push({
      area,
      item: `lease ${metadata.namespace}/${metadata.name}`,
      state: "ready",
      says: isFree ? "free" : `held by ${holder}`,
    });
  }
  if (webhooks.length > 0)
    checks.push({
      area,
      item: "webhooks",
      state: "differs",
      says: `Webhook configurations are there: ${some(webhooks)}`,
      remedy: "karpenter-ts serves those of the same names; delete any other after the handover",
    });
  return checks;
}

/** Checks the variables of the running Deployment: settings that this program does not read, and the preset. */
function checkSettings({ deployments, values }: MigrationFacts): readonly CheckedItem[] {
  const area = "settings";
  const read = new Set(Object.values<OptionDefinition>(OPTIONS).map(({ env }) => env));
  const checks: CheckedItem[] = [];
  for (const one of deployments) {
    const given = [...environmentOf(one).keys()];
    const unread = given.filter((name) => !read.has(name) && !NO_SETTINGS.has(name));
    const item = nameOf(one);
    checks.push(
      unread.length === 0
        ? { area, item, state: "ready", says: "karpenter-ts reads each of its variables" }
        : {
            area,
            item,
            state: "differs",
            says: `karpenter-ts does not read ${some(unread)}`,
          },
    );
  }
  const preset = valueAt(values, ["settings", "preset"]);
  checks.push(
    preset === PRESET
      ? { area, item: "preset", state: "ready", says: `settings.preset is ${PRESET}` }
      : {
          area,
          item: "preset",
          state: "differs",
          says: `settings.preset is ${typeof preset === "string" ? preset : "balanced, the default"}, and not ${PRESET}: nodes are planned and consolidated otherwise than before`,
          remedy: `set settings.preset=${PRESET} for the handover; docs/reference/presets.md says what each preset does`,
        },
  );
  return checks;
}

/**
 * Whether the image is upstream's, in its registry or in a mirror with the same path. upstream:
 * charts/karpenter/values.yaml
 */
function isUpstreamsImage(repository: unknown): boolean {
  return typeof repository === "string" && /(^|\/)karpenter\/controller$/.test(repository);
}

/** Checks the values file with the chart's schema. */
function checkValues(
  { values }: MigrationFacts,
  { valuesSchema }: OwnFacts,
): readonly CheckedItem[] {
  const area = "values";
  if (values === undefined)
    return [
      {
        area,
        item: "not given",
        state: "unknown",
        says: "The chart's values were not given",
        remedy:
          "helm get values karpenter -n NAMESPACE -o yaml > values.yaml, then --values values.yaml",
      },
    ];
  const checks = unknownFields(values, valuesSchema).map(
    (item): CheckedItem => ({
      area,
      item,
      state: "todo",
      says: "The chart does not know this value, and helm will refuse it",
      remedy: `${meantValue(item, valuesSchema)}; docs/reference/chart.md lists all values`,
    }),
  );
  for (const { path, wanted } of refusedValues(values, valuesSchema))
    checks.push({
      area,
      item: path,
      state: "todo",
      says: `helm will refuse this value: the chart wants ${wanted}`,
      remedy: `correct ${path}; docs/reference/chart.md lists all values`,
    });
  for (const { path, text } of olderValues(values, valuesSchema)) {
    const isRefused = text.startsWith("Older name: refused");
    checks.push({
      area,
      item: path,
      state: isRefused ? "todo" : "differs",
      says: text,
      ...(isRefused ? { remedy: `take ${path} out of the values` } : {}),
    });
  }
  const image = valueAt(values, ["controller", "image"]);
  const repository = valueAt(values, ["controller", "image", "repository"]);
  if (image !== undefined && (repository === undefined || isUpstreamsImage(repository)))
    checks.push({
      area,
      item: "controller.image",
      state: "todo",
      says: "The values name the image of the other Karpenter",
      remedy:
        "set controller.image.repository, tag and digest to those of the image of karpenter-ts",
    });
  if (checks.length === 0)
    checks.push({ area, item: "all", state: "ready", says: "The chart accepts them" });
  return checks;
}

/** What to do about a value that the chart does not have: another name of the same group may be meant. */
function meantValue(path: string, schema: ValueSchema): string {
  const keys = path.split(".");
  const name = keys.pop() ?? "";
  const group = keys.reduce<ValueSchema | undefined>((at, key) => at?.properties?.[key], schema);
  const meant = meantName(name, Object.keys(group?.properties ?? {}));
  const out = `take ${path} out of the values`;
  return meant === undefined ? out : `did you mean ${[...keys, meant].join(".")}? Or ${out}`;
}

/** Values with names of an older chart. The schema's description says what replaces each. */
function olderValues(
  value: unknown,
  schema: ValueSchema | undefined,
  path: readonly string[] = [],
): readonly { readonly path: string; readonly text: string }[] {
  if (!isObject(value) || schema?.properties === undefined) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const known = schema.properties?.[key];
    const here = [...path, key];
    const text = known?.description ?? "";
    return text.startsWith("Older name")
      ? [{ path: here.join("."), text: text.replaceAll("`", "") }]
      : olderValues(item, known, here);
  });
}

/** Finds missing IAM actions. It does not check resources and conditions. */
function checkPolicy({ allowed }: MigrationFacts, { needed }: OwnFacts): readonly CheckedItem[] {
  const area = "IAM policy";
  if (allowed === undefined)
    return [
      {
        area,
        item: "not given",
        state: "unknown",
        says: "The controller's IAM policies were not given",
        remedy: "aws iam get-policy-version … > policy.json, then --policy policy.json for each",
      },
    ];
  const missing = needed.filter((action) => !allowed.some((one) => allows(one, action)));
  if (missing.length === 0)
    return [
      {
        area,
        item: "actions",
        state: "ready",
        says: `All ${needed.length} actions are allowed; resources and conditions were not checked`,
      },
    ];
  return missing.map((item) => ({
    area,
    item,
    state: "todo",
    says: "The policies do not allow this action",
    remedy: `allow ${item}; deploy/aws/policies has the statements`,
  }));
}

/** Whether an IAM pattern, which may have wildcards, allows the action. Upper and lower case are the same. */
function allows(pattern: string, action: string): boolean {
  const source = pattern.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&");
  const expression = source.replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${expression}$`, "i").test(action);
}

/** Whether the Deployment runs with `--observe-only`: its pods take no Lease and change nothing. */
function onlyObserves(one: Deployment): boolean {
  return settingOf(one, OPTIONS.observeOnly) === "true";
}

function nameOf({ metadata }: Deployment): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), value);
}
