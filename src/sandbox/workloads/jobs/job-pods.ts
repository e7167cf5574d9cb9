/** The pods that a Job creates. Each has a finalizer until it is counted. Pods of indexed Jobs get their index. */
import { JOB, type Job } from "../../../apis/apps/kinds.ts";
import type { Container, Pod } from "../../../apis/core/pod.ts";
import type { Random } from "../../../base/random.ts";
import { generatedName, podOf } from "../controls.ts";
import {
  type Counts,
  INDEX_LABEL,
  isIndexed,
  missingIndexes,
  TRACKING_FINALIZER,
} from "./job-counts.ts";

/** The next `count` pods of a Job. An indexed Job gets fewer if fewer indexes are missing. */
export function newPodsOf(job: Job, counts: Counts, count: number, random: Random): Pod[] {
  if (!isIndexed(job))
    return Array.from({ length: count }, () =>
      tracked(podOf(JOB, job, job.spec.template, generatedName(job, random))),
    );
  return missingIndexes(job, counts)
    .slice(0, count)
    .map((index) => indexedPod(job, index, random));
}

function indexedPod(job: Job, index: number, random: Random): Pod {
  const generateName = `${job.metadata.name}-${index}-`;
  const name = generateName.slice(0, 58) + random.suffix();
  const pod = tracked(podOf(JOB, job, job.spec.template, { generateName, name }));
  const own = { [INDEX_LABEL]: String(index) };
  const fieldPath = `metadata.labels['${INDEX_LABEL}']`;
  const env = { name: "JOB_COMPLETION_INDEX", valueFrom: { fieldRef: { fieldPath } } };
  const withIndex = (container: Container): Container =>
    ({
      ...container,
      env: [...((container as { env?: readonly object[] }).env ?? []), env],
    }) as Container;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, ...own },
      annotations: { ...pod.metadata.annotations, ...own },
    },
    spec: {
      ...pod.spec,
      hostname: `${job.metadata.name}-${index}`,
      containers: pod.spec.containers.map(withIndex),
    },
  };
}

function tracked(pod: Pod): Pod {
  const finalizers = [...(pod.metadata.finalizers ?? []), TRACKING_FINALIZER];
  return { ...pod, metadata: { ...pod.metadata, finalizers } };
}
