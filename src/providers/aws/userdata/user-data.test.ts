import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Bootstrap } from "./bootstrap.ts";
import { parseMime } from "./mime.ts";
import { userData } from "./user-data.ts";

const BASE: Bootstrap = {
  generation: "v1",
  clusterName: "demo",
  clusterEndpoint: "https://demo.example",
  caBundle: "Q0E=",
  clusterCidr: "10.100.0.0/16",
  dnsIp: "10.100.0.10",
  kubelet: undefined,
  maxPods: 29,
  labels: {
    team: "a",
    "karpenter.sh/nodepool": "default",
    "topology.kubernetes.io/zone": "us-east-1a",
    "node-restriction.kubernetes.io/x": "y",
  },
  taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }],
  raid0: false,
  custom: undefined,
};

describe("user data of AL2", () => {
  it("S0-11 calls bootstrap.sh with cluster, labels and taints", () => {
    expect(userData("AL2", { ...BASE, generation: "alpha" })).toMatchInlineSnapshot(`
      "MIME-Version: 1.0
      Content-Type: multipart/mixed; boundary="//"

      --//
      Content-Type: text/x-shellscript; charset="us-ascii"

      #!/bin/bash -xe
      exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
      /etc/eks/bootstrap.sh 'demo' --apiserver-endpoint 'https://demo.example' --b64-cluster-ca 'Q0E=' \\
      --container-runtime containerd \\
      --dns-cluster-ip '10.100.0.10' \\
      --use-max-pods false \\
      --kubelet-extra-args '--node-labels="karpenter.sh/nodepool=default,team=a" --register-with-taints="dedicated=gpu:NoSchedule" --max-pods=29'
      --//--
      "
    `);
  });

  it("S0-19 names no container runtime for Ubuntu", () => {
    expect(userData("Ubuntu", { ...BASE, generation: "alpha" })).not.toContain("container-runtime");
  });

  it("S0-50 has the user's script byte for byte before the bootstrap part", () => {
    const script = '#!/bin/bash -xe\nfor d in $(lsblk); do\r\n\techo "$d" > /data$N\ndone\n\n';
    const [user, ours, ...rest] = parseParts(userData("AL2", { ...BASE, custom: script }));
    expect(user).toBe(script);
    expect(ours).toContain("/etc/eks/bootstrap.sh");
    expect(rest).toEqual([]);
  });

  it("keeps the parts of the user's MIME document separate", () => {
    const custom = [
      "MIME-Version: 1.0",
      'Content-Type: multipart/mixed; boundary="BOUNDARY"',
      "",
      "--BOUNDARY",
      'Content-Type: text/cloud-config; charset="us-ascii"',
      "",
      "packages: [jq]",
      "--BOUNDARY",
      "Content-Type: text/x-shellscript",
      "",
      "echo two",
      "--BOUNDARY--",
      "",
    ].join("\r\n");
    const parts = parseMime(userData("AL2", { ...BASE, custom }));
    expect(parts.map((part) => part.headers[0])).toEqual([
      'Content-Type: text/cloud-config; charset="us-ascii"',
      "Content-Type: text/x-shellscript",
      'Content-Type: text/x-shellscript; charset="us-ascii"',
    ]);
    expect(parts[1]?.content.trimEnd()).toBe("echo two");
  });

  it("refuses MIME without a boundary, and names the field", () => {
    const custom = "Content-Type: text/x-shellscript\n\necho";
    expect(() => userData("AL2", { ...BASE, custom })).toThrow("spec.userData");
  });

  it("refuses MIME whose parts do not begin with its boundary, because they would be lost", () => {
    const custom = "Content-Type: multipart/mixed; boundary=A\n\n--B\n\necho\n--B--\n";
    expect(() => userData("AL2", { ...BASE, custom })).toThrow("a line --A");
  });

  it("passes every kubelet setting as a flag", () => {
    const kubelet = {
      clusterDNS: ["fd00::a"],
      podsPerCore: 4,
      systemReserved: { memory: "100Mi", cpu: "100m" },
      evictionHard: { "memory.available": "5%" },
      evictionSoftGracePeriod: { "memory.available": "90s" },
      imageGCHighThresholdPercent: 85,
      cpuCFSQuota: false,
    };
    const text = userData("AL2", { ...BASE, kubelet });
    expect(text).toContain("--ip-family ipv6");
    expect(text).toContain(
      '--max-pods=29 --pods-per-core=4 --system-reserved="cpu=100m,memory=100Mi" ' +
        '--eviction-hard="memory.available<5%" ' +
        '--eviction-soft-grace-period="memory.available=1m30s" ' +
        "--image-gc-high-threshold=85 --cpu-cfs-quota=false'",
    );
  });
});

describe("user data of AL2023", () => {
  it("ends with a NodeConfig with Karpenter's settings", () => {
    const parts = parseMime(userData("AL2023", { ...BASE, custom: "echo hi" }));
    expect(parts.map((part) => part.headers)).toEqual([
      ['Content-Type: text/x-shellscript; charset="us-ascii"'],
      ["Content-Type: application/node.eks.aws"],
    ]);
    expect(parseYaml(parts[1]?.content ?? "")).toMatchObject({
      apiVersion: "node.eks.aws/v1alpha1",
      spec: {
        cluster: { name: "demo", cidr: "10.100.0.0/16", certificateAuthority: "Q0E=" },
        kubelet: {
          config: {
            maxPods: 29,
            clusterDNS: ["10.100.0.10"],
            registerWithTaints: [
              { key: "dedicated", value: "gpu", effect: "NoSchedule" },
              { key: "karpenter.sh/unregistered", effect: "NoExecute" },
            ],
          },
          flags: [
            '--node-labels="karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default,team=a"',
          ],
        },
      },
    });
  });

  it("quotes texts that nodeadm would read as booleans or numbers", () => {
    const taints = [{ key: "dedicated", value: "yes", effect: "NoSchedule" as const }];
    const text = userData("AL2023", { ...BASE, clusterName: "1_000", taints });
    expect(text).toContain('value: "yes"\n');
    expect(text).toContain('name: "1_000"\n');
  });

  it("accepts a YAML map as a NodeConfig of the user", () => {
    const custom = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n";
    const [user] = parseMime(userData("AL2023", { ...BASE, custom }));
    expect(user?.headers).toEqual(["Content-Type: application/node.eks.aws"]);
  });
});

describe("user data of Bottlerocket", () => {
  it("S2-20 overrides the user's TOML with Karpenter's settings", () => {
    const custom =
      '[settings.motd]\nx = "y"\n[settings.kubernetes]\nmax-pods = 5\nlog-level = 3\n' +
      '[settings.kubernetes.node-labels]\nmine = "1"\n';
    const parsed = parseToml(userData("Bottlerocket", { ...BASE, custom, raid0: true }));
    expect(parsed).toMatchObject({
      settings: {
        motd: { x: "y" },
        kubernetes: {
          "api-server": "https://demo.example",
          "cluster-name": "demo",
          "max-pods": 29,
          "log-level": 3,
          "node-labels": { mine: "1", team: "a" },
          "node-taints": { dedicated: ["gpu:NoSchedule"] },
        },
        "bootstrap-commands": { "000-mount-instance-storage": { mode: "always" } },
      },
    });
  });

  it.each([
    [undefined, true],
    ["1.45.2", true],
    ["1.46.0", false],
    ["2.0.0", false],
    ["latest", false],
  ])(
    "of an image with version %s names the folders for the instance store: %s",
    (imageVersion, named) => {
      const text = userData("Bottlerocket", { ...BASE, raid0: true, imageVersion });
      const bind = '"apiclient", "ephemeral-storage", "bind"';
      const folders = ', "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"';
      expect(text).toContain(`[ ${bind}${named ? folders : ""} ]`);
    },
  );

  it("refuses invalid TOML, and names the field", () => {
    expect(() => userData("Bottlerocket", { ...BASE, custom: "#!/bin/sh\nx" })).toThrow(
      "spec.userData must be TOML",
    );
  });
});

describe("user data that is TOML, but not in Bottlerocket's form", () => {
  it.each([
    ["settings = 5", "settings must be a table, not 5"],
    ["[[settings]]\na = 1", 'settings must be a table, not [{"a":1}]'],
    ["settings = 2026-01-01T00:00:00Z", "settings must be a table, not"],
    ["[settings]\nkubernetes = 'x'", 'settings.kubernetes must be a table, not "x"'],
    [
      "[settings.kubernetes]\nnode-labels = ['a']",
      'settings.kubernetes.node-labels must be a table, not ["a"]; write [settings.kubernetes.node-labels]',
    ],
    ["[settings]\nbootstrap-commands = 1", "settings.bootstrap-commands must be a table, not 1"],
  ])("is refused: %s", (custom, why) => {
    expect(() => userData("Bottlerocket", { ...BASE, custom, raid0: true })).toThrow(why);
  });

  it("keeps integers of 64 bits unchanged", () => {
    const custom =
      "[settings.a]\nmost = 9223372036854775807\nleast = -9223372036854775808\nodd = 9007199254740993\n";
    const text = userData("Bottlerocket", { ...BASE, custom });
    expect(text).toContain("most = 9223372036854775807\n");
    expect(text).toContain("least = -9223372036854775808\n");
    expect(text).toContain("odd = 9007199254740993\n");
    expect(() => userData("Bottlerocket", { ...BASE, custom: "a = 9223372036854775808" })).toThrow(
      "spec.userData must be TOML",
    );
  });
});

it("user data of Bottlerocket keeps floats, dates, lists of tables and nested tables", () => {
  const custom =
    "[settings.a]\nwhole = 1.0\nhalf = 0.5\nsame = [1, 2.0]\nday = 2026-01-01\n\n[[settings.a.b]]\nc = 1\n\n[[settings.a.b]]\nc = { d = 2.0 }\n";
  const kubelet = { evictionMaxPodGracePeriod: 30 };
  const text = userData("Bottlerocket", { ...BASE, custom, kubelet });
  for (const line of ["whole = 1.0", "half = 0.5", "same = [ 1, 2.0 ]", "day = 2026-01-01"])
    expect(text).toContain(`${line}\n`);
  expect(text).toContain("max-pods = 29\n");
  expect(text).toContain("eviction-max-pod-grace-period = 30\n");
  expect(parseToml(text)).toMatchObject({ settings: { a: { b: [{ c: 1 }, { c: { d: 2 } }] } } });
});

describe("user data of other families", () => {
  it("runs the user's PowerShell lines first on Windows", () => {
    const lines = userData("Windows2022", { ...BASE, custom: "Write-Host hi" }).split("\n");
    expect(lines.slice(0, 2)).toEqual(["<powershell>", "Write-Host hi"]);
    expect(lines.at(-2)).toContain("-EKSClusterName 'demo' -APIServerEndpoint");
  });

  it("has only the user's text for Custom", () => {
    expect(userData("Custom", { ...BASE, custom: "anything\r\n" })).toBe("anything\r\n");
  });
});

/** Contents of the parts, found by the boundary lines only. */
function parseParts(text: string): string[] {
  return text
    .split("--//\n")
    .slice(1)
    .map((part) =>
      part
        .replace(/\n--\/\/--\n$/, "\n")
        .split("\n\n")
        .slice(1)
        .join("\n\n"),
    )
    .map((content) => content.slice(0, -1));
}
