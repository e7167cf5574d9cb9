/**
 * Effects of kube-apiserver's default admission plugins that no other check covers: default classes, growing
 * claims, priorities.
 */
import { type Check, check, del, get, mergePatch, post } from "./check.ts";

const CLAIMS = "/api/v1/namespaces/<<ns>>/persistentvolumeclaims";
const STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
const INGRESSES = "/apis/networking.k8s.io/v1/namespaces/<<ns>>/ingresses";
const INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses";
const PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses";
const PODS = "/api/v1/namespaces/<<ns>>/pods";

function claim(name: string, spec: object = {}, annotations?: object): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      ...spec,
    },
  };
}

function storageClass(name: string, isDefault: boolean, fields: object = {}): object {
  const key = "storageclass.kubernetes.io/is-default-class";
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, ...(isDefault ? { annotations: { [key]: "true" } } : {}) },
    provisioner: "example.com/disk",
    ...fields,
  };
}

function ingress(name: string, fields: object = {}, annotations?: object): object {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name, ...(annotations === undefined ? {} : { annotations }) },
    spec: { defaultBackend: { service: { name: "a", port: { number: 80 } } }, ...fields },
  };
}

function ingressClass(name: string): object {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name, annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
    spec: { controller: "example.com/proxy" },
  };
}

function priorityClass(name: string, fields: object): object {
  return {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value: 5,
    ...fields,
  };
}

function pod(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "c", image: "busybox:1" }], ...spec },
  };
}

/** Binds a claim by hand: only a bound claim may grow. */
function bound(name: string, storageClassName: string) {
  return [
    post(CLAIMS, claim(name, { storageClassName, volumeName: "<<ns>>-volume" })),
    mergePatch(`${CLAIMS}/${name}/status`, {
      status: { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] },
    }),
    mergePatch(`${CLAIMS}/${name}`, { spec: { resources: { requests: { storage: "2Gi" } } } }),
  ];
}

export const PLUGIN_CHECKS: readonly Check[] = [
  check(
    "AD-01",
    "DefaultStorageClass: claims without a class get the default one",
    post(CLAIMS, claim("before")),
    post(STORAGE_CLASSES, storageClass("<<ns>>-plain", false)),
    post(CLAIMS, claim("none")),
    post(STORAGE_CLASSES, storageClass("<<ns>>-default", true)),
    post(CLAIMS, claim("given")),
    post(CLAIMS, claim("empty", { storageClassName: "" })),
    post(CLAIMS, claim("named", { storageClassName: "<<ns>>-plain" })),
    post(CLAIMS, claim("noted", {}, { "volume.beta.kubernetes.io/storage-class": "other" })),
    get(`${CLAIMS}/before`),
    del(`${STORAGE_CLASSES}/<<ns>>-default`),
    del(`${STORAGE_CLASSES}/<<ns>>-plain`),
  ),
  check(
    "AD-02",
    "PersistentVolumeClaimResize: only claims of a class that lets them grow may grow",
    post(STORAGE_CLASSES, storageClass("<<ns>>-rigid", false)),
    post(STORAGE_CLASSES, storageClass("<<ns>>-grows", false, { allowVolumeExpansion: true })),
    ...bound("rigid", "<<ns>>-rigid"),
    ...bound("grows", "<<ns>>-grows"),
    ...bound("gone", "<<ns>>-gone"),
    post(CLAIMS, claim("pending", { storageClassName: "<<ns>>-grows" })),
    mergePatch(`${CLAIMS}/pending`, { spec: { resources: { requests: { storage: "2Gi" } } } }),
    mergePatch(`${CLAIMS}/grows`, { spec: { resources: { requests: { storage: "1Mi" } } } }),
    del(`${STORAGE_CLASSES}/<<ns>>-rigid`),
    del(`${STORAGE_CLASSES}/<<ns>>-grows`),
  ),
  check(
    "AD-03",
    "DefaultIngressClass: Ingresses without a class get the default one, where there is one",
    post(INGRESSES, ingress("before")),
    post(INGRESS_CLASSES, ingressClass("<<ns>>-a")),
    post(INGRESSES, ingress("given")),
    post(INGRESSES, ingress("named", { ingressClassName: "other" })),
    post(INGRESSES, ingress("noted", {}, { "kubernetes.io/ingress.class": "old" })),
    post(INGRESS_CLASSES, ingressClass("<<ns>>-b")),
    post(INGRESSES, ingress("either")),
    del(`${INGRESS_CLASSES}/<<ns>>-a`),
    del(`${INGRESS_CLASSES}/<<ns>>-b`),
  ),
  check(
    "AD-04",
    "Priority: one default class, its value in pods, and no value of one's own",
    post(PRIORITY_CLASSES, priorityClass("<<ns>>-a", { globalDefault: true })),
    post(PRIORITY_CLASSES, priorityClass("<<ns>>-b", { globalDefault: true })),
    post(PODS, pod("given")),
    post(PODS, pod("unknown", { priorityClassName: "nobody" })),
    post(PODS, pod("own", { priority: 7 })),
    post(PODS, pod("system", { priorityClassName: "system-node-critical" })),
    post(PRIORITY_CLASSES, priorityClass("system-mine", {})),
    del(`${PRIORITY_CLASSES}/<<ns>>-a`),
  ),
  check(
    "AD-05",
    "NamespaceLifecycle: nothing is made in a namespace that is not there, and some may not go",
    post("/api/v1/namespaces/<<ns>>-gone/configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a" },
    }),
    del("/api/v1/namespaces/default"),
    del("/api/v1/namespaces/kube-system"),
    del("/api/v1/namespaces/kube-public"),
  ),
  check(
    "AD-06",
    "MutatingAdmissionPolicy is not served by default",
    get("/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies"),
    get("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"),
    get("/apis/admissionregistration.k8s.io/v1alpha1/mutatingadmissionpolicies"),
  ),
  check(
    "AD-07",
    "PodTemplates, which nobody but their user reads",
    post("/api/v1/namespaces/<<ns>>/podtemplates", {
      apiVersion: "v1",
      kind: "PodTemplate",
      metadata: { name: "a" },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "busybox:1" }] },
      },
    }),
    post("/api/v1/namespaces/<<ns>>/podtemplates", {
      apiVersion: "v1",
      kind: "PodTemplate",
      metadata: { name: "b" },
      template: { spec: { containers: [] } },
    }),
    mergePatch("/api/v1/namespaces/<<ns>>/podtemplates/a", { metadata: { labels: { c: "d" } } }),
    del("/api/v1/namespaces/<<ns>>/podtemplates"),
    get("/api/v1/namespaces/<<ns>>/podtemplates"),
  ),
];
