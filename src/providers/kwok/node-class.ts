/**
 * Makes KWOKNodeClasses Ready. Nothing has to be discovered, so every class can be used. A class that a user has set to
 * Ready=False stays so, and nothing is launched for it.
 */
import { condition, withCondition } from "../../apis/karpenter/conditions.ts";
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { AWAIT_CHANGE, type Controller, source } from "../../kube/manager/controller.ts";
import type { KwokDeps } from "./provider.ts";

/** Marks KWOKNodeClasses as ready, except those that a user set to Ready=False. */
export function kwokNodeClass(deps: KwokDeps): Controller {
  const classes = deps.mirrors.of(KWOK_NODE_CLASS);
  return {
    name: "nodeclass.status",
    watches: [source(KWOK_NODE_CLASS)],
    concurrency: 1,
    reconcile: async (request) => {
      const before = classes.get(request.name);
      if (before === undefined || before.metadata.deletionTimestamp !== undefined)
        return AWAIT_CHANGE;
      if (condition(before, "Ready")?.status === "False") return AWAIT_CHANGE;
      const after = withCondition(before, { type: "Ready", status: "True" }, deps.clock.now());
      await patchObject(deps.kube, KWOK_NODE_CLASS, before, after);
      return AWAIT_CHANGE;
    },
  };
}
