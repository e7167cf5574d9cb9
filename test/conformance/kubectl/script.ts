/**
 * The commands of the first session: one line each, run in order in a namespace of its own. `NS` stands for that
 * namespace. `<name` at the end sends a manifest to standard input. A line that begins with `edit:` gets an editor
 * that replaces text.
 */
export const MANIFESTS: Readonly<Record<string, string>> = {
  web: deployment("web", "app:1"),
  web2: deployment("web", "app:2"),
  unknownField: deployment("odd", "app:1").replace("replicas: 0", "replicaz: 0"),
  mistyped: deployment("odd", "app:1").replace("replicas: 0", "replicas: many"),
  invalid: deployment("odd", "app:1").replace("labels: {app: web}", "labels: {app: other}"),
  conflicting: deployment("web", "app:3"),
  bundle: `
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue, size: "3"}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {password: hunter2}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "app:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {no: where}, containers: [{name: agent, image: "app:1"}]}
`,
  node: `
apiVersion: v1
kind: Node
metadata: {name: NS-1, labels: {kubernetes.io/hostname: NS-1, kubernetes.io/arch: amd64}}
status:
  capacity: {cpu: "2", memory: 4Gi, pods: "10"}
  allocatable: {cpu: "2", memory: 4Gi, pods: "10"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: ready}]
`,
  pods: `
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {app: solo}}
spec:
  nodeName: NS-1
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: "app:1", resources: {requests: {cpu: 100m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: b, labels: {app: solo}}
spec:
  nodeName: NS-1
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: "app:1"}]
`,
  waiting: `
apiVersion: v1
kind: Pod
metadata: {name: waiting, annotations: {why: because}}
spec:
  schedulerName: nobody
  priorityClassName: system-cluster-critical
  nodeSelector: {disk: ssd}
  tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]
  containers:
    - name: main
      image: app:1
      command: [sleep, "1"]
      ports: [{containerPort: 80}]
      env: [{name: COLOR, valueFrom: {configMapKeyRef: {name: settings, key: color}}}]
      resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
      volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
`,
};

function deployment(name: string, image: string): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, labels: {app: web}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: main
          image: ${image}
          ports: [{containerPort: 8080}]
          resources: {requests: {cpu: 100m, memory: 64Mi}}
`;
}

export const SCRIPT: readonly string[] = [
  // Lines about creation.
  "apply -f - <web",
  "apply -f - <web",
  "apply -f - <bundle",
  "apply --dry-run=client -f - <web2",
  "apply --dry-run=server -f - <web2",
  "apply -f - <unknownField",
  "apply -f - --validate=warn --dry-run=server <unknownField",
  "apply -f - <mistyped",
  "apply -f - <invalid",
  "create -f - <web",
  "create configmap more --from-literal=a=1 --from-literal=b=2",
  "create configmap more --from-literal=a=1",
  "create configmap Bad_Name --from-literal=a=1",
  "create secret generic extra --from-literal=user=me",
  "create serviceaccount robot",
  "create deployment other --image=app:1 --replicas=0",
  "create deployment printed --image=app:1 --dry-run=client -o yaml",
  "create cronjob nightly --image=app:1 --schedule='0 0 * * *' -- sleep 1",
  "create poddisruptionbudget guard --selector=app=other --max-unavailable=1",
  "create priorityclass NS-high --value=1000 --description=important",
  "create quota limited --hard=pods=100",
  "create role reader --verb=get,list --resource=pods",
  "create rolebinding reader --role=reader --serviceaccount=NS:robot",
  "create clusterrole printed --verb=get --resource=nodes --dry-run=client -o yaml",
  "create namespace NS-2",
  "expose deployment other --port=80",
  "run once --image=app:1 --restart=Never --dry-run=server -o name",
  // Lines that read objects.
  "get deployments",
  "get deployments -o wide",
  "get deployment web -o yaml",
  "get deployment web -o json",
  "get deployment web -o name",
  "get deployment web other --no-headers",
  "get deployments --show-labels",
  "get deployments -L app",
  "get deployment web -o jsonpath={.spec.template.spec.containers[*].image}",
  "get deployments -o jsonpath='{range .items[*]}{.metadata.name}={.spec.replicas}{\"\\n\"}{end}'",
  "get deployments -o custom-columns=NAME:.metadata.name,IMAGE:.spec.template.spec.containers[0].image",
  "get deployment web -o go-template={{.metadata.name}}",
  "get deployment web -o jsonpath-as-json={.spec.replicas}",
  "get configmap settings -o yaml --show-managed-fields",
  "get deployments -l app=web -o name",
  "get deployments -l 'app in (' -o name",
  "get --raw /readyz",
  "get deployments --field-selector metadata.name=web -o name",
  "get configmaps --sort-by=.metadata.name -o name",
  "get configmap settings -o jsonpath={.data}",
  "get deploy,svc,cm,sts,ds,pdb,pvc -o name",
  "get services web",
  "get service web -o wide",
  "get statefulsets,daemonsets",
  "get statefulset db -o yaml",
  "get daemonset agent -o yaml",
  "get pdb",
  "get pvc",
  "get cronjobs",
  "get secrets",
  "get serviceaccounts",
  "get roles,rolebindings",
  "get resourcequota limited",
  "get priorityclass NS-high",
  "get deployment nothing",
  "get nothings",
  "get deployment nothing --ignore-not-found",
  "get all",
  "get deployments -A -l app=web",
  "get controllerrevisions -o custom-columns=REVISION:.revision,OWNER:.metadata.ownerReferences[0].name",
  "describe deployment web",
  "describe service web",
  "describe replicasets -l app=other",
  "describe configmap settings",
  "describe secret token",
  "describe pdb web",
  "describe pvc data",
  "describe statefulset db",
  "describe daemonset agent",
  "describe cronjob nightly",
  "describe serviceaccount robot",
  "describe role reader",
  "describe priorityclass NS-high",
  "describe namespace NS-2",
  "describe deployment nothing",
  // Lines that change objects.
  'patch deployment web -p \'{"spec":{"minReadySeconds":3}}\'',
  'patch deployment web --type=merge -p \'{"spec":{"minReadySeconds":4}}\'',
  'patch deployment web --type=json -p \'[{"op":"replace","path":"/spec/minReadySeconds","value":5}]\'',
  'patch deployment web --type=json -p \'[{"op":"remove","path":"/spec/nothing"}]\'',
  'patch deployment web -p \'{"spec":{"minReadySeconds":5}}\'',
  'patch deployment web -p \'{"spec":{"selector":{"matchLabels":{"app":"x"}}}}\'',
  "patch deployment nothing -p '{}'",
  "patch deployment web --type=merge -p '{\"spec\":'",
  'patch poddisruptionbudget web --subresource=status --type=merge -p \'{"status":{"currentHealthy":7}}\'',
  "edit:color: blue|color: red edit configmap settings",
  "edit:color: blue|color: red edit configmap settings",
  "edit:replicas: 0|replicas: -1 edit deployment web",
  "get configmap settings -o jsonpath={.data.color}",
  "label deployment web tier=front",
  "label deployment web tier=back",
  "label deployment web tier=back --overwrite",
  "label deployment web tier-",
  "label deployment web tier-",
  "label deployment web bad_/x=1",
  "label deployment web --list",
  "label deployments --all side=left",
  "annotate deployment web note=hello",
  "annotate deployment web note-",
  "set image deployment/web main=app:9",
  "set env deployment/web COLOR=blue",
  "set env deployment/web --list",
  "set resources deployment/web --limits=cpu=200m",
  "set serviceaccount deployment/web robot",
  "scale deployment web --replicas=0",
  "scale deployment web --replicas=0 --current-replicas=7",
  "autoscale deployment web --min=1 --max=3 --cpu-percent=50",
  "apply -f - --server-side --field-manager=other <conflicting",
  "apply -f - --server-side --field-manager=other --force-conflicts <conflicting",
  "replace -f - <web2",
  // Lines about rollouts.
  "rollout status deployment/web",
  "rollout history deployment/web",
  "rollout history deployment/web --revision=1",
  "rollout history deployment/web --revision=99",
  "rollout undo deployment/web --to-revision=1",
  "rollout history deployment/web",
  "rollout undo deployment/web --to-revision=99",
  "rollout pause deployment/web",
  "rollout pause deployment/web",
  "rollout status deployment/web --timeout=1s",
  "rollout restart deployment/web",
  "rollout resume deployment/web",
  "rollout resume deployment/web",
  "rollout restart deployment/other",
  "rollout status deployment/other",
  "set image statefulset/db db=app:2",
  "rollout status statefulset/db",
  "rollout history statefulset/db",
  "rollout history statefulset/db --revision=2",
  "rollout undo statefulset/db",
  "rollout history statefulset/db",
  "get statefulset db -o jsonpath={.spec.template.spec.containers[0].image}",
  "rollout restart statefulset/db",
  "set image daemonset/agent agent=app:2",
  "rollout status daemonset/agent",
  "rollout history daemonset/agent",
  "rollout undo daemonset/agent --to-revision=1",
  "get daemonset agent -o jsonpath={.spec.template.spec.containers[0].image}",
  // Lines about nodes and their pods.
  "create -f - <node",
  "get node NS-1 -o jsonpath={.spec.taints[*].key}",
  "taint nodes NS-1 node.kubernetes.io/not-ready-",
  "taint nodes NS-1 team=x:NoSchedule",
  "taint nodes NS-1 team=y:NoSchedule",
  "taint nodes NS-1 team=y:NoSchedule --overwrite",
  "taint nodes NS-1 team:NoSchedule-",
  "taint nodes NS-1 team:NoSchedule-",
  "apply -f - <pods",
  "get pods",
  "get pods -o wide",
  "get node NS-1",
  "get nodes -l kubernetes.io/hostname=NS-1 -o wide",
  "describe node NS-1",
  "label node NS-1 disk=ssd",
  "cordon NS-1",
  "cordon NS-1",
  "uncordon NS-1",
  "drain NS-1",
  "get node NS-1",
  "drain NS-1 --force --dry-run=client",
  "drain NS-1 --force --dry-run=server",
  "drain NS-1 --force --ignore-daemonsets",
  "get pods",
  "uncordon NS-1",
  "uncordon nothing",
  // Lines about pending pods.
  "apply -f - <waiting",
  "get pod waiting",
  "get pod waiting -o yaml",
  "describe pod waiting",
  "wait pod/waiting --for=condition=Ready --timeout=1s",
  "wait pod/waiting --for=jsonpath={.status.phase}=Pending --timeout=5s",
  "wait deployment/other --for=condition=Available --timeout=10s",
  "wait pod/nothing --for=delete --timeout=5s",
  "logs waiting",
  "exec waiting -- true",
  "top pods",
  "top nodes",
  "auth can-i create pods",
  "auth can-i list pods --as=system:serviceaccount:NS:robot",
  "auth can-i create pods --as=system:serviceaccount:NS:robot",
  "get deployments --as=system:serviceaccount:NS:robot",
  // Command lines that explain kinds and fields.
  "explain deployment",
  "explain deployment.spec.strategy",
  "explain pod.spec.tolerations.effect",
  "explain poddisruptionbudget.spec --recursive",
  "explain deployment.spec.nothing",
  "explain nothings",
  // Lines about deletion.
  "delete configmap more",
  "delete configmap more",
  "delete configmap more --ignore-not-found",
  "delete deployment other --dry-run=client",
  "delete deployment other --cascade=orphan",
  "get replicasets -l app=other --no-headers",
  "delete statefulset db --cascade=foreground",
  "delete daemonset agent --cascade=background",
  "delete pod waiting --force --grace-period=0",
  "delete deployments -l app=web",
  "delete secrets --all",
  "delete -f - <bundle",
  "delete node NS-1",
  "delete priorityclass NS-high",
  "delete namespace NS-2",
  "api-resources --api-group=apps",
  "api-resources --api-group=batch",
  "api-resources --api-group=rbac.authorization.k8s.io --no-headers",
  "api-resources --namespaced=false --api-group=''",
  "api-resources --api-group=policy -o wide",
  "version",
];
