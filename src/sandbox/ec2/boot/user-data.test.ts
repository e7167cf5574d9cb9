import { describe, expect, it } from "vitest";
import type { BootResult, ImageFamily } from "./user-data.ts";
import { decodeUserData } from "./user-data.ts";

function boot(family: ImageFamily, text: string): BootResult {
  return decodeUserData(family, Buffer.from(text).toString("base64"));
}

function mime(...parts: readonly [type: string, body: string][]): string {
  const pieces = parts.map(([type, body]) => `--//\nContent-Type: ${type}\n\n${body}\n`);
  return `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n${pieces.join("")}--//--\n`;
}

const SHELL = 'text/x-shellscript; charset="us-ascii"';
const NODEADM = "application/node.eks.aws";

const BOOTSTRAP = `#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
/etc/eks/bootstrap.sh 'demo' --apiserver-endpoint 'https://x' --b64-cluster-ca 'Y2E=' \\
--dns-cluster-ip '10.100.0.10' \\
--use-max-pods false \\
--kubelet-extra-args '--node-labels="a=1,b=" --register-with-taints="t=v:NoSchedule,u:NoExecute" --max-pods=29 --kube-reserved="cpu=100m,memory=1Gi" --eviction-hard="memory.available<5%"'`;

describe("user data of a booting instance", () => {
  it("moves pods to the instance's own disks, in the form of each operating system", () => {
    const cluster = "spec:\n  cluster:\n    name: demo\n    apiServerEndpoint: https://x\n";
    const config = `apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n${cluster}`;
    const striped = `${config}  instance:\n    localStorage:\n      strategy: RAID0\n`;
    const toml = '[settings.kubernetes]\ncluster-name = "demo"\napi-server = "https://x"\n';
    const bind =
      '[settings.bootstrap-commands.a]\ncommands = [["apiclient", "ephemeral-storage", "bind"]]\n';
    const cases: readonly [ImageFamily, string, boolean | undefined][] = [
      ["AL2", `${BOOTSTRAP} --local-disks raid0`, true],
      ["AL2", BOOTSTRAP, undefined],
      ["AL2023", mime([NODEADM, striped]), true],
      ["AL2023", mime([NODEADM, striped.replace("RAID0", "Mount")]), false],
      ["AL2023", mime([NODEADM, config]), undefined],
      ["Bottlerocket", toml + bind, true],
      ["Bottlerocket", toml, undefined],
    ];
    for (const [family, text, raid0] of cases) {
      const result = boot(family, text);
      expect(result.ok && result.settings.raid0, `${family} ${text}`).toBe(raid0);
    }
  });

  it("of Amazon Linux 2 and Ubuntu reaches the kubelet through bootstrap.sh", () => {
    const expected = {
      ok: true,
      settings: {
        clusterName: "demo",
        apiServer: "https://x",
        labels: { a: "1", b: "" },
        taints: [
          { key: "t", value: "v", effect: "NoSchedule" },
          { key: "u", effect: "NoExecute" },
        ],
        maxPods: 29,
        kubeReserved: { cpu: "100m", memory: "1Gi" },
        systemReserved: {},
        evictionHard: { "memory.available": "5%" },
      },
    };
    const document = mime([SHELL, "#!/bin/bash\necho first"], [SHELL, BOOTSTRAP]);
    expect(boot("AL2", document)).toEqual(expected);
    expect(boot("Ubuntu", document.replaceAll("\n", "\r\n"))).toEqual(expected);
    expect(boot("Custom", BOOTSTRAP)).toEqual(expected);
  });

  it("of Amazon Linux 2023 merges NodeConfig documents, and later ones win", () => {
    const first = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {config: {maxPods: 5, evictionHard: {memory.available: 1Gi}}}}`;
    const second = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: demo, apiServerEndpoint: https://x, certificateAuthority: Y2E=, cidr: 10.100.0.0/16}
  kubelet:
    config: {maxPods: 7, registerWithTaints: [{key: t, effect: NoExecute}]}
    flags: ['--node-labels="a=1,b=2"']`;
    expect(boot("AL2023", mime([NODEADM, first], [SHELL, "#!/bin/sh"], [NODEADM, second]))).toEqual(
      {
        ok: true,
        settings: {
          clusterName: "demo",
          apiServer: "https://x",
          labels: { a: "1", b: "2" },
          taints: [{ key: "t", effect: "NoExecute" }],
          maxPods: 7,
          kubeReserved: {},
          systemReserved: {},
          evictionHard: { "memory.available": "1Gi" },
        },
      },
    );
    expect(boot("AL2023", mime([NODEADM, first]))).toMatchObject({ ok: false });
  });

  it("of Bottlerocket is TOML", () => {
    const text = `[settings.kubernetes]
cluster-name = 'demo'
api-server = 'https://x'
max-pods = 11
[settings.kubernetes.node-labels]
"a" = "1"
[settings.kubernetes.node-taints]
t = ["v:NoSchedule", ":NoExecute"]
[settings.kubernetes.eviction-hard]
"memory.available" = "10%"`;
    expect(boot("Bottlerocket", text)).toMatchObject({
      ok: true,
      settings: {
        clusterName: "demo",
        labels: { a: "1" },
        taints: [
          { key: "t", value: "v", effect: "NoSchedule" },
          { key: "t", effect: "NoExecute" },
        ],
        maxPods: 11,
        evictionHard: { "memory.available": "10%" },
      },
    });
    expect(boot("Bottlerocket", "settings = [")).toMatchObject({ ok: false });
  });

  it("of Windows is PowerShell", () => {
    const text = `<powershell>
[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"
& $EKSBootstrapScriptFile -EKSClusterName 'demo' -APIServerEndpoint 'https://x' -KubeletExtraArgs '--node-labels="a=1" --max-pods=110'
</powershell>`;
    expect(boot("Windows2022", text)).toMatchObject({
      ok: true,
      settings: { clusterName: "demo", labels: { a: "1" }, maxPods: 110 },
    });
  });

  it.each([
    ["no user data at all", "", "starts no kubelet"],
    ["a script without bootstrap", "#!/bin/bash\necho hi", "starts no kubelet"],
    ["a label only the control plane may set", flags("--node-labels=x.k8s.io/a=b"), "x.k8s.io/a"],
    ["an unknown taint effect", flags("--register-with-taints=a=b:Never"), "Never"],
    ["a bad pod limit", flags("--max-pods=many"), "--max-pods"],
  ])("with %s starts no kubelet, and gives the reason", (_case, text, problem) => {
    const result = boot("AL2", text);
    expect(result).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
  });
});

function flags(text: string): string {
  return `#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '${text}'`;
}
