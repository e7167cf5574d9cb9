/**
 * Finds pods of the same template. Mirrors share equal parts of pod specs (controllers/pod-projection.ts), so pods of
 * one template have the same part objects, whatever their nodes and volumes are. What depends only on these parts is
 * computed once for each template, and no memory is needed for each pod.
 */
import type { PodSpec } from "./pod.ts";

/** The spec of a pod without its node and volumes. */
export type PodTemplate = PodSpec;

/** The fields of a spec that differ between pods of one template. */
const OWN: ReadonlySet<string> = new Set(["nodeName", "volumes"]);
/** The most templates that are kept for one list of containers. When there are more, the list is emptied. */
const MOST_ALIKE = 8;

interface Known {
  readonly template: PodTemplate;
  /** Number of fields in {@link template}, without those that differ between pods. */
  readonly parts: number;
}

/** Templates by their list of containers. Two templates rarely have the same list. */
const templates = new WeakMap<PodSpec["containers"], Known[]>();

/** The template of a spec. Undefined: the spec is not frozen, so it may still change. */
export function templateOf(spec: PodSpec): PodTemplate | undefined {
  const { containers } = spec;
  const known = templates.get(containers);
  // A spec that is already a known template is returned before the check whether it is frozen, which is slow.
  if (known?.[0]?.template === spec) return spec;
  if (!Object.isFrozen(spec)) return undefined;
  if (known !== undefined)
    for (let at = 0; at < known.length; at++) {
      const one = known[at] as Known;
      if (one.template === spec || isAlike(one, spec)) return one.template;
    }
  if (!Object.isFrozen(containers)) return undefined;
  const template = commonPart(spec);
  const parts = Object.keys(template).filter((key) => !OWN.has(key)).length;
  // A new array with one item, because arrays that grow by `push` reserve memory for more.
  if (known === undefined) templates.set(containers, [{ template, parts }]);
  else {
    if (known.length >= MOST_ALIKE) known.length = 0;
    known.push({ template, parts });
  }
  return template;
}

/**
 * The spec without the fields that differ by pod. If it has none of them, it is not copied, because copying is slow.
 */
function commonPart(spec: PodSpec): PodTemplate {
  if (spec.nodeName === undefined && spec.volumes === undefined) return spec;
  const { nodeName: _, volumes: __, ...common } = spec;
  return common;
}

/**
 * Returns a function that calls `make` once for each template and remembers the result. `make` gets a spec without node
 * and volumes.
 */
export function perTemplate<T>(make: (spec: PodSpec) => T): (spec: PodSpec) => T {
  const known = new WeakMap<PodTemplate, { readonly made: T }>();
  return (spec) => {
    const template = templateOf(spec);
    if (template === undefined) return make(commonPart(spec));
    let one = known.get(template);
    if (one === undefined) {
      one = { made: make(template) };
      known.set(template, one);
    }
    return one.made;
  };
}

function isAlike({ template, parts }: Known, spec: PodSpec): boolean {
  let same = 0;
  for (const key in spec) {
    if (key === "nodeName" || key === "volumes") continue;
    if (spec[key] !== template[key]) return false;
    same++;
  }
  return same === parts;
}
