/**
 * A second session of rarer commands; `npm run test:kubectl` runs it after the first. Its manifests are files in
 * the folder where kubectl runs, `kustomize/` among them. `during:A => B` runs B while A runs.
 */
export const RARER_MANIFESTS: Readonly<Record<string, string>> = {
  pair: `
apiVersion: v1
kind: ConfigMap
metadata: {name: first, labels: {set: pair}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, labels: {set: pair}}
data: {b: "1"}
`,
  half: `
apiVersion: v1
kind: ConfigMap
metadata: {name: first, labels: {set: pair}}
data: {a: "2"}
`,
  base: deployment("based", 0),
  "kustomize/kustomization": `
namePrefix: k-
commonLabels: {by: kustomize}
resources: [base.yaml]
configMapGenerator:
  - {name: made, literals: [x=1], options: {disableNameSuffixHash: true}}
`,
  "kustomize/base": deployment("based", 0),
  web: deployment("web", 0),
  busy: deployment("web", 0)
    .replace("app:1", "app:2")
    .replace("labels: {app: web}", "labels: {app: web, more: yes-it-is}"),
  access: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: viewer}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: viewer}
subjects: [{kind: ServiceAccount, name: robot, namespace: NS}]
`,
  wider: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: viewer}
rules:
  - {apiGroups: [""], resources: [pods, configmaps], verbs: [get, list]}
  - {apiGroups: [apps], resources: [deployments], resourceNames: [web], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: viewer}
subjects: [{kind: ServiceAccount, name: robot, namespace: NS}, {kind: User, name: jo, apiGroup: rbac.authorization.k8s.io}]
`,
  odds: `
apiVersion: v1
kind: Pod
metadata: {name: bound, labels: {app: odd}}
spec:
  nodeName: NS-1
  priority: 0
  terminationGracePeriodSeconds: 0
  initContainers: [{name: before, image: "app:1", restartPolicy: Always}]
  containers:
    - name: main
      image: app:1
      args: [serve]
      livenessProbe: {httpGet: {path: /healthz, port: 80}, periodSeconds: 5}
      readinessProbe: {tcpSocket: {port: 80}}
      startupProbe: {exec: {command: [ok]}}
      envFrom: [{configMapRef: {name: first}}, {secretRef: {name: extra, optional: true}}]
      volumeMounts: [{name: settings, mountPath: /settings, readOnly: true}]
      securityContext: {runAsUser: 1000}
  volumes:
    - {name: settings, configMap: {name: first}}
    - {name: hidden, secret: {secretName: extra, optional: true}}
    - {name: host, hostPath: {path: /data, type: Directory}}
    - {name: claimed, persistentVolumeClaim: {claimName: none}}
    - {name: about, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
    - {name: all, projected: {sources: [{configMap: {name: first}}, {serviceAccountToken: {path: t, expirationSeconds: 3600}}]}}
  topologySpreadConstraints:
    - {topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: odd}}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Pod, max: {cpu: "4"}}, {type: PersistentVolumeClaim, min: {storage: 1Gi}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "50", requests.cpu: "20"}, scopes: [NotBestEffort]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: in}
spec:
  ingressClassName: none
  tls: [{hosts: [a.example.com], secretName: extra}]
  rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: shut}
spec:
  podSelector: {matchLabels: {app: odd}}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  suspend: true
  completions: 3
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "app:1"}]}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: plain}
spec:
  replicas: 0
  selector: {matchLabels: {app: plain}}
  template: {metadata: {labels: {app: plain}}, spec: {containers: [{name: main, image: "app:1"}]}}
---
apiVersion: v1
kind: Endpoints
metadata: {name: by-hand}
subsets: [{addresses: [{ip: 10.1.2.3}], ports: [{name: http, port: 80}]}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: held}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
`,
  clusterWide: `
apiVersion: v1
kind: Node
metadata: {name: NS-1, labels: {kubernetes.io/hostname: NS-1}}
status:
  capacity: {cpu: "2", memory: 4Gi, pods: "10"}
  allocatable: {cpu: "2", memory: 4Gi, pods: "10"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: ready}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NS-slow, annotations: {storageclass.kubernetes.io/is-default-class: "false"}}
provisioner: example.com/disk
parameters: {type: slow}
allowVolumeExpansion: true
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: NS-disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: NS-slow
  csi: {driver: disk.example.com, volumeHandle: v1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS-all}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {none: here}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NS-all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NS-all}
subjects: [{kind: Group, name: some, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: NS-boxed}
handler: boxed
overhead: {podFixed: {cpu: 250m}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: NS-1}
spec: {drivers: [{name: disk.example.com, nodeID: n, allocatable: {count: 5}}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NS.example.com}
spec:
  group: NS.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, shortNames: [th]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
      additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                size: {type: integer, minimum: 1, description: How big it is.}
                replicas: {type: integer}
            status: {type: object, properties: {replicas: {type: integer}}}
`,
  thing: `
apiVersion: NS.example.com/v1
kind: Thing
metadata: {name: one}
spec: {size: 3, replicas: 1}
`,
};

function deployment(name: string, replicas: number): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: main, image: "app:1", ports: [{containerPort: 80}]}]}
`;
}

export const RARER_SCRIPT: readonly string[] = [
  // Lines with other ways to apply.
  "apply -f - <pair",
  "diff -f - <pair",
  "diff -f - <half",
  "diff --server-side -f - <half",
  "apply view-last-applied configmap first",
  "apply -f - --prune -l set=pair <half",
  "get configmaps -l set=pair",
  "apply --server-side -f - <pair",
  "apply --server-side -f - --prune -l set=pair <half",
  "apply set-last-applied -f - <half",
  "apply edit-last-applied configmap nothing",
  "kustomize kustomize",
  "apply -k kustomize",
  "diff -k kustomize",
  "get -k kustomize -o name",
  "delete -k kustomize",
  "apply -f pair.yaml -f web.yaml",
  "replace -f - <busy",
  "replace --force -f - <web",
  "replace -f - <base",
  "create -f - --save-config <base",
  "create -f - --dry-run=server -o name <base",
  "apply -f - --server-side --dry-run=server <busy",
  "apply -f - --server-side --dry-run=client <busy",
  "apply -f - --force --grace-period=0 <busy",
  'patch deployment web --dry-run=server -p \'{"spec":{"replicas":3}}\'',
  'patch deployment web --dry-run=client -p \'{"spec":{"replicas":3}}\' -o jsonpath={.spec.replicas}',
  "label deployment web --dry-run=server seen=yes",
  "annotate deployments --all --overwrite note=x",
  "annotate deployment web note=y",
  // Lines about creation.
  "create serviceaccount robot",
  "create token robot --duration=5m",
  "create token nobody",
  "create token robot --bound-object-kind=Pod --bound-object-name=nothing",
  "create job now --image=app:1 --dry-run=server -o yaml -- true",
  "create cronjob each --image=app:1 --schedule='0 0 1 1 *'",
  "create cronjob odd --image=app:1 --schedule='never'",
  "create job by-hand --from=cronjob/each --dry-run=server -o name",
  "create ingress made --rule=a.example.com/*=web:80 --dry-run=server -o yaml",
  "create service clusterip clus --tcp=80:8080 --dry-run=server",
  "create service nodeport node --tcp=80:8080",
  "create service loadbalancer load --tcp=80",
  "create service externalname ext --external-name=a.example.com",
  "create clusterrolebinding NS-bound --clusterrole=view --serviceaccount=NS:robot",
  "create quota many --hard=count/deployments.apps=5 --scopes=BestEffort",
  "create secret docker-registry reg --docker-server=r.example.com --docker-username=u --docker-password=p",
  "create configmap files --from-file=half.yaml",
  "create deployment many --image=a:1 --image=b:1 --replicas=0 --port=80",
  "create poddisruptionbudget half --selector=app=web --min-available=50%",
  // Lines about workloads.
  "expose deployment web --port=80 --target-port=8080 --name=front --type=NodePort",
  "expose deployment nothing --port=80",
  "set image deployment/web *=app:7",
  "set image deployment/web nothing=app:7",
  "set env deployment/web --from=configmap/first",
  "set env deployment/web A-",
  "set resources deployment/web -c=main --requests=cpu=1,memory=1Gi",
  "set selector service front app=other",
  "set subject rolebinding viewer --user=jo",
  "rollout status deployment/web --watch=false",
  "rollout undo deployment/web --dry-run=server",
  "rollout undo deployment/web",
  "rollout pause deployment/web",
  "rollout undo deployment/web",
  "rollout resume deployment/web",
  "rollout restart deployment/web deployment/many",
  "rollout status deployment/many --timeout=5s",
  "scale --replicas=0 deployment/web deployment/many",
  "scale --replicas=1 configmap/first",
  "scale --replicas=0 -f - <web",
  "autoscale deployment many --min=2 --max=1",
  "autoscale deployment nothing --max=3",
  // Lines about watches and waits.
  "during:get configmaps -l set=seen -w --output-watch-events --request-timeout=4s => create configmap seen --from-literal=a=1",
  "during:get configmaps -l set=seen -w --output-watch-events --request-timeout=4s => label configmap seen set=seen",
  "during:get configmaps -l set=seen -w --output-watch-events --request-timeout=4s => delete configmap seen",
  "during:get deployment web -o jsonpath={.spec.replicas} --watch-only --request-timeout=4s => scale deployment web --replicas=0",
  "during:wait configmap/later --for=delete --timeout=5s => get configmap later",
  'during:wait configmap/first --for=jsonpath={.data.a}=9 --timeout=8s => patch configmap first --type=merge -p \'{"data":{"a":"9"}}\'',
  "during:wait --for=create configmap/later --timeout=8s => create configmap later --from-literal=a=1",
  "during:wait configmap/later --for=delete --timeout=8s => delete configmap later",
  "wait configmap/first --for=jsonpath={.data.a} --timeout=1s",
  "wait configmap/first --for=jsonpath={.data.z}=1 --timeout=1s",
  "wait configmap/first --for=condition=Ready --timeout=1s",
  "wait deployment --all --for=condition=Available --timeout=20s",
  "wait deployment/web --for=condition=Available=False --timeout=1s",
  "wait nothing/x --for=delete --timeout=1s",
  // Lines about other kinds: definitions, custom objects and rarer built-in kinds.
  "apply -f - <clusterWide",
  "wait crd/things.NS.example.com --for=condition=Established --timeout=20s",
  "apply -f - <thing",
  "apply -f - <odds",
  "get thing",
  "get th one -o yaml",
  "scale thing one --replicas=3",
  "get th one -o jsonpath={.spec.replicas}",
  'patch thing one --type=merge -p \'{"spec":{"size":0}}\'',
  'patch thing one -p \'{"spec":{"size":4}}\'',
  'patch thing one --subresource=status --type=merge -p \'{"status":{"replicas":2}}\'',
  "get thing one --subresource=scale -o jsonpath={.status.replicas}",
  "explain thing.spec.size",
  "describe thing one",
  "describe crd things.NS.example.com",
  "api-resources --api-group=NS.example.com",
  "describe pod bound",
  "describe limitrange limits",
  "describe resourcequota quota",
  "describe ingress in",
  "describe networkpolicy shut",
  "describe job once",
  "describe replicaset plain",
  "describe endpoints by-hand",
  "describe lease held",
  "describe cronjob each",
  "describe storageclass NS-slow",
  "describe pv NS-disk",
  "describe clusterrole NS-all",
  "describe clusterrolebinding NS-all",
  "describe runtimeclass NS-boxed",
  "describe csinode NS-1",
  "describe node NS-1",
  "describe service front",
  "describe configmaps first second",
  "describe deploy",
  "describe namespace NS",
  "get pod bound -o wide",
  "get limits,quota,ingress,netpol,jobs,rs,endpoints,leases",
  "get ingress in -o yaml",
  "get job once -o wide",
  "get pv NS-disk -o wide",
  "get sc NS-slow",
  "get clusterrole NS-all -o yaml",
  "get runtimeclass NS-boxed",
  "get csinode NS-1",
  "get crd things.NS.example.com",
  "get configmaps --chunk-size=1 -o name",
  "get configmaps,secrets --no-headers -o custom-columns=:metadata.name",
  "get configmap first second -o jsonpath='{.items[*].metadata.name}'",
  "get pods --field-selector spec.nodeName=NS-1 -o name",
  "get pods --field-selector spec.nothing=1",
  "get events --field-selector involvedObject.name=nothing",
  "events --for deployment/nothing",
  "events --types=Normal,Nonsense",
  "get --raw /api/v1/namespaces/NS/configmaps/nothing",
  "get --raw /nothing",
  "get pod bound --subresource=status -o jsonpath={.status.phase}",
  "get pod bound --subresource=nothing",
  // Lines about rights.
  "auth reconcile -f - <access",
  "auth reconcile -f - <access",
  "auth reconcile -f - --dry-run=server <wider",
  "auth reconcile -f - <wider",
  "get role viewer -o yaml",
  "describe rolebinding viewer",
  "auth whoami -o jsonpath={.status.userInfo.username} --as=jo",
  "auth can-i --list --as=system:serviceaccount:NS:robot",
  "auth can-i '*' '*'",
  "auth can-i get pods/log --as=jo",
  "auth can-i get /healthz --as=jo",
  "auth can-i list nothings",
  "auth can-i delete nodes --as=jo -q",
  "auth can-i get deployments.apps/web --as=jo",
  "get nodes --as=jo",
  "delete configmap first --as=jo",
  "create deployment no --image=a --as=jo",
  "get pods --as=jo --as-group=system:masters -o name",
  // Lines about commands that the sandbox does not support, or answers differently.
  "debug bound --image=app:2 --container=look -- sleep 1",
  "get pod bound -o jsonpath={.spec.ephemeralContainers[*].name}",
  "debug node/NS-1 --image=app:2 --dry-run=client",
  "debug bound --copy-to=copied --image=app:2 --container=look",
  "get pod copied -o jsonpath={.spec.containers[*].name}",
  "port-forward pod/nothing 80",
  "cp nothing bound:/tmp",
  "logs deployment/nothing",
  "logs bound -c nothing",
  "cluster-info",
  "proxy --port=nonsense",
  "alpha",
  "nonsense",
  "options --nonsense",
  "api-versions --nonsense",
  // Lines about nodes.
  "taint nodes -l kubernetes.io/hostname=NS-1 a=b:NoSchedule c=d:PreferNoSchedule",
  "taint nodes NS-1 a=b:Nonsense",
  "taint nodes NS-1 a- c-",
  "cordon -l kubernetes.io/hostname=NS-1",
  "drain NS-1 --pod-selector=app=nothing",
  "drain NS-1 --force --disable-eviction --timeout=20s",
  "uncordon NS-1",
  // Lines about deletion.
  "delete deployment web --wait=false",
  "delete deployment many based --now",
  "delete pods -l app=odd --field-selector status.phase=Running",
  "delete thing --all",
  "delete rs/plain job/once",
  "delete configmap first/second",
  "delete configmaps",
  "delete all -l app=nothing",
  "delete -f - --ignore-not-found <odds",
  "delete -f - <clusterWide",
  "delete clusterrolebinding NS-bound",
  "get th",
];
