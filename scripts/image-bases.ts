/**
 * Stand-ins for the two base images of `deploy/image/Containerfile`, for machines that reach Debian's and npm's
 * packages but no image registry. They have the same Debian, and the same Node at the same path, and nothing else. They
 * are used only to check the Containerfile. Needs debootstrap and root.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { imageNode } from "../bench/image-node.ts";
import { debian, librariesRoot } from "./image-run/debian-root.ts";
import { AUTHORITIES, trustAuthorities } from "./image-run/machine-root.ts";
import { machineArchitecture } from "./image-run/platform.ts";

/** Makes both bases in `folder` and loads them into `engine`. Returns arguments for the image's build. */
export function localBases(
  engine: string,
  folder: string,
  tell: (line: string) => void,
): readonly string[] {
  const npm = process.env["npm_execpath"];
  if (npm === undefined) throw new Error("start this by npm, whose own files the stand-in gets");
  const node = imageNode(tell).program;
  const [build, run] = [join(folder, "build"), join(folder, "run")];
  tell("Debian for the build (minutes)");
  debian(build, machineArchitecture());
  trustAuthorities(build);
  copyFileSync(node, join(build, "usr/local/bin/node"));
  const modules = join(build, "usr/local/lib/node_modules");
  cpSync(dirname(dirname(npm)), join(modules, "npm"), { recursive: true, dereference: true });
  execFileSync("ln", [
    "-s",
    "../lib/node_modules/npm/bin/npm-cli.js",
    join(build, "usr/local/bin/npm"),
  ]);

  librariesRoot(run, build, node);
  return [
    ...base(engine, build, "BUILD_IMAGE", ["ENV", `NODE_EXTRA_CA_CERTS=${AUTHORITIES}`]),
    ...base(engine, run, "RUN_IMAGE", ["USER", "65532"]),
  ];
}

function base(engine: string, root: string, argument: string, [key, value]: [string, string]) {
  const name = `localhost/karpenter-check/${argument.toLowerCase().replace("_", "-")}`;
  const file = `${root}.tar`;
  execFileSync("tar", ["-C", root, "-cf", file, "."]);
  const path = "ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
  const change = ["--change", path, "--change", `${key} ${value}`];
  const { status, stderr } = spawnSync(engine, ["import", ...change, file, name], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${engine} import failed: ${stderr}`);
  return ["--build-arg", `${argument}=${name}`];
}
