/**
 * What `npm run image:run` prepares from an image and a pod: the configuration for runc, the seccomp profile, the
 * layers. Nothing is run: that would need root and runc.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { POD } from "../scripts/image-run/look.ts";
import { architectureOf } from "../scripts/image-run/platform.ts";
import { runtimeConfig } from "../scripts/image-run/runtime-config.ts";
import { runtimeDefault } from "../scripts/image-run/seccomp.ts";
import { applyLayer, type ImageConfig, unpackImage } from "../scripts/image-run/unpack.ts";
import { writeImage } from "../scripts/release/image.ts";
import { temporaryFolders } from "../src/testing/temporary-folder.ts";

const IMAGE: ImageConfig = {
  architecture: "amd64",
  config: {
    Env: ["NODE_ENV=production"],
    Entrypoint: ["/nodejs/bin/node", "/app/karpenter.mjs"],
    Cmd: ["controller"],
    WorkingDir: "/app",
    User: "65532:65532",
  },
  rootfs: { diff_ids: [] },
};
const ON = { root: "/root-of-it", seccomp: { defaultAction: "SCMP_ACT_ERRNO" } };
const folder = temporaryFolders("image-run-");

describe("the container of an image under test", () => {
  it("has the user, rights and limits that the image and the chart's security context set", () => {
    expect(runtimeConfig(IMAGE, { ...POD, environment: { A: "b=c" } }, ON)).toMatchObject({
      process: {
        user: { uid: 65_532, gid: 65_532, additionalGids: [65_532] },
        args: ["/nodejs/bin/node", "/app/karpenter.mjs", "controller"],
        env: [expect.stringMatching(/^PATH=/), "NODE_ENV=production", "A=b=c"],
        cwd: "/app",
        capabilities: { bounding: [], permitted: [], effective: [] },
        noNewPrivileges: true,
      },
      root: { path: "/root-of-it", readonly: true },
      linux: { seccomp: ON.seccomp },
    });
  });

  it("has the default rights of a pod without a securityContext", () => {
    const config = runtimeConfig(IMAGE, { args: ["--help"] }, ON) as {
      process: { args: string[]; capabilities: { bounding: string[] }; noNewPrivileges: boolean };
      root: { readonly: boolean };
      linux: object;
    };
    expect(config.process.args.at(-1)).toBe("--help");
    expect(config.process.capabilities.bounding).toContain("CAP_CHOWN");
    expect([config.process.noNewPrivileges, config.root.readonly]).toEqual([false, false]);
    expect(config.linux).not.toHaveProperty("seccomp");
  });

  it("has a memory limit, mounts and the host's network if they are requested", () => {
    const asked = { memoryBytes: 1 << 28, isHostNetwork: true, mounts: { "/etc/hosts": "/tmp/h" } };
    const text = JSON.stringify(runtimeConfig(IMAGE, asked, ON));
    expect(text).toContain('"memory":{"limit":268435456,"swap":268435456}');
    expect(text).toContain('{"destination":"/etc/hosts","source":"/tmp/h","type":"bind"');
    expect(text).not.toContain('{"type":"network"}');
  });

  it("runs in the emulator that the machine has for the image's platform", () => {
    const on = { ...ON, emulator: "/usr/bin/qemu-aarch64-static" };
    const mounts = { "/etc/hosts": "/tmp/h" };
    const config = runtimeConfig(IMAGE, { args: ["--version"], mounts }, on) as {
      process: { args: string[] };
      mounts: { destination: string; source: string }[];
    };
    expect(config.process.args).toEqual([
      "/emulator",
      ...(IMAGE.config.Entrypoint ?? []),
      "--version",
    ]);
    expect(config.mounts.slice(-2).map(({ destination, source }) => [destination, source])).toEqual(
      [
        ["/etc/hosts", "/tmp/h"],
        ["/emulator", "/usr/bin/qemu-aarch64-static"],
      ],
    );
  });

  it.each([
    ["0:0", {}, "runAsNonRoot is asked for, and the image runs as root"],
    ["nonroot", {}, 'the image\'s user is "nonroot", and not a number'],
  ])("is refused for an image that runs as %s", (User, more, why) => {
    const image = { ...IMAGE, config: { ...IMAGE.config, User } };
    const asked = { securityContext: { runAsNonRoot: true, ...more } };
    expect(() => runtimeConfig(image, asked, ON)).toThrow(why);
  });
});

it("the container can be made for a platform of the release, and for no other", () => {
  expect(["linux/amd64", "linux/arm64"].map(architectureOf)).toEqual(["amd64", "arm64"]);
  for (const platform of ["arm64", "linux/s390x", "linux/arm64/v8"])
    expect(() => architectureOf(platform)).toThrow(
      `--platform ${platform}: give linux/amd64 or linux/arm64`,
    );
});

it("the seccomp profile omits rules that need a capability or another processor", () => {
  const rule = (name: string, more: object = {}) => ({
    names: [name],
    action: "SCMP_ACT_ALLOW",
    args: [],
    ...more,
  });
  const profile = {
    defaultAction: "SCMP_ACT_ERRNO",
    archMap: [{ architecture: "SCMP_ARCH_X86_64", subArchitectures: ["SCMP_ARCH_X86"] }],
    syscalls: [
      rule("read"),
      rule("mount", { includes: { caps: ["CAP_SYS_ADMIN"] } }),
      rule("clone", { excludes: { caps: ["CAP_SYS_ADMIN"] } }),
      rule("arch_prctl", { includes: { arches: ["amd64"] } }),
      rule("breakpoint", { includes: { arches: ["arm64"] } }),
      rule("personality", { excludes: { arches: ["amd64"] } }),
    ],
  };
  const { architectures, syscalls } = runtimeDefault(profile, "amd64") as {
    architectures: string[];
    syscalls: { names: string[]; args?: object[] }[];
  };
  expect(architectures).toEqual(["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"]);
  expect(syscalls.map(({ names }) => names[0])).toEqual(["read", "clone", "arch_prctl"]);
  expect(syscalls[0]).not.toHaveProperty("args");
});

describe("unpacking an image of a release", () => {
  const base = (): Readonly<Record<"amd64" | "arm64", string>> => {
    const root = folder();
    mkdirSync(join(root, "tmp"), { mode: 0o777 });
    writeFileSync(join(root, "release"), process.arch);
    return { amd64: root, arm64: root };
  };
  const image = async (): Promise<string> => {
    const out = folder();
    await writeImage(out, {
      base: base(),
      program: [{ path: "karpenter.mjs", content: Buffer.from("run()"), isExecutable: false }],
      ...{ version: "1.2.3", commit: "c0ffee", atMs: 0, entrypoint: ["/nodejs/bin/node"] },
    });
    return out;
  };

  it.runIf(["x64", "arm64"].includes(process.arch))(
    "writes its root file system and its configuration",
    async () => {
      const into = folder();
      const { config } = unpackImage(await image(), into);
      expect(readFileSync(join(into, "root/app/karpenter.mjs"), "utf8")).toBe("run()");
      expect(readFileSync(join(into, "root/release"), "utf8")).toBe(process.arch);
      expect([config.User, config.WorkingDir]).toEqual(["65532:65532", "/app"]);
    },
  );

  it("uses the layers of the requested platform", async () => {
    const [made, into] = [await image(), folder()];
    expect(unpackImage(made, into, "arm64").architecture).toBe("arm64");
    expect(unpackImage(made, folder(), "amd64").architecture).toBe("amd64");
  });

  it("removes files that an upper layer hides", () => {
    const [root, layer] = [folder(), folder()];
    mkdirSync(join(root, "etc/old"), { recursive: true });
    for (const name of ["gone", "stays", "old/a"]) writeFileSync(join(root, "etc", name), "below");
    mkdirSync(join(layer, "etc/old"), { recursive: true });
    for (const name of [".wh.gone", "old/.wh..wh..opq", "old/b"])
      writeFileSync(join(layer, "etc", name), "");
    applyLayer(execFileSync("tar", ["-c", "-C", layer, "etc"]), root);
    const is = (name: string) => existsSync(join(root, "etc", name));
    expect(["gone", "stays", "old/a", "old/b", ".wh.gone"].map(is)).toEqual([
      false,
      true,
      false,
      true,
      false,
    ]);
  });

  it("names what is missing", () => {
    expect(() => unpackImage("none.oci.tar", folder())).toThrow(
      "none.oci.tar is not there: npm run release makes it",
    );
  });
});
