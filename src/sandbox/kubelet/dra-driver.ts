/**
 * The drivers that DRAConfig objects describe. On each simulated node they publish the devices of the pools
 * that match the node, and update them after changes.
 * upstream: dra-kwok-driver/pkg/controllers
 */
import { NODE } from "../../apis/core/node.ts";
import { RESOURCE_SLICE, type ResourceSlice } from "../../apis/resource/kinds.ts";
import { deepEqual } from "../../base/json.ts";
import { deleteIfThere } from "../../kube/client/delete-if-there.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { createPartRecorder, subject } from "../parts.ts";
import { DRA_CONFIG } from "./dra-config.ts";
import { isSameSpec, MANAGED_BY, MANAGER, slicesWanted, type WantedSlice } from "./dra-slices.ts";
import type { Kubelets } from "./machines.ts";

const RETRY_MS = 30_000;
/** One reconcile request stands for all configs, because a sandbox has few of them. */
const ALL = { kind: "DRAConfig", name: "all" };

/** Creates, updates and deletes the slices. */
export function draDriverController({ deps, options }: Kubelets): Controller {
  const { kube, mirrors } = deps;
  const configs = mirrors.of(DRA_CONFIG);
  const nodes = mirrors.of(NODE);
  const slices = mirrors.of(RESOURCE_SLICE);
  const recorder = createPartRecorder(deps, MANAGER);

  async function write(wanted: WantedSlice, before: ResourceSlice | undefined): Promise<void> {
    const { slice } = wanted;
    if (before === undefined) await kube.create(RESOURCE_SLICE, slice);
    else await patchObject(kube, RESOURCE_SLICE, before, { ...before, spec: slice.spec });
  }

  async function reconcile(): Promise<Outcome> {
    const own = slices.list().filter(({ metadata }) => metadata.labels?.[MANAGED_BY] === MANAGER);
    const simulated = nodes.list().filter((node) => options.isSimulated(node));
    const wanted = slicesWanted(configs.list(), simulated, own);
    const names = new Set(wanted.map(({ slice }) => slice.metadata.name));
    for (const slice of own)
      if (!names.has(slice.metadata.name)) await deleteIfThere(kube, RESOURCE_SLICE, slice);
    let isRefused = false;
    for (const one of wanted) {
      const before = own.find(({ metadata }) => metadata.name === one.slice.metadata.name);
      if (before !== undefined && isSameSpec(before, one.slice)) continue;
      try {
        await write(one, before);
      } catch (error) {
        isRefused = true;
        const message = `ResourceSlice ${one.slice.metadata.name}: ${(error as Error).message}`;
        const object = subject(DRA_CONFIG, one.config);
        recorder.publish({ object, type: "Warning", reason: "FailedPublish", message });
      }
    }
    return isRefused ? requeueAfter(RETRY_MS) : AWAIT_CHANGE;
  }

  return {
    name: "dra-driver",
    watches: [
      source(DRA_CONFIG, () => [ALL]),
      // Selectors read only labels, so heartbeats need no reconcile.
      source(NODE, (node, event, before) =>
        event === "updated" && deepEqual(node.metadata.labels, before?.metadata.labels)
          ? []
          : [ALL],
      ),
      source(RESOURCE_SLICE, ({ metadata }) =>
        metadata.labels?.[MANAGED_BY] === MANAGER ? [ALL] : [],
      ),
    ],
    concurrency: 1,
    reconcile,
  };
}
