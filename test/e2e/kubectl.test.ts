/**
 * What users type, with the kubectl they have, against one live sandbox with Karpenter. The newest installed
 * version runs every verb; each older one runs the most important ones. The output is compared with that of a real
 * cluster. Without kubectl, the tests are skipped and a line says so.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../programs.ts";
import { type FoundKubectl, findKubectls, type Kubectl, kubectlOf } from "./kubectl-client.ts";
import { type LiveSandbox, startLiveSandbox } from "./live-sandbox.ts";
import { stage } from "./stage.ts";

const kubectls = await findKubectls();
const [newest] = kubectls;
/** Plain `npm test` uses the newest and the oldest version; `npm run test:kubectl` uses each. */
const asked =
  process.env["EVERY_KUBECTL"] === undefined && kubectls.length > 2
    ? [kubectls[0] as FoundKubectl, kubectls.at(-1) as FoundKubectl]
    : kubectls;
if (newest === undefined) {
  process.stderr.write(
    "test/e2e: kubectl is not on PATH nor in KUBECTL_DIRS, skipping its tests\n",
  );
}
/** `kubectl diff` needs the program `diff`. */
const noDiff = newest !== undefined && lacks("test/e2e/kubectl", "diff");

const NODEPOOL = "examples/v1/nodepool.yaml";
const INFLATE = "examples/inflate.yaml";
/** A Deployment of two pods that fit beside the DaemonSet pods of the sandbox's two first nodes. */
const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: web
          image: nginx:1.27
          resources: {requests: {cpu: 100m, memory: 64Mi}}
`;
/** An editor that replaces its second argument by its third. */
const EDITOR = `
import { readFileSync, writeFileSync } from "node:fs";
const [, , from, to, file] = process.argv;
writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
`;

let sandbox: LiveSandbox;
let k: Kubectl;

beforeAll(async () => {
  if (newest === undefined) return;
  sandbox = await startLiveSandbox();
  k = kubectlOf(newest, sandbox);
  sandbox.file("web.yaml", WEB);
  sandbox.file("editor.mjs", EDITOR);
  sandbox.file(
    "strict.yaml",
    WEB.replace("replicas:", "replicaz:").replace("name: web", "name: odd"),
  );
});

afterAll(async () => {
  await sandbox?.close();
});

function inFolder(name: string): string {
  return `${sandbox.folder}/${name}`;
}

/** Environment in which `kubectl edit` replaces one text by another. */
function editing(from: string, to: string): { readonly env: Record<string, string> } {
  const script = inFolder("editor.mjs");
  return { env: { KUBE_EDITOR: `${process.execPath} ${script} '${from}' '${to}'` } };
}

/** Applies a pool, its class and a Deployment; resolves to kubectl's output. */
const applied = stage(() => k.ok(`apply -f ${NODEPOOL} -f ${INFLATE}`));

/** Runs five pods of the Deployment on a node of the pool; resolves to kubectl's output, that of a watch included. */
const running = stage(async () => {
  await applied();
  const watch = k.follow("get nodeclaims -w");
  const scaled = await k.ok("scale deployment inflate --replicas=5");
  const rolledOut = await k.ok("rollout status deployment inflate --timeout=20s");
  await watch.sees(/^default-\w+ +\S+\.\S+ +spot +us-west-2\w +ip-\S+ +True +\S+$/m);
  await watch.interrupt();
  return { scaled, rolledOut, watched: watch.text() };
});

/** Creates a namespace with a Deployment of two pods; resolves to kubectl's output. */
const played = stage(async () => {
  const namespace = await k.ok("create namespace play");
  const deployment = await k.ok(`-n play create -f ${inFolder("web.yaml")} --save-config`);
  const rolledOut = await k.ok("-n play rollout status deploy/web");
  return { namespace, deployment, rolledOut };
});

describe.skipIf(newest === undefined)("kubectl against a sandbox with a pool of nodes", () => {
  it("finds the cluster like a real one", async () => {
    expect(await k.ok("version")).toMatch(/Server Version: v1\.34\./);
    expect(await k.ok("cluster-info")).toContain("Kubernetes control plane is running at https://");
    expect(await k.ok("get all")).toMatch(/service\/kubernetes +ClusterIP +\S+ +<none> +443\/TCP/);
    const resources = await k.ok("api-resources");
    expect(resources).toMatch(
      /^ec2nodeclasses +ec2nc,ec2ncs +karpenter.k8s.aws\/v1 +false +EC2NodeClass$/m,
    );
    expect(resources).toMatch(/^provisioners +karpenter.sh\/v1alpha5 +false +Provisioner$/m);
    expect(resources).toMatch(/^pods +po +v1 +true +Pod$/m);
    expect(await k.ok("api-versions")).toMatch(/^karpenter\.sh\/v1beta1$/m);
    expect(await k.ok("api-resources --categories=karpenter -o name")).toContain(
      "machines.karpenter.sh",
    );
    expect(await k.ok("get --raw /readyz")).toBe("ok");
    expect(await k.ok("get nodes -o wide")).toMatch(/Ready +<none> +\S+ .*containerd:\/\//);
    expect(await k.ok("get namespaces -o name")).toContain("namespace/kube-system");
    expect(await k.ok("auth can-i create pods")).toBe("yes\n");
    expect(await k.ok("auth whoami")).toMatch(/Username +system:admin/);
    expect(await k.ok("top nodes")).toMatch(/^NAME +CPU\(cores\) +CPU\S+ +MEMORY\(bytes\)/);
  });

  it("shows resource usage, and an autoscaler that reacts to it", async () => {
    await k.ok(`apply -f ${inFolder("web.yaml")}`);
    await k.ok("rollout status deployment web --timeout=20s");
    await k.ok("annotate deployment web karpenter-ts.sandbox/cpu-load=150m");
    const deadline = Date.now() + 60_000;
    let top = "";
    while (!/^web-\S+ +75m +32Mi/m.test(top) && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      top = (await k.run("top pods -l app=web")).out;
    }
    expect(top).toMatch(/^NAME +CPU\(cores\) +MEMORY\(bytes\) *\n(web-\S+ +75m +32Mi *\n){2}/);
    expect(await k.ok("top pods --containers -l app=web")).toMatch(/^web-\S+ +web +75m +32Mi/m);
    expect(await k.ok("top nodes")).toMatch(/^ip-\S+ +\d+m +\d+% +\d+Mi +\d+%/m);
    await k.ok("autoscale deployment web --cpu-percent=50 --min=2 --max=3");
    await k.ok("wait --for=jsonpath={.spec.replicas}=3 deployment/web --timeout=60s");
    await k.ok("wait --for=condition=ScalingActive hpa/web --timeout=60s");
    expect(await k.ok("get hpa web")).toMatch(/^web +Deployment\/web +(?:cpu: )?\d+%\/50% +2 +3 /m);
    const told = await k.ok("describe hpa web");
    expect(told).toMatch(/ScalingActive +True +ValidMetricFound/);
    expect(told).toContain("New size: 3; reason: cpu resource utilization");
    await k.ok("delete hpa/web deployment/web");
  });

  it("applies on the client and on the server, twice, and reports what changes", async () => {
    const made = await applied();
    expect(made).toContain("nodepool.karpenter.sh/default created");
    expect(made).toContain("ec2nodeclass.karpenter.k8s.aws/default created");
    expect(made).toContain("deployment.apps/inflate created");
    expect(await k.ok(`apply -f ${NODEPOOL}`)).toBe(
      "nodepool.karpenter.sh/default unchanged\nec2nodeclass.karpenter.k8s.aws/default unchanged\n",
    );
    if (!noDiff) expect(await k.ok(`diff -f ${NODEPOOL}`)).toBe("");
    const served = await k.ok(`apply --server-side -f ${NODEPOOL}`);
    expect(served).toContain("nodepool.karpenter.sh/default serverside-applied");
    const twice = await k.fails(`create -f ${NODEPOOL}`);
    expect(twice).toContain(
      `Error from server (AlreadyExists): error when creating "${NODEPOOL}": nodepools.karpenter.sh "default" already exists`,
    );
    expect(await k.fails(`-f ${NODEPOOL} create`)).toBe(twice);
    const other = `apply --server-side --field-manager=other -f -`;
    const stdin = `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {limits: {cpu: 5}}}`;
    const conflict = await k.fails(other, { stdin });
    expect(conflict).toMatch(
      /Apply failed with 1 conflict: conflict with "kubectl".*: \.spec\.limits\.cpu/,
    );
    expect(conflict).toContain("--force-conflicts");
    const forced = `${other} --force-conflicts --dry-run=server`;
    expect(await k.ok(forced, { stdin })).toContain("serverside-applied (server dry run)");
  });

  it("shows new nodes in a watch that Ctrl-C ends", async () => {
    const { scaled, rolledOut, watched } = await running();
    expect(scaled).toBe("deployment.apps/inflate scaled\n");
    expect(rolledOut).toMatch(/deployment "inflate" successfully rolled out\n$/);
    expect(watched).toMatch(/^NAME +TYPE +CAPACITY +ZONE +NODE +READY +AGE/);
    expect(watched).not.toMatch(/error/i);
    expect(await k.ok("get karpenter")).toMatch(/nodeclaim.karpenter.sh\/default-\w+ .* True/);
    expect(await k.ok("get nodeclaims,nodes,pods")).toMatch(/pod\/inflate-\S+ +1\/1 +Running +0/);
    const waited = await k.ok(
      "wait --for=condition=Ready nodepool/default ec2nc/default --timeout=5s",
    );
    expect(waited).toContain("nodepool.karpenter.sh/default condition met");
  });

  it("describes objects with their conditions and events", async () => {
    await running();
    const pool = await k.ok("describe nodepool default");
    expect(pool).toMatch(/Reason: +NodeClassReady\n/);
    expect(pool).toMatch(/Events:\n +Type +Reason +Age +From +Message\n(.*\n)* +Normal +Ready +/);
    const node = await k.ok("describe node -l karpenter.sh/nodepool=default");
    expect(node).toMatch(/^Non-terminated Pods: +\(\d+ in total\)$/m);
    expect(node).toMatch(/^ {2}default +inflate-\S+ +1 \(\d+%\) +0 \(0%\) +1536Mi \(\d+%\)/m);
    expect(node).toMatch(/^Allocated resources:\n(.*\n){3} {2}cpu +\d+m? \(\d+%\)/m);
    expect(node).toMatch(/^ {2}Normal +NodeReady +/m);
    expect(node).toMatch(/^ProviderID: +aws:\/\/\/us-west-2\w\/i-\w+$/m);
    const pod = await k.ok("describe pod -l app=inflate");
    expect(pod).toMatch(/^Controlled By: +ReplicaSet\/inflate-\w+$/m);
    expect(pod).toMatch(
      /Scheduled .*Successfully assigned default\/\S+ to \S+\n.*Pulled .*\n.*Created .*\n.*Started container inflate/,
    );
    expect(await k.ok("describe deployment inflate")).toMatch(
      /^Replicas: +5 desired \| 5 updated \| 5 total \| 5 available \| 0 unavailable$/m,
    );
    expect(await k.ok("describe ns default")).toMatch(/^Status: +Active$/m);
    expect(await k.ok("get events")).toMatch(/^\S+ +Normal +Launched +nodeclaim\/default-/m);
    expect(await k.ok("events --for nodepool/default")).toContain("NodePool/default");
    expect(await k.ok("get events -A --field-selector reason=NodeReady")).toMatch(
      / NodeReady +node\//,
    );
  });

  it("finds objects by short names, full names and labels, in any output format", async () => {
    await running();
    for (const name of ["nodepool", "nodepools.karpenter.sh", "nodepool.v1beta1.karpenter.sh"]) {
      expect(await k.ok(`get ${name} -o name`)).toBe("nodepool.karpenter.sh/default\n");
    }
    expect(await k.ok("get po,deploy,rs,no,ec2nc -o name")).toMatch(
      /ec2nodeclass.karpenter.k8s.aws\/default/,
    );
    expect(await k.ok("get provisioners.karpenter.sh,awsnodetemplates,machines")).toBe("");
    const owned = await k.ok("get nodes -l karpenter.sh/nodepool -o name");
    const others = await k.ok("get nodes -l '!karpenter.sh/nodepool' -o name");
    expect(owned.trim().split("\n")).toHaveLength(1);
    expect(others.trim().split("\n")).toHaveLength(2);
    expect(await k.ok("get pods -l 'app in (inflate, other),app!=none' --no-headers")).toMatch(
      /^(inflate-.*\n){5}$/,
    );
    expect(await k.ok("get nodes -L topology.kubernetes.io/zone --show-kind")).toMatch(
      /VERSION +ZONE/,
    );
    expect(await k.ok("get deploy inflate -o jsonpath='{.spec.replicas}'")).toBe("5");
    expect(
      await k.ok("get nodepools -o custom-columns=NAME:.metadata.name,CPU:.spec.limits.cpu"),
    ).toBe("NAME      CPU\ndefault   2000\n");
    const yaml = await k.ok("get nodepool default -o yaml");
    expect(yaml).toMatch(/^apiVersion: karpenter.sh\/v1\nkind: NodePool\n/);
    expect(yaml).not.toContain("managedFields");
    expect(await k.ok("get nodepool default -o yaml --show-managed-fields")).toContain(
      "manager: kubectl",
    );
    expect(await k.ok("get nodeclaims -o yaml --show-managed-fields")).toContain(
      "manager: karpenter\n",
    );
    const json = JSON.parse(await k.ok("get nodepools.v1beta1.karpenter.sh -o json")) as {
      items: { apiVersion: string }[];
    };
    expect(json.items.map((item) => item.apiVersion)).toEqual(["karpenter.sh/v1beta1"]);
    expect(await k.ok("get deploy inflate --subresource=scale")).toMatch(
      /^NAME +DESIRED +AVAILABLE +AGE\ninflate +5 +5 +\d/,
    );
    expect(await k.ok("get deploy -o wide")).toMatch(/CONTAINERS +IMAGES +SELECTOR\n/);
    expect(await k.ok("get pods --sort-by=.metadata.name -o wide")).toMatch(
      /NOMINATED NODE +READINESS GATES\n/,
    );
    expect(await k.fails("get pods nope")).toBe(
      'Error from server (NotFound): pods "nope" not found\n',
    );
    expect(await k.fails("get foo")).toBe(
      'error: the server doesn\'t have a resource type "foo"\n',
    );
  });

  it("explains fields of any API version", async () => {
    expect(await k.ok("explain nodepool.spec.disruption.budgets")).toMatch(
      /^GROUP: +karpenter.sh\nKIND: +NodePool\nVERSION: +v1\n\nFIELD: budgets <\[\]Object>/,
    );
    expect(await k.ok("explain nodepool --api-version=karpenter.sh/v1beta1")).toMatch(
      /^VERSION: +v1beta1$/m,
    );
    expect(await k.ok("explain provisioner.spec.ttlSecondsAfterEmpty")).toContain("<integer>");
    expect(await k.ok("explain pod.spec.tolerations")).toMatch(/^ {2}effect\t<string>/m);
    expect(await k.ok("explain deployment --recursive")).toMatch(/^ +topologySpreadConstraints\t/m);
    expect(await k.fails("explain nodepool.spec.nope")).toContain('field "nope" does not exist');
  });

  it("prints the logs of pods", async () => {
    await running();
    expect(await k.ok("-n karpenter logs karpenter-0 --tail=1")).toMatch(/^[^\n]+\n$/);
    const all = await k.ok("logs -l app=inflate --tail=1 --prefix");
    expect(all.trim().split("\n")).toHaveLength(5);
    expect(await k.ok("logs deploy/inflate")).toContain("started container inflate");
    const log = k.follow("-n karpenter logs karpenter-0 -f --tail=1");
    await log.sees(/\n/);
    await log.interrupt();
    expect(await k.fails("exec deploy/inflate -- ls")).toContain("the sandbox runs no containers");
  });

  it("refuses misspelt fields where kube-apiserver does, and in its words", async () => {
    await applied();
    const file = inFolder("strict.yaml");
    expect(await k.fails(`apply -f ${file}`)).toBe(
      `Error from server (BadRequest): error when creating "${file}": Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.replicaz"\n`,
    );
    const warned = await k.run(`create --validate=warn --dry-run=server -f ${file}`);
    expect(warned.err).toBe('Warning: unknown field "spec.replicaz"\n');
    expect(warned.out).toBe("deployment.apps/odd created (server dry run)\n");
    expect(await k.fails(`apply --server-side -f ${file}`)).toBe(
      "Error from server: failed to create typed patch object (default/odd; apps/v1, Kind=Deployment): .spec.replicaz: field not declared in schema\n",
    );
    const pool = `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {weight: 101, limitz: {}}}`;
    expect(await k.fails("apply -f -", { stdin: pool })).toContain(
      'strict decoding error: unknown field "spec.limitz"',
    );
    const heavy = await k.fails(
      'patch nodepool default --type=merge -p \'{"spec":{"weight":101}}\'',
    );
    expect(heavy).toBe(
      'The NodePool "default" is invalid: spec.weight: Invalid value: 101: spec.weight in body should be less than or equal to 100\n',
    );
    expect(await k.fails("scale deployment inflate --replicas=-1")).toMatch(
      /must be .*0|greater than or equal to 0/,
    );
  });
});

describe.skipIf(newest === undefined)("kubectl with workloads in a sandbox", () => {
  it("creates, changes and rolls out a Deployment", async () => {
    const { namespace, deployment, rolledOut } = await played();
    expect(namespace).toBe("namespace/play created\n");
    expect(await k.fails("create namespace play")).toBe(
      'Error from server (AlreadyExists): namespaces "play" already exists\n',
    );
    expect(deployment).toBe("deployment.apps/web created\n");
    expect(rolledOut).toContain("successfully rolled out");
    expect(await k.ok("-n play set image deploy/web web=nginx:1.28")).toBe(
      "deployment.apps/web image updated\n",
    );
    expect(await k.ok("-n play rollout status deploy/web")).toContain("successfully rolled out");
    expect(await k.ok("-n play rollout history deploy/web")).toMatch(/^1 +<none>\n2 +<none>$/m);
    expect(await k.ok("-n play rollout undo deploy/web")).toBe("deployment.apps/web rolled back\n");
    expect(await k.ok("-n play rollout restart deploy/web")).toBe(
      "deployment.apps/web restarted\n",
    );
    expect(await k.ok("-n play rollout status deploy/web")).toContain("successfully rolled out");
    expect(
      await k.ok("-n play get deploy web -o jsonpath='{.spec.template.spec.containers[0].image}'"),
    ).toBe("nginx:1.27");
    const waited =
      "-n play wait --for=jsonpath='{.status.readyReplicas}'=2 deploy/web --timeout=5s";
    expect(await k.ok(waited)).toBe("deployment.apps/web condition met\n");
    expect(await k.ok("-n play wait --for=condition=Available deploy/web")).toContain(
      "condition met",
    );
    expect(await k.ok("-n play get deploy,rs,pods")).toMatch(/deployment.apps\/web +2\/2 +2 +2 /);
  });

  it("patches with each patch type, and edits", async () => {
    await played();
    const patch = (type: string, body: string): Promise<string> =>
      k.ok(`-n play patch deploy web --type=${type} -p '${body}'`);
    const three = '{"spec":{"replicas":3}}';
    expect(await patch("strategic", three)).toBe("deployment.apps/web patched\n");
    expect(await patch("merge", three)).toBe("deployment.apps/web patched (no change)\n");
    const replace = '[{"op":"replace","path":"/spec/replicas","value":2}]';
    expect(await patch("json", replace)).toBe("deployment.apps/web patched\n");
    const scaled =
      '-n play patch deploy web --subresource=scale --type=merge -p \'{"spec":{"replicas":1}}\'';
    expect(await k.ok(scaled)).toMatch(/patched\n$/);
    expect(await k.ok("-n play edit deploy web", editing("replicas: 1", "replicas: 2"))).toBe(
      "deployment.apps/web edited\n",
    );
    const same = await k.run("-n play edit deploy web", editing("no such text", ""));
    expect(same).toMatchObject({ code: 0, err: "Edit cancelled, no changes made.\n" });
    // An invalid edit opens the editor again; this editor then leaves the file unchanged, so kubectl gives up.
    const wrong = await k.run("-n play edit deploy web", editing("replicas: 2", "replicas: many"));
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain("Edit cancelled, no valid changes were saved.");
    expect(await k.ok("-n play get deploy web -o jsonpath='{.spec.replicas}'")).toBe("2");
  });

  it("labels, annotates, taints and cordons", async () => {
    await played();
    const node = (await k.ok("get nodes -l '!karpenter.sh/nodepool' -o name")).split(
      "\n",
    )[0] as string;
    expect(await k.ok(`label ${node} tier=front`)).toBe(`${node} labeled\n`);
    expect(await k.fails(`label ${node} tier=back`)).toContain("--overwrite is false");
    expect(await k.ok(`label ${node} tier-`)).toBe(`${node} unlabeled\n`);
    expect(await k.ok("-n play annotate deploy web note=hi")).toBe(
      "deployment.apps/web annotated\n",
    );
    expect(await k.ok("-n play annotate deploy web note=ho --overwrite")).toContain("annotated");
    expect(await k.ok(`taint ${node.replace("/", " ")} team=a:NoSchedule`)).toBe(
      `${node} tainted\n`,
    );
    expect(await k.fails(`taint ${node.replace("/", " ")} team=a:NoSchedule`)).toContain(
      "already has team taint",
    );
    expect(await k.ok(`taint ${node.replace("/", " ")} team-`)).toBe(`${node} untainted\n`);
    expect(await k.ok(`cordon ${node}`)).toBe(`${node} cordoned\n`);
    expect(await k.ok(`get ${node}`)).toMatch(/Ready,SchedulingDisabled/);
    expect(await k.ok(`cordon ${node}`)).toBe(`${node} already cordoned\n`);
    expect(await k.ok(`uncordon ${node}`)).toBe(`${node} uncordoned\n`);
    expect(await k.fails(`label ${node} 'a b=c'`)).toMatch(
      /name part must consist of alphanumeric/,
    );
  });

  it("accepts manifests of every generation of Karpenter's API", async () => {
    const files: readonly (readonly [string, string])[] = [
      ["v1beta1/nodepool", "nodepool.karpenter.sh/default"],
      ["v1alpha5/provisioner", "provisioner.karpenter.sh/custom"],
      ["v0.5/provisioner", "provisioner.karpenter.sh/default"],
    ];
    for (const [file, object] of files) {
      const text = readFileSync(new URL(`../../examples/${file}.yaml`, import.meta.url), "utf8");
      const stdin = text.replaceAll(/\$\{CLUSTER_NAME\}/g, "karpenter-demo");
      // For the first file, a pool of the same name exists already, created as v1.
      expect(await k.ok("apply -f -", { stdin })).toMatch(
        new RegExp(`^${object} (created|configured)$`, "m"),
      );
      expect(await k.ok("get -f - -o name", { stdin })).toContain(object);
      if (!file.startsWith("v1beta1")) await k.ok("delete -f - --timeout=10s", { stdin });
    }
    expect(await k.ok("get nodepools.v1beta1.karpenter.sh default -o yaml")).toContain(
      "consolidationPolicy: WhenUnderutilized",
    );
    expect(await k.ok(`apply -f ${NODEPOOL}`)).toContain(
      "nodepool.karpenter.sh/default configured",
    );
  });

  it("creates the small kinds with its create commands", async () => {
    await played();
    expect(await k.ok("-n play create configmap one --from-literal=a=b")).toBe(
      "configmap/one created\n",
    );
    expect(await k.ok("-n play create secret generic one --from-literal=a=b")).toBe(
      "secret/one created\n",
    );
    expect(await k.ok("-n play create serviceaccount bot")).toBe("serviceaccount/bot created\n");
    expect(await k.ok("-n play create job once --image=busybox")).toBe("job.batch/once created\n");
    expect(await k.ok("-n play run one --image=busybox --restart=Never")).toBe("pod/one created\n");
    expect(await k.ok("-n play expose deploy web --port=80")).toBe("service/web exposed\n");
    expect(await k.ok("-n play describe svc web")).toMatch(/^Selector: +app=web$/m);
    expect(await k.ok("-n play create token bot")).toMatch(/^\S+$/);
    const pdb = "-n play create pdb web --selector=app=web --max-unavailable=1";
    expect(await k.ok(pdb)).toBe("poddisruptionbudget.policy/web created\n");
    expect(await k.ok("-n play get pdb web")).toMatch(/^web +N\/A +1 +[01] +/m);
    expect(await k.ok("-n play describe pdb web")).toMatch(/^Max unavailable: +1$/m);
    const replaced = await k.ok(
      "-n play create configmap one --from-literal=a=c --dry-run=client -o yaml",
    );
    expect(await k.ok("-n play replace -f -", { stdin: replaced })).toBe(
      "configmap/one replaced\n",
    );
  });

  it("deletes with each kind of cascade, and deletes namespaces with their objects", async () => {
    await k.ok("create namespace going");
    await k.ok(`-n going create -f ${inFolder("web.yaml")}`);
    await k.ok("-n going create job once --image=busybox");
    await k.ok("-n going run one --image=busybox --restart=Never");
    await k.ok("-n going rollout status deploy/web");
    expect(await k.ok("-n going delete deploy web --cascade=orphan")).toMatch(
      /^deployment.apps "web" deleted/,
    );
    const left = await k.ok("-n going get rs,pods -l app=web -o name");
    expect(left).toMatch(/^replicaset.apps\/web-/);
    expect(left).toMatch(/^pod\/web-/m);
    await k.ok("-n going delete rs -l app=web --cascade=foreground");
    expect(await k.ok("-n going get rs,pods -l app=web -o name")).toBe("");
    await k.ok("-n going delete job once --cascade=background");
    expect(await k.ok("-n going delete pod one --now")).toMatch(/^pod "one" deleted/);
    expect(await k.fails("-n going delete pod one")).toBe(
      'Error from server (NotFound): pods "one" not found\n',
    );
    expect(await k.ok("-n going delete pod one --ignore-not-found")).toBe("");
    expect(await k.ok("delete namespace going --timeout=10s")).toBe('namespace "going" deleted\n');
    expect(await k.fails("get namespace going")).toContain('namespaces "going" not found');
  });

  it("deletes by file, and a pool's nodes with the pool", async () => {
    await running();
    expect(await k.ok(`delete -f ${INFLATE} -f ${NODEPOOL} --timeout=15s`)).toMatch(
      /^deployment.apps "inflate" deleted.*\nnodepool.karpenter.sh "default" deleted.*\nec2nodeclass.karpenter.k8s.aws "default" deleted/,
    );
    applied.forget();
    running.forget();
    await k.ok("wait --for=delete nodeclaims --all --timeout=10s");
    expect(await k.ok("get nodes -l karpenter.sh/nodepool -o name")).toBe("");
  });
});

describe.skipIf(newest === undefined)("each supported kubectl", () => {
  it.each(asked)("$version does the daily tasks of users", async (found) => {
    const user = kubectlOf(found, sandbox);
    const space = `v${found.version.replace(".", "-")}`;
    const here = `-n ${space}`;
    const file = inFolder("web.yaml");
    expect(await user.ok(`create namespace ${space}`)).toBe(`namespace/${space} created\n`);
    expect(await user.ok(`${here} apply -f ${file}`)).toBe("deployment.apps/web created\n");
    expect(await user.ok(`${here} apply -f ${file}`)).toBe("deployment.apps/web unchanged\n");
    expect(await user.ok(`${here} apply --server-side -f ${file}`)).toBe(
      "deployment.apps/web serverside-applied\n",
    );
    const watch = user.follow(`${here} get pods -w`);
    expect(await user.ok(`${here} rollout status deploy/web`)).toContain("successfully rolled out");
    expect(await user.ok(`${here} create deployment spare --image=nginx --replicas=0`)).toBe(
      "deployment.apps/spare created\n",
    );
    expect(await user.ok(`${here} edit deploy web`, editing("replicas: 2", "replicas: 3"))).toBe(
      "deployment.apps/web edited\n",
    );
    expect(await user.ok("explain nodepool.spec.limits")).toContain("FIELD: limits <");
    expect(await user.ok(`${here} describe deploy web`)).toMatch(/^Replicas: +3 desired/m);
    await drainWithBudget(user, here);
    await watch.sees(/Running/);
    await watch.interrupt();
    expect(await user.ok(`delete namespace ${space} --wait=false`)).toBe(
      `namespace "${space}" deleted\n`,
    );
  });
});

/** Checks a drain that a budget blocks, and that continues when the budget is deleted. */
async function drainWithBudget(user: Kubectl, here: string): Promise<void> {
  await user.ok(`${here} create pdb web --selector=app=web --min-available=100%`);
  const node = await user.ok(`${here} get pods -l app=web -o jsonpath='{.items[0].spec.nodeName}'`);
  expect(await user.fails(`drain ${node}`)).toContain("cannot delete DaemonSet-managed Pods");
  const blocked = user.follow(`drain ${node} --ignore-daemonsets --force`);
  await blocked.sees(
    /error when evicting pods?\/"web-\S+" -n "v1-\d+" \(will retry after 5s\): Cannot evict pod as it would violate the pod's disruption budget\./,
  );
  await blocked.interrupt();
  await user.ok(`${here} delete pdb web`);
  expect(await user.ok(`drain ${node} --ignore-daemonsets --force`)).toContain(
    `node/${node} drained`,
  );
  await user.ok(`uncordon ${node}`);
}
