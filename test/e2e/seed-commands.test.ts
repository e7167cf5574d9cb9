/**
 * The command lines of seeds S0 and S1, as written, with a real kubectl against a live sandbox. Skipped without
 * kubectl. test/seeds tests the effects of the commands, without kubectl too.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findKubectls, type Kubectl, kubectlOf } from "./kubectl-client.ts";
import { type LiveSandbox, startLiveSandbox } from "./live-sandbox.ts";
import { stage } from "./stage.ts";

const [newest] = await findKubectls();
const SEEDS = fileURLToPath(new URL("../fixtures/seeds/", import.meta.url));

let sandbox: LiveSandbox;
let k: Kubectl;

beforeAll(async () => {
  if (newest === undefined) return;
  sandbox = await startLiveSandbox();
  k = kubectlOf(newest, sandbox);
});

afterAll(async () => {
  await sandbox?.close();
});

/** A seed's file after `envsubst`. */
function seedFile(name: string): string {
  const text = readFileSync(SEEDS + name, "utf8").replaceAll(
    "${" + "CLUSTER_NAME}",
    "karpenter-demo",
  );
  return sandbox.file(name, text);
}

/** Creates the Ubuntu template and its provisioner; resolves to kubectl's output for each. */
const created = stage(async () => [
  await k.ok(`create -f ${seedFile("s0-03-custom_ami_node_template.yaml")}`),
  await k.ok(`-f ${seedFile("s0-04-custom_karpenter_provisioner.yaml")} create`),
]);

/** Runs an application on nodes of that provisioner. */
const deployed = stage(async () => {
  await created();
  await k.ok(`apply -f ${seedFile("s0-05-basic-deploy.yaml")}`);
  await k.ok("rollout status deployment inflate --timeout=30s");
});

describe.skipIf(newest === undefined)("the commands of seed S0", () => {
  it("create the Ubuntu template and its provisioner, with flags before or after the verb (S0-21, S0-22, S0-27)", async () => {
    const template = seedFile("s0-03-custom_ami_node_template.yaml");
    expect(await created()).toEqual([
      "awsnodetemplate.karpenter.k8s.aws/custom created\n",
      "provisioner.karpenter.sh/custom created\n",
    ]);
    expect(await k.fails(`create -f ${template}`)).toContain("(AlreadyExists)");
    expect(await k.ok("get provisioners")).toMatch(/^NAME +TEMPLATE *\ncustom +custom *\n$/);
  });

  it("show the machine, its node and the controller's messages about it (S0-24, S0-28, S0-29, S0-36)", async () => {
    await deployed();
    expect(await k.ok("get pods -o name")).toMatch(/^(?:pod\/inflate-\S+\n){5}$/);
    expect(await k.ok("get nodes -l eks-immersion-team=default --no-headers")).toMatch(
      /^ip-\S+ +Ready +[^\n]*\n$/,
    );
    const log = await k.ok("-n karpenter logs -l app.kubernetes.io/name=karpenter");
    expect(log.split("\n").filter((line) => line.includes("controller.provisioner"))).not.toEqual(
      [],
    );
  });

  it("delete in the seed's order, and report not found the second time (S0-02, S0-03, S0-04, S0-37)", async () => {
    await deployed();
    created.forget();
    deployed.forget();
    expect(await k.ok("delete deployment inflate")).toContain('deployment.apps "inflate" deleted');
    expect(await k.ok("delete awsnodetemplates.karpenter.k8s.aws custom")).toContain("deleted");
    expect(await k.ok("delete provisioners.karpenter.sh custom")).toContain("deleted");
    expect(await k.fails("delete provisioners.karpenter.sh custom")).toContain("(NotFound)");
    await k.ok("wait --for=delete node -l eks-immersion-team=default --timeout=30s");
    expect(await k.ok("get machines", {})).toBe("");
  });

  it("apply provisioner and template from one file, then the application (S0-43, S0-52, S0-55, S0-56, S0-59)", async () => {
    const both = seedFile("s0-07-basic-deploy-blockdevice.yaml");
    expect(await k.ok(`apply -f ${both}`)).toBe(
      "provisioner.karpenter.sh/default created\nawsnodetemplate.karpenter.k8s.aws/default created\n",
    );
    // The webhook adds an entry to the provisioner's list, so kubectl sends a patch each time. The patch changes
    // nothing.
    expect(await k.ok(`apply -f ${both}`)).toContain(
      "awsnodetemplate.karpenter.k8s.aws/default unchanged",
    );
    expect(await k.ok("get provisioner default -o 'jsonpath={.metadata.generation}'")).toBe("1");
    const app = seedFile("s0-08-basic-app-deploy.yaml");
    await k.ok(`apply -f ${app}`);
    await k.ok("rollout status deployment inflate --timeout=30s");
    expect(await k.ok("get nodes -l eks-immersion-team=my-team --no-headers")).toMatch(
      /^ip-\S+ [^\n]*\n$/,
    );
    await k.ok(`delete -f ${app}`);
    await k.ok(`delete -f ${both}`);
    await k.ok("wait --for=delete node -l eks-immersion-team=my-team --timeout=30s");
  });
});

describe.skipIf(newest === undefined)("the commands of seed S1", () => {
  it("turn debug lines on while the controller runs (S1-27)", async () => {
    await k.ok(
      `patch configmap config-logging -n karpenter --patch '{"data":{"loglevel.controller":"debug"}}'`,
    );
    const log = k.follow("-n karpenter logs karpenter-0 -f");
    await log.sees(/Updating logging level for controller from info to debug\./);
    await log.interrupt();
  });

  it("scale inflate up and down (S1-35, S1-38)", async () => {
    await k.ok(`apply -f ${seedFile("s1-02-provisioner-RECONSTRUCTED.yaml")}`);
    await k.ok(`apply -f ${seedFile("s1-03-inflate-RECONSTRUCTED.yaml")}`);
    await k.ok("scale deployment inflate --replicas 10");
    await k.ok("rollout status deployment inflate --timeout=30s");
    const nodes = await k.ok("get node -l karpenter.sh/provisioner-name=default -o name");
    expect(nodes.trim().split("\n").length).toBeLessThanOrEqual(2);
    await k.ok("scale deployment inflate --replicas 0");
    await k.ok("wait --for=delete node -l karpenter.sh/provisioner-name=default --timeout=30s");
    const log = await k.ok("-n karpenter logs karpenter-0");
    expect(log).toMatch(/\tcontroller\.node\tAdded TTL to empty node\t/);
    expect(log).toMatch(/\tcontroller\.termination\tDeleted node\t/);
  });
});
