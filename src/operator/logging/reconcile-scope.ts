/**
 * Adds the current reconcile to log lines: its object and an id, as in controller-runtime. Code in a reconcile gets
 * these fields without receiving a special logger.
 * upstream: sigs.k8s.io/controller-runtime/pkg/internal/controller
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { LogFields } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { ReconcileScope } from "../../kube/manager/manager.ts";

/** Fields of the reconcile, in upstream's order. `controller` is the first. */
type Context = LogFields & { readonly controller: string };

const contexts = new AsyncLocalStorage<Context>();

/** Fields of the reconcile that runs now. Undefined: the call is outside of a reconcile. */
export function reconcileContext(): Context | undefined {
  return contexts.getStore();
}

/** Creates the scope that gives each reconcile its fields. */
export function createReconcileScope(random: Random): ReconcileScope {
  const last = new WeakMap<object, Context>();
  return {
    during: (controller, request, work) => {
      const { kind, namespace = "", name } = request;
      const watched = controller.watches.find((one) => one.kind.kind === kind)?.kind;
      const object = namespace === "" ? { name } : { name, namespace };
      const about =
        watched === undefined
          ? { namespace: "", name: "" }
          : {
              controllerGroup: watched.group,
              controllerKind: kind,
              [kind]: object,
              namespace,
              name,
            };
      const context = { controller: controller.name, ...about, reconcileID: random.uuid() };
      last.set(request, context);
      return contexts.run(context, work);
    },
    after: (request, work) => {
      const context = last.get(request);
      return context === undefined ? work() : contexts.run(context, work);
    },
  };
}
