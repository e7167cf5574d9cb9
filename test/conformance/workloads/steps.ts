/** Steps for the stories of workloads. Image names stand for revisions. */
import type { Step } from "./story.ts";

export const LABELS = { app: "web" };

export function template(image: string, pod: object = {}): object {
  return {
    metadata: { labels: LABELS },
    spec: { containers: [{ name: "main", image }], ...pod },
  };
}

export function workload(kind: string, spec: object, image = "app:1"): Step {
  const apiVersion = kind === "Job" || kind === "CronJob" ? "batch/v1" : "apps/v1";
  const selector = kind === "Job" ? {} : { selector: { matchLabels: LABELS } };
  const metadata = { name: "web" };
  return {
    create: {
      apiVersion,
      kind,
      metadata,
      spec: { ...selector, template: template(image), ...spec },
    },
  };
}

export function update(plural: string, image: string): Step {
  return spec(plural, { template: { spec: { containers: [{ name: "main", image }] } } });
}

export function spec(plural: string, body: object): Step {
  return { patch: `${plural}/web`, with: { spec: body } };
}

export function rolling(maxSurge: number | string, maxUnavailable: number | string): object {
  return { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } } };
}

export const ALL = { ready: "" } as const;

/** Steps that finish a rollout of Deployments or sets: new pods become ready, terminating pods end. */
export function rounds(count: number): Step[] {
  return Array.from({ length: count }, (): Step[] => [ALL, { gone: "all" }]).flat();
}
