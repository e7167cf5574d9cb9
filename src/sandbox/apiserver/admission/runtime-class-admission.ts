/**
 * kube-apiserver's RuntimeClass plugin: a new pod gets the overhead and the scheduling of its RuntimeClass.
 * It is refused if it contradicts the class or if the class does not exist.
 * upstream: kubernetes plugin/pkg/admission/runtimeclass
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import {
  overheadProblem,
  type RuntimeClass,
  withRuntimeClass,
} from "../../../apis/node/runtime-class.ts";
import type { Call } from "../engine.ts";
import { forbidden } from "../request/status.ts";
import type { Admission } from "./admission-request.ts";

/** The pod with the fields of its RuntimeClass. Throws 403 for a conflict or a missing class. */
export function withClassOfPod<T extends KubeObject>(call: Call, object: T): T {
  const pod = object as unknown as Pod;
  const runtimeClass = classOf(call, pod);
  if (runtimeClass === undefined) return object;
  const outcome = withRuntimeClass(pod.spec, runtimeClass);
  if (outcome.problem !== undefined)
    throw forbidden(call.definition, pod.metadata.name, outcome.problem);
  return { ...object, spec: outcome.spec };
}

/** Checks the overhead of a pod again after the webhooks, which must not change it. Throws 403. */
export function checkOverhead(
  call: Call,
  { object, operation, subresource = "" }: Admission,
): void {
  const { group, kind } = call.definition;
  if (operation !== "CREATE" || subresource !== "" || group !== "" || kind !== "Pod") return;
  const pod = object as unknown as Pod;
  const problem = overheadProblem(pod.spec, classOf(call, pod));
  if (problem !== undefined) throw forbidden(call.definition, pod.metadata.name, problem);
}

function classOf({ engine, definition }: Call, { metadata, spec }: Pod): RuntimeClass | undefined {
  const name = spec["runtimeClassName"];
  if (typeof name !== "string") return undefined;
  const found = engine.store.get("node.k8s.io/runtimeclasses", undefined, name);
  if (found !== undefined) return found as RuntimeClass;
  throw forbidden(definition, metadata.name, `pod rejected: RuntimeClass "${name}" not found`);
}
