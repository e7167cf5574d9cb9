/**
 * The container of a release, run by docker or podman from an image that was built before
 * (`npm run image:check`): as the chart's security context asks for it, and inside with what a kubelet mounts
 * for its ServiceAccount, so that the controller finds the cluster as it does in a pod.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { parse } from "yaml";
import { END_WITH_STDIN } from "./tied.ts";

const MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount";

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string };
  }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

/**
 * What to start, program first: `image` is a name that `engine` knows, `kubeconfig` holds the ServiceAccount's
 * token. The container ends with its standard input.
 */
export function imageCommand(
  engine: string,
  image: string,
  kubeconfig: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
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
  return [
    engine,
    ..."run --rm --interactive --network host --read-only --cap-drop all".split(" "),
    ...["--security-opt", "no-new-privileges", "--user", "65532:65532"],
    ...["--volume", `${folder}:${MOUNTED}:ro`],
    ...Object.entries(variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    image,
    ...args,
  ];
}

/** Its files can be read by whoever the container runs as. */
function mountedFolder(kubeconfig: string, files: Readonly<Record<string, string>>): string {
  const folder = `${kubeconfig}.mounted`;
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  for (const [name, text] of Object.entries(files))
    writeFileSync(`${folder}/${name}`, text, { mode: 0o644 });
  return folder;
}
