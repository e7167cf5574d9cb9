/**
 * Rules for everything that repack proposes, checked from outside. The validator finds a place for each pod that moves.
 * What is launched costs less than what is removed. Budgets and PodDisruptionBudgets allow it. Unrelated pending pods
 * change nothing.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { keyOf } from "../../src/apis/meta.ts";
import { atOnce } from "../../src/base/steps.ts";
import { pictureOf } from "../../src/cli/answers/read-picture.ts";
import { parseInstanceTypes } from "../../src/cli/plan/instance-type-file.ts";
import { sortManifests } from "../../src/cli/plan/manifests.ts";
import { planOf } from "../../src/cli/plan/plan.ts";
import { planningInput } from "../../src/cli/plan/planning-input.ts";
import type { Command } from "../../src/core/disruption/command.ts";
import { makeRound, type Picture } from "../../src/core/disruption/make-round.ts";
import { repack } from "../../src/core/disruption/methods/repack.ts";
import { settingsOf } from "../../src/operator/create-operator.ts";
import { parseOptions } from "../../src/operator/settings/parse-options.ts";
import type { Json } from "../validator/kubernetes.ts";
import { outcomesOf } from "../validator/places.ts";
import { validate } from "../validator/validate.ts";
import { drawRepack, drawUnrelated, priceOfNode, REPACK_TYPES } from "./draw-repack.ts";

const NOW = Date.UTC(2026, 0, 5, 12);
const { instanceTypes, wellKnownLabels } = parseInstanceTypes(
  "types",
  JSON.stringify(REPACK_TYPES),
);
const SETTINGS = settingsOf(
  parseOptions(
    { "feature-gates": "SpotToSpotConsolidation=true", "consolidation-max-payback": "0s" },
    {},
  ),
);

export interface RepackVerdict {
  readonly seed: number;
  /** Number of nodes removed and added by the command. Absent: there was no command. */
  readonly moved?: { readonly out: number; readonly in: number };
  readonly faults: readonly string[];
}

export async function repackVerdict(seed: number): Promise<RepackVerdict> {
  const objects = drawRepack(seed);
  const picture = await pictureFor(objects);
  const [command] = proposed(picture);
  const beside = proposed(await pictureFor([...objects, ...drawUnrelated()]))[0];
  const faults: string[] = [];
  if (inWords(command) !== inWords(beside))
    faults.push(`beside pods that wait: ${inWords(beside)}, alone: ${inWords(command)}`);
  if (command === undefined) return { seed, faults };
  faults.push(
    ...placeFaults(objects, picture, command),
    ...priceFaults(objects, command),
    ...allowanceFaults(objects, command),
  );
  const moved = { out: command.candidates.length, in: command.replacements.length };
  return { seed, moved, faults };
}

/** The cluster as the disruption loop sees it. */
export async function pictureFor(objects: readonly KubeObject[]): Promise<Picture> {
  const manifests = sortManifests(objects.map((object) => ({ where: "drawn", object })));
  const cloud = { wellKnownLabels, typesOf: async () => instanceTypes, notes: [] };
  const wanted = { ...SETTINGS, poolNames: [], defaultSpread: [] };
  return pictureOf(manifests, await planningInput(manifests, cloud, wanted, NOW), SETTINGS);
}

function proposed(picture: Picture): readonly Command[] {
  return atOnce(repack.propose(atOnce(makeRound(picture, repack)).round)).commands;
}

function inWords(command: Command | undefined): string {
  if (command === undefined) return "nothing";
  const types = command.replacements.map(({ cheapest }) => cheapest.instanceType).sort();
  return `${goneNames(command).sort().join()} -> ${types.join()}`;
}

function goneNames({ candidates }: Command): string[] {
  return candidates.map(({ node }) => node.name);
}

/** The pods of the removed nodes become pending. The command must be a valid plan for them. */
function placeFaults(objects: readonly KubeObject[], picture: Picture, command: Command): string[] {
  const gone = new Set(goneNames(command));
  const moving = new Set<string>();
  const manifests = (objects as readonly Json[]).flatMap((object) => {
    if (object.kind === "Node" && gone.has(object.metadata.name)) return [];
    if (object.kind !== "Pod" || !gone.has(object.spec.nodeName)) return [object];
    moving.add(keyOf(object as KubeObject));
    const { nodeName: _, ...spec } = object.spec;
    return [{ ...object, spec }];
  });
  const existing = picture.simulator
    .without(command.candidates, command.terms)
    .placements.map(({ nodeName, pods }) => ({
      nodeName,
      pods: pods.filter((pod) => moving.has(keyOf(pod))),
    }));
  const plan = planOf(
    { newClaims: command.replacements, existing, unschedulable: [], excludedByLimits: [] },
    moving.size,
    { parseMs: 0, solveMs: 0 },
  );
  return validate({ manifests, instanceTypes: REPACK_TYPES }, plan);
}

/** Compares prices, with the most expensive types that may be launched. */
function priceFaults(objects: readonly KubeObject[], command: Command): string[] {
  const of = (kind: string, name: string): Json =>
    objects.find((one) => one.kind === kind && one.metadata.name === name);
  const before = goneNames(command).reduce((sum, name) => sum + priceOfNode(of("Node", name)), 0);
  const after = command.replacements.reduce((sum, { pool, requirements, instanceTypes: types }) => {
    const offered = types.map(({ name }) => REPACK_TYPES.find((type) => type.name === name));
    const outcomes = outcomesOf(of("NodePool", pool.name), requirements, offered);
    return sum + Math.max(...outcomes.map(({ priceMicroUsd }) => priceMicroUsd));
  }, 0);
  return after < before ? [] : [`costs up to ${after} instead of ${before}`];
}

function allowanceFaults(objects: readonly KubeObject[], command: Command): string[] {
  const all = objects as readonly Json[];
  const gone = new Set(goneNames(command));
  const nodes = all.filter(({ kind }) => kind === "Node");
  const budgets = all
    .filter(({ kind }) => kind === "NodePool")
    .flatMap((pool) => {
      const own = nodes.filter(
        ({ metadata }) => metadata.labels["karpenter.sh/nodepool"] === pool.metadata.name,
      );
      const [{ nodes: text }] = pool.spec.disruption.budgets;
      const most = text.endsWith("%")
        ? Math.ceil((own.length * Number.parseInt(text, 10)) / 100)
        : Number(text);
      const going = own.filter(({ metadata }) => gone.has(metadata.name)).length;
      return going > most
        ? [`${going} nodes of ${pool.metadata.name} go, its budget is ${text}`]
        : [];
    });
  const guards = all
    .filter(({ kind }) => kind === "PodDisruptionBudget")
    .flatMap(({ metadata, status: { disruptionsAllowed: most } }) => {
      const moving = all
        .filter(({ kind, spec }) => kind === "Pod" && gone.has(spec.nodeName))
        .filter((pod) => pod.metadata.labels.app === metadata.name);
      // The pods of one node are evicted one after the other.
      const isOfOneNode = new Set(moving.map(({ spec }) => spec.nodeName)).size === 1;
      const allowed = most > 0 && isOfOneNode ? moving.length : most;
      return moving.length > allowed
        ? [`${moving.length} pods of ${metadata.name} move, ${most} may`]
        : [];
    });
  const kept = nodes
    .filter(({ metadata }) => metadata.annotations?.["karpenter.sh/do-not-disrupt"] === "true")
    .filter(({ metadata }) => gone.has(metadata.name));
  return [
    ...budgets,
    ...guards,
    ...kept.map(({ metadata }) => `${metadata.name} is not to be disrupted`),
  ];
}
