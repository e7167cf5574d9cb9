/**
 * What pods of one template have in common. A mirror holds the parts of their specs once (see
 * controllers/pod-projection.ts): specs of the very same parts are alike, whatever their nodes and volumes
 * are. What depends on those parts alone is worked out once a template, and a million pods need no notes of
 * their own.
 */
import type { PodSpec } from "./pod.ts";

/** What specs of the same parts have in common: all but node and volumes. */
export type PodTemplate = PodSpec;

/** Parts that are each pod's own. */
const OWN: ReadonlySet<string> = new Set(["nodeName", "volumes"]);
/** The most templates that are kept for one set of containers. Beyond that the list is emptied. */
const MOST_ALIKE = 8;

interface Known {
  readonly template: PodTemplate;
  /** Of {@link template}, without its own. */
  readonly parts: number;
}

/** By their containers: two templates rarely share those. */
const templates = new WeakMap<PodSpec["containers"], Known[]>();

/** Undefined: the spec is not frozen, so it may still change. */
export function templateOf(spec: PodSpec): PodTemplate | undefined {
  const { containers } = spec;
  const known = templates.get(containers);
  // Frozen once, frozen for good: asking takes longer than looking.
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
  // Not pushed: a list that grows takes room for many.
  if (known === undefined) templates.set(containers, [{ template, parts }]);
  else {
    if (known.length >= MOST_ALIKE) known.length = 0;
    known.push({ template, parts });
  }
  return template;
}

/** Copying is slow, so a spec without fields that differ by pod is used as the template itself. */
function commonPart(spec: PodSpec): PodTemplate {
  if (spec.nodeName === undefined && spec.volumes === undefined) return spec;
  const { nodeName: _, volumes: __, ...common } = spec;
  return common;
}

/** Calls `make` once for each template, and remembers the result. `make` sees no nodes and volumes. */
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
