/** Services: which node ports and addresses they get, and which Services are refused. */
import { AS_TABLE, type Check, check, get, mergePatch, post } from "./check.ts";

const SERVICES = "/api/v1/namespaces/<<ns>>/services";

function service(name: string, spec: object): object {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec };
}

const PORTS = [{ name: "http", port: 80 }];

export const SERVICE_CHECKS: readonly Check[] = [
  check(
    "SV-01",
    "ports of nodes are given out by type",
    post(SERVICES, service("inner", { ports: PORTS })),
    post(SERVICES, service("node", { type: "NodePort", ports: PORTS })),
    post(SERVICES, service("balanced", { type: "LoadBalancer", ports: PORTS })),
    post(
      SERVICES,
      service("local", { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: PORTS }),
    ),
    post(
      SERVICES,
      service("portless", {
        type: "LoadBalancer",
        allocateLoadBalancerNodePorts: false,
        ports: PORTS,
      }),
    ),
    mergePatch(`${SERVICES}/inner`, { spec: { type: "NodePort" } }),
    mergePatch(`${SERVICES}/inner`, { spec: { type: "ClusterIP" } }),
    mergePatch(`${SERVICES}/node`, { spec: { ports: [{ name: "https", port: 443 }] } }),
    mergePatch(`${SERVICES}/local`, { spec: { externalTrafficPolicy: "Cluster" } }),
    get(SERVICES, { headers: AS_TABLE }),
  ),
  check(
    "SV-02",
    "services that are refused",
    post(SERVICES, service("a", { ports: [{ port: 80 }, { port: 81, name: "b" }] })),
    post(
      SERVICES,
      service("a", {
        ports: [
          { port: 80, name: "b" },
          { port: 81, name: "b" },
        ],
      }),
    ),
    post(
      SERVICES,
      service("a", {
        ports: [
          { port: 80, name: "a" },
          { port: 80, name: "b" },
        ],
      }),
    ),
    post(SERVICES, service("a", { ports: [{ port: 80, targetPort: "bad_name" }] })),
    post(SERVICES, service("a", { ports: [{ port: 80, targetPort: 70_000 }] })),
    post(SERVICES, service("a", { ports: [{ port: 80, name: "Bad_Name" }] })),
    post(SERVICES, service("a", { ports: [{ port: 80, protocol: "ICMP" }] })),
    post(SERVICES, service("a", { type: "NodePort", ports: [{ port: 80, nodePort: 99 }] })),
    post(SERVICES, service("taken", { type: "NodePort", ports: [{ port: 80, nodePort: 30_912 }] })),
    post(SERVICES, service("a", { type: "NodePort", ports: [{ port: 80, nodePort: 30_912 }] })),
    post(SERVICES, service("a", { ports: [{ port: 80, nodePort: 30_913 }] })),
    post(SERVICES, service("a", { type: "NodePort", clusterIP: "None", ports: PORTS })),
    post(SERVICES, service("a", { type: "ExternalName" })),
    post(SERVICES, service("a", { type: "Nonsense", ports: PORTS })),
    post(SERVICES, service("a", { externalTrafficPolicy: "Local", ports: PORTS })),
    post(SERVICES, service("a", { sessionAffinity: "Sometimes", ports: PORTS })),
  ),
];
