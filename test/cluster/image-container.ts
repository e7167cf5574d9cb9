/**
 * The container of a release. Docker or podman runs it from an image built before (`npm run image:check`), or runc
 * from an unpacked image (`npm run image:run`). It has the chart's security context. It mounts what a kubelet
 * mounts for a ServiceAccount, so the controller finds the cluster as in a pod.
 */
import { chmodSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { parse } from "yaml";
import { containerCommand } from "../../scripts/image-run/container.ts";
import type { Container } from "./helm-release.ts";
import { END_WITH_STDIN } from "./tied.ts";

const MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount";

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string };
  }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

const MEMORY = /^(\d+)Mi$/;

/**
 * The command to run, program first. `image`: a name that `engine` knows; for runc, the folder of the unpacked
 * image. `kubeconfig` holds the ServiceAccount's token. The container ends when its standard input ends.
 */
export function imageCommand(
  { engine, image }: { readonly engine: string; readonly image: string },
  kubeconfig: string,
  {
    container,
    environment,
  }: {
    readonly container: Container;
    readonly environment: Readonly<Record<string, string>>;
  },
): readonly [string, ...string[]] {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const [cluster, user] = [clusters[0]?.cluster, users[0]?.user];
  if (cluster === undefined || user === undefined) throw new Error(`${kubeconfig} names nobody`);
  const folder = mountedFolder(kubeconfig, {
    token: user.token,
    "ca.crt": Buffer.from(cluster["certificate-authority-data"], "base64").toString(),
  });
  const { hostname, port } = new URL(cluster.server);
  const variables = {
    ...environment,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    NODE_OPTIONS: `${environment["NODE_OPTIONS"] ?? ""} --import=${END_WITH_STDIN}`.trim(),
  };
  const memory = MEMORY.exec(container.resources?.limits?.memory ?? "")?.[1];
  if (engine === "runc")
    return containerCommand(image, {
      ...container,
      environment: variables,
      isHostNetwork: true,
      ...(memory === undefined ? {} : { memoryBytes: Number(memory) * 1_024 * 1_024 }),
      mounts: { [MOUNTED]: folder, "/etc/hosts": "/etc/hosts", "/etc/resolv.conf": resolver() },
    });
  return [
    engine,
    ..."run --rm --interactive --network host --read-only --cap-drop all".split(" "),
    ...["--security-opt", "no-new-privileges", "--user", "65532:65532"],
    ...(memory === undefined ? [] : ["--memory", `${memory}m`]),
    ...["--volume", `${folder}:${MOUNTED}:ro`],
    ...Object.entries(variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    image,
    ...container.args,
  ];
}

/** The real path: a bind mount needs the file that a link leads to. */
function resolver(): string {
  return realpathSync("/etc/resolv.conf");
}

/** A folder of these files that every user can read, because the container runs as another user than this test. */
function mountedFolder(kubeconfig: string, files: Readonly<Record<string, string>>): string {
  const folder = `${kubeconfig}.mounted`;
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  for (const [name, text] of Object.entries(files))
    writeFileSync(`${folder}/${name}`, text, { mode: 0o644 });
  return folder;
}
