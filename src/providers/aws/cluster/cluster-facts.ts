/**
 * Facts about the cluster: version, endpoint, CA, DNS address, service CIDR. They are read from the settings, the API
 * server or EKS, in that order, and cached. If a fact cannot be read, the error names the setting that provides it.
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

/** Milliseconds between two readings of the version. upstream: providers.version controller */
const VERSION_MS = 300_000;
const DNS_MS = 300_000;

/** The settings about the cluster. What they leave out is read from EKS. */
export interface ClusterSettings {
  readonly clusterName: string;
  /** The API server's address for nodes. Empty: it is read from EKS. */
  readonly clusterEndpoint: string;
  /**
   * The cluster's CA as PEM text in base64. Empty or absent: it is read from EKS. Without EKS the kubelet gets no such
   * argument.
   */
  readonly clusterCaBundle?: string;
  /** Whether the control plane is EKS. Then the version is read from DescribeCluster. */
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

  /** The Kubernetes version, such as `1.34`, by which images are selected. */
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
      // The cluster is not on EKS. Then the nodes' image must contain the CA.
      return undefined;
    }
  }

  /** The service CIDR, for the user data of AL2023. */
  async serviceCidr(): Promise<string | undefined> {
    const { kubernetesNetworkConfig } = await this.#cluster("the service CIDR", undefined);
    return kubernetesNetworkConfig?.serviceIpv4Cidr ?? kubernetesNetworkConfig?.serviceIpv6Cidr;
  }

  /** Address of the Service kube-dns. Undefined: there is no such Service. */
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

  /** The ARN of the cluster, which identifies it in other AWS services. */
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
