/**
 * Plays all stories against a real kube-controller-manager and records the result: `npm run
 * cluster:record-workloads` (`-- job-` for the stories whose names begin with that).
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { kubernetesVersion } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { RECORDING, type Told } from "./recording.ts";
import { STORIES } from "./stories.ts";
import { METRICS_KIND, type Stage, tell } from "./story.ts";

const AT_ONCE = 6;
/** A step has settled after this time without a change. */
const CALM_MS = 400;

const prefixes = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), "karpenter-record-"));
const plane = await startControlPlane({
  directory,
  programs: ["etcd", "kube-apiserver", "kube-controller-manager"],
  // Without kubelets, these controllers would mark nodes as lost and delete pods.
  controllers: ["*", "-node-lifecycle-controller", "-pod-garbage-collector-controller"],
  tell: (line) => process.stdout.write(`${line}\n`),
});
const stage: Stage = {
  transport: plane.transport,
  pause: () => sleep(CALM_MS),
  settle: async (ms, look) => {
    await sleep(ms);
    for (let before = await look(); ; ) {
      await sleep(CALM_MS);
      const now = await look();
      if (now === before) return;
      before = now;
    }
  },
};
/**
 * Plays some stories until every controller has started. Otherwise a controller that starts late would be missing
 * in the first recorded stories.
 */
async function warmUp(): Promise<void> {
  for (const name of ["deployment-defaults", "statefulset-parallel", "job-one"]) {
    const story = STORIES.find((one) => one.name === name);
    if (story === undefined) throw new Error(`no story ${name}`);
    const steps = story.steps.slice(
      0,
      story.steps.findIndex((step) => "ready" in step),
    );
    for (let attempt = 0; ; attempt++) {
      const told = await tell(stage, { name: `warm-up-${attempt}-${name}`, steps });
      if (told.at(-1)?.some((line) => line.startsWith("pod ")) === true) break;
    }
  }
}

try {
  await stage.transport.send({
    method: "POST",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    headers: { "content-type": "application/json" },
    body: METRICS_KIND,
  });
  await warmUp();
  const { stories } = JSON.parse(readFileSync(RECORDING, "utf8")) as Told;
  const told: Record<string, readonly string[][]> = {};
  const waiting = STORIES.filter(
    ({ name }) => prefixes.length === 0 || prefixes.some((one) => name.startsWith(one)),
  );
  const tellNext = async (): Promise<void> => {
    for (let story = waiting.shift(); story !== undefined; story = waiting.shift()) {
      told[story.name] = await tell(stage, story);
      process.stdout.write(`${story.name}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, tellNext));
  const all = Object.fromEntries(
    STORIES.map(({ name }) => [name, told[name] ?? stories[name] ?? []]),
  );
  const recording = { kubernetes: kubernetesVersion(), stories: all };
  writeFileSync(RECORDING, `${JSON.stringify(recording, undefined, 1)}\n`);
} finally {
  await plane.stop();
  rmSync(directory, { recursive: true });
}
