/**
 * What a page may suppose of a scene, and what would happen then: the answer of `karpenter simulate`, with the nodes
 * before and after, and the command line that asks the same.
 */
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { commandLine } from "../../console/command-line.ts";
import type { Editable, Supposition } from "../../console/source.ts";
import { type MapRow, mapView } from "../../console/views/map.ts";
import { fleetOf } from "../../core/answers/fleet.ts";
import type { Model } from "../../core/answers/model.ts";
import { writeYaml } from "../../readers/write-yaml.ts";
import {
  type Kept,
  pictureFrom,
  type ReadObjects,
  type ReadPicture,
} from "../answers/read-picture.ts";
import { parseScales } from "../answers/scales.ts";
import { leftOut, modelOf, type Simulated, simulation } from "../answers/simulate.ts";
import { supposedPicture } from "../answers/suppose.ts";
import { nodesToRemove, parsePrices, withOfferings } from "../answers/what-if.ts";
import { type Found, objectsOf } from "../plan/documents.ts";
import { type Manifests, sortManifests } from "../plan/manifests.ts";
import { CliError } from "../program/cli-error.ts";

/** How far consolidation is played, as `karpenter simulate` does without `--horizon`. */
const HORIZON_MS = 24 * 3_600_000;

/** What the page shows beside the answer. */
export interface SupposedAnswer extends Simulated {
  readonly notes: readonly string[];
  readonly commandLine: string;
  /** Nodes by name. */
  readonly nodesBefore: Readonly<Record<string, MapRow>>;
  /** Rows that are new or other, and names of nodes that are gone. */
  readonly nodesAfter: {
    readonly set: Readonly<Record<string, MapRow>>;
    readonly del: readonly string[];
  };
}

/** All objects of a scene, and the cloud that is kept from scene to scene. */
export interface WholeScene {
  readonly objects: ReadObjects;
  readonly cloud: Kept["cloud"];
}

/** `whole`: read only where objects are supposed to be other. Throws CliError. */
export async function supposed(
  read: ReadPicture,
  asked: Supposition,
  whole: () => WholeScene,
): Promise<SupposedAnswer> {
  const { nodes, zones, consolidate } = asked;
  const prices = parsePrices(asked.prices ?? []);
  const { before, changed } = await pictures(read, asked, whole);
  const today = modelOf(before);
  const drained = new Set(zones);
  const start = withOfferings(modelOf(changed), prices, drained);
  const removed = nodesToRemove(start.picture, nodes, drained);
  const supposal = { removed, zones, consolidate, horizonMs: HORIZON_MS, repairs: false };
  const { answer, after } = simulation(today, start, supposal, changed.settings);
  const rows = rowsOf(today);
  return {
    ...answer,
    notes: [...changed.notes, ...leftOut(start, answer)],
    commandLine: commandLine(asked),
    nodesBefore: Object.fromEntries(rows),
    nodesAfter: difference(rows, rowsOf(after)),
  };
}

async function pictures(read: ReadPicture, asked: Supposition, whole: () => WholeScene) {
  const pools = poolsIn(asked.pools ?? "");
  const scales = parseScales(asked.scales ?? []);
  if (pools.length === 0 && scales.length === 0) return { before: read, changed: read };
  const { objects, cloud } = whole();
  const kept: Kept = { state: undefined, cloud };
  const { found } = objects;
  const makers = {
    found,
    ofObjects: (all: readonly Found[]) =>
      pictureFrom({}, sortManifests(all), { ...objects, found: all, kept }),
    ofManifests: (manifests: Manifests) => pictureFrom({}, manifests, { ...objects, kept }),
  };
  const before = await makers.ofObjects(found);
  return { before, changed: await supposedPicture(before, { pools, added: [], scales }, makers) };
}

/** What a complaint calls the text of the editor. */
const EDITOR = "NodePool";

function poolsIn(text: string): readonly Found[] {
  return text.trim() === "" ? [] : objectsOf(EDITOR, text);
}

/** What the API server would refuse of these NodePools, a sentence each; empty: nothing. */
export function poolProblems(text: string): readonly string[] {
  try {
    const found = poolsIn(text);
    if (found.length === 0) return ["The text is empty: write a NodePool, or reset it."];
    const other = found.find(({ object }) => !POOL_KINDS.includes(object.kind ?? ""));
    if (other !== undefined)
      return [`${other.where}: kind: "${other.object.kind}": wanted NodePool or Provisioner`];
    sortManifests(found);
    return [];
  } catch (error) {
    if (error instanceof CliError) return error.problems;
    throw error;
  }
}

const POOL_KINDS = ["NodePool", "Provisioner"];

/** What can be chosen and edited. */
export function editable({ manifests, planning }: ReadPicture): Editable {
  const deployments = manifests.liveWorkloads.filter(({ kind }) => kind === DEPLOYMENT.kind);
  return {
    pools: manifests.pools.map((pool) => ({
      kind: pool.kind ?? "NodePool",
      name: pool.metadata.name,
      yaml: writeYaml(asWritten(pool), { aliases: "none" }),
    })),
    workloads: deployments.map((one) => ({
      workload: keyOf(one),
      replicas: (one as Deployment).spec.replicas ?? 1,
    })),
    types: [
      ...new Set(
        planning.pools.flatMap(({ instanceTypes }) => instanceTypes.map(({ name }) => name)),
      ),
    ].sort(),
  };
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Without what the API server and controllers write. */
function asWritten(pool: KubeObject & { readonly spec?: unknown }): unknown {
  const { name, labels, annotations = {} } = pool.metadata;
  const { [LAST_APPLIED]: _, ...rest } = annotations;
  const own = Object.entries(rest).filter(([key]) => !key.startsWith("karpenter.sh/"));
  return {
    apiVersion: pool.apiVersion,
    kind: pool.kind,
    metadata: {
      name,
      ...(labels === undefined ? {} : { labels }),
      ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }),
    },
    spec: pool.spec,
  };
}

/** Whose pods wait is told elsewhere. */
const NO_PLAN = { existing: [], newClaims: [], unschedulable: [], excludedByLimits: [] };

function rowsOf(model: Model): ReadonlyMap<string, MapRow> {
  return mapView(fleetOf(model, NO_PLAN)).rows;
}

function difference(before: ReadonlyMap<string, MapRow>, after: ReadonlyMap<string, MapRow>) {
  const isOther = (name: string, row: MapRow) =>
    JSON.stringify(row) !== JSON.stringify(before.get(name));
  return {
    set: Object.fromEntries([...after].filter(([name, row]) => isOther(name, row))),
    del: [...before.keys()].filter((name) => !after.has(name)),
  };
}
