/**
 * What the provider must know of the cluster itself: version, endpoint, CA, DNS address, service CIDR.
 * Taken from settings, the API server, or EKS, in that order, and kept. A fact that cannot be had is an
 * error that says which setting would give it.
 */

import { SERVICE } from "../../../apis/core/kinds.ts";
import type { Clock } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/errors.ts";
import type { AwsApi } from "../api/aws-api.ts";
import type { EksCluster } from "../api/eks.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { describeError, ResolutionError } from "../errors.ts";

/** upstream: providers.version controller */
const VERSION_MS = 300_000;
const DNS_MS = 300_000;

/** What the settings say of the cluster; the rest is asked of EKS. */
export interface ClusterSettings {
  readonly clusterName: string;
  /** Empty: asked of EKS. */
  readonly clusterEndpoint: string;
  /** Base64 PEM. Empty or absent: asked of EKS; without EKS the argument is left out. */
  readonly clusterCaBundle?: string;
  /** The control plane is EKS: the version is read from DescribeCluster. */
  readonly eksControlPlane?: boolean;
}

/** Version, endpoint, authority and DNS of the cluster. */
export class ClusterFacts {
  readonly #api: AwsApi;
  readonly #kube: KubeClient;
  readonly #settings: ClusterSettings;
  readonly #version: TtlCache<string>;
  readonly #dns: TtlCache<string | undefined>;
  readonly #eks: TtlCache<EksCluster>;

  constructor(api: AwsApi, kube: KubeClient, clock: Clock, settings: ClusterSettings) {
    this.#api = api;
    this.#kube = kube;
    this.#settings = settings;
    this.#version = new TtlCache(clock, VERSION_MS);
    this.#dns = new TtlCache(clock, DNS_MS);
    this.#eks = new TtlCache(clock, Number.POSITIVE_INFINITY);
  }

  /** `1.34`: selects images. */
  kubernetesVersion(): Promise<string> {
    return this.#version.get("", async () => {
      if (this.#settings.eksControlPlane === true) {
        const { clusterName: name } = this.#settings;
        const { version } = (await this.#api.eks.describeCluster({ name })).cluster;
        if (version !== undefined) return version;
      }
      const { body } = await this.#kube.raw({ method: "GET", path: "/version" });
      const { major, minor } = (isObject(body) ? body : {}) as { major?: string; minor?: string };
      if (major === undefined || minor === undefined) {
        throw new ResolutionError("the API server's /version names no major and minor version");
      }
      return `${major}.${minor.replace(/\+$/, "")}`;
    });
  }

  async endpoint(): Promise<string> {
    if (this.#settings.clusterEndpoint !== "") return this.#settings.clusterEndpoint;
    const { endpoint } = await this.#cluster("the cluster endpoint", "--cluster-endpoint");
    if (endpoint === undefined)
      throw new ResolutionError("EKS knows no endpoint of this cluster yet");
    return endpoint;
  }

  async caBundle(): Promise<string | undefined> {
    const own = this.#settings.clusterCaBundle;
    if (own !== undefined && own !== "") return own;
    try {
      return (await this.#cluster("the CA", "--cluster-ca-bundle")).certificateAuthority?.data;
    } catch {
      // Not an EKS cluster: nodes then bring the CA with their image.
      return undefined;
    }
  }

  /** The user data of AL2023 needs the service CIDR. */
  async serviceCidr(): Promise<string | undefined> {
    const { kubernetesNetworkConfig } = await this.#cluster("the service CIDR", undefined);
    return kubernetesNetworkConfig?.serviceIpv4Cidr ?? kubernetesNetworkConfig?.serviceIpv6Cidr;
  }

  /** Address of kube-dns; undefined when there is no such service. */
  dnsIp(): Promise<string | undefined> {
    return this.#dns.get("", async () => {
      try {
        const service = await this.#kube.get(SERVICE, {
          namespace: "kube-system",
          name: "kube-dns",
        });
        const { spec } = service as { spec?: { clusterIP?: string } };
        return spec?.clusterIP;
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    });
  }

  /** Names the cluster to other services of AWS. */
  async arn(): Promise<string> {
    const { arn } = await this.#cluster("the ARN", undefined);
    if (arn === undefined) throw new ResolutionError("EKS tells no ARN of this cluster");
    return arn;
  }

  async #cluster(what: string, flag: string | undefined): Promise<EksCluster> {
    const name = this.#settings.clusterName;
    try {
      return await this.#eks.get("", async () => {
        return (await this.#api.eks.describeCluster({ name })).cluster;
      });
    } catch (error) {
      const remedy = flag === undefined ? "" : `; set ${flag} to do without`;
      throw new ResolutionError(
        `resolving ${what} of ${name}: describing EKS cluster: ${describeError(error)}${remedy}`,
        { cause: error },
      );
    }
  }
}
