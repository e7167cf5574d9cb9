/**
 * What people type about nodes that are added and removed: drains and evictions, taints, budgets, Karpenter's own
 * kinds, waits and watches, rollouts with pods. The format is that of script.ts. Karpenter's kinds are installed.
 * No kubelet runs: the session itself patches the status of pods.
 */
export const DISRUPTION_MANIFESTS: Readonly<Record<string, string>> = {
  nodes: `${node("NS-1", "a")}---${node("NS-2", "b")}`,
  web: `${pod("web-a", "web", "NS-1")}---${pod("web-b", "web", "NS-2")}---${pod("web-c", "web", "NS-2")}---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "app:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
`,
  agent: `${pod("agent-1", "agent", "NS-1")}---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {kubernetes.io/hostname: NS-1}, containers: [{name: main, image: "app:1"}]}
`,
  alone: `
apiVersion: v1
kind: Pod
metadata: {name: alone, labels: {app: alone}, annotations: {karpenter.sh/do-not-disrupt: "true"}}
spec:
  nodeName: NS-2
  terminationGracePeriodSeconds: 30
  containers: [{name: main, image: "app:1"}]
  volumes: [{name: scratch, emptyDir: {}}]
`,
  second: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: second}
spec: {maxUnavailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {matchLabels: {app: web}}}
`,
  evictA: eviction("web-a"),
  evictC: eviction("web-c"),
  evictDry: eviction("web-c", { dryRun: ["All"] }),
  evictWrong: eviction("web-c", {
    preconditions: { uid: "00000000-0000-0000-0000-000000000000" },
  }),
  evictNobody: eviction("nobody"),
  evictYaml: "{apiVersion: policy/v1, kind: Eviction, metadata: {name: web-c}}",
  db: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {tier: data}}
spec:
  replicas: 2
  serviceName: db
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "app:1"}]
`,
  front: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: front, labels: {tier: web}, annotations: {karpenter.sh/zero-downtime: "true"}}
spec:
  replicas: 2
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec: {containers: [{name: main, image: "app:1"}]}
`,
  pool: pool("NS-pool", "", ""),
  badBudget: pool("NS-bad", "", 'budgets: [{nodes: "120%"}]'),
  badSchedule: pool("NS-bad", "", 'budgets: [{nodes: "1", schedule: "@daily"}]'),
  badReason: pool("NS-bad", "", 'budgets: [{nodes: "1", reasons: [Boredom]}]'),
  badPolicy: pool("NS-bad", "", "consolidationPolicy: Sometimes"),
  badTaint: pool("NS-bad", "taints: [{key: team, effect: Never}]", ""),
  badExpiry: pool("NS-bad", "expireAfter: 1 day", ""),
  unknownField: pool("NS-bad", "expireAfterr: 1h", ""),
  fixed: `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NS-fixed}
spec:
  replicas: 2
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: none}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
`,
  claim: `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: NS-claim
  labels: {karpenter.sh/nodepool: NS-pool}
  finalizers: [karpenter.sh/termination]
spec:
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: none}
  requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
  expireAfter: 720h
`,
  told: `
apiVersion: v1
kind: Event
metadata: {name: NS-nominated}
involvedObject: {apiVersion: v1, kind: Pod, name: alone, namespace: NS}
type: Warning
reason: FailedScheduling
message: no place
source: {component: karpenter}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
count: 1
`,
};

function node(name: string, zone: string): string {
  return `
apiVersion: v1
kind: Node
metadata:
  name: ${name}
  labels:
    kubernetes.io/hostname: ${name}
    kubernetes.io/arch: amd64
    karpenter.sh/nodepool: NS-pool
    karpenter.sh/capacity-type: spot
    node.kubernetes.io/instance-type: m5.large
    topology.kubernetes.io/zone: ${zone}
spec: {providerID: "fake://${name}"}
status:
  capacity: {cpu: "2", memory: 4Gi, pods: "10"}
  allocatable: {cpu: 1900m, memory: 3Gi, pods: "10"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: ready}]
  nodeInfo: {kubeletVersion: v1.34.4, osImage: none, kernelVersion: "6", containerRuntimeVersion: "fake://1"}
`;
}

function pod(name: string, app: string, on: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${app}}}
spec:
  nodeName: ${on}
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: "app:1", resources: {requests: {cpu: 100m}}}]
`;
}

/** An Eviction as JSON, which kubectl sends unchanged. */
function eviction(name: string, deleteOptions = {}): string {
  const metadata = { name, namespace: "NS" };
  return JSON.stringify({ apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions });
}

function pool(name: string, spec: string, disruption: string): string {
  return `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ${name}}
spec:
  limits: {cpu: 100}
  weight: 10
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: none}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
      ${spec}
  disruption:
    consolidateAfter: 1m
    ${disruption}
`;
}

const status = (kind: string, name: string, body: string): string =>
  `patch ${kind} ${name} --subresource=status --type=merge -p '{"status":${body}}'`;
const READY = '{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}';
const conditionOf = (type: string, value: string): string =>
  `{"conditions":[{"type":"${type}","status":"${value}","reason":"Told","message":"told","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`;
const evict = (name: string, manifest: string): string =>
  `create --raw /api/v1/namespaces/NS/pods/${name}/eviction -f - <${manifest}`;

export const DISRUPTION_SCRIPT: readonly string[] = [
  "create -f - <nodes",
  "taint nodes NS-1 NS-2 node.kubernetes.io/not-ready:NoSchedule-",
  "apply -f - <web",
  "apply -f - <agent",
  "apply -f - <alone",
  ...["web-a", "web-b", "web-c", "agent-1", "alone"].map((name) => status("pod", name, READY)),
  "wait pdb/web --for=jsonpath={.status.currentHealthy}=3 --timeout=20s",
  "wait daemonset/agent --for=jsonpath={.status.numberReady}=1 --timeout=20s",
  "wait rs/web --for=jsonpath={.status.readyReplicas}=3 --timeout=20s",
  // Lines that read nodes and what blocks their disruption.
  "get nodes -l karpenter.sh/nodepool=NS-pool -L karpenter.sh/nodepool,karpenter.sh/capacity-type,node.kubernetes.io/instance-type,topology.kubernetes.io/zone",
  "get nodes -l karpenter.sh/nodepool=NS-pool -o wide",
  "get nodes -l karpenter.sh/nodepool=NS-pool -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key,CPU:.status.allocatable.cpu",
  "get nodes -l 'karpenter.sh/nodepool in (NS-pool),!nothing' --sort-by=.metadata.labels.topology\\.kubernetes\\.io/zone -o name",
  "get nodes NS-1 -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'",
  "get pods -o wide --sort-by=.spec.nodeName",
  "get pods --field-selector spec.nodeName=NS-1,status.phase=Running -o name",
  "get pods --field-selector spec.nodeName!=NS-1 -o name",
  "get pdb",
  "get pdb -o wide",
  "get pdb web -o yaml",
  "describe pdb web",
  "describe node NS-1",
  "describe pod alone",
  "describe daemonset agent",
  "describe rs web",
  "top node NS-1",
  "top pods --containers",
  "top pod alone --no-headers",
  // Lines about cordons and taints.
  "cordon NS-1 NS-2",
  "cordon -l karpenter.sh/nodepool=NS-pool --dry-run=server",
  "get nodes -l karpenter.sh/nodepool=NS-pool",
  "uncordon -l karpenter.sh/nodepool=NS-pool",
  "cordon nobody",
  "taint nodes NS-1 karpenter.sh/disrupted:NoSchedule",
  "taint nodes NS-1 karpenter.sh/disrupted:NoSchedule",
  "taint nodes NS-1 karpenter.sh/disrupted:PreferNoSchedule",
  "taint nodes NS-1 a=b:NoSchedule a=c:NoSchedule",
  "taint nodes NS-1 a=b:NoSchedule a-",
  "taint nodes NS-1 spec=a:b:NoSchedule",
  "taint nodes nobody a=b:NoSchedule",
  "taint nodes NS-1 nothing-",
  "taint nodes -l karpenter.sh/nodepool=NS-pool team=x:NoSchedule --dry-run=server",
  "get node NS-1 -o jsonpath={.spec.taints}",
  "taint nodes NS-1 karpenter.sh/disrupted-",
  // Lines about annotations that block disruption.
  "annotate node NS-1 karpenter.sh/do-not-disrupt=true",
  "annotate node NS-1 karpenter.sh/do-not-disrupt=false",
  "annotate node NS-1 karpenter.sh/do-not-disrupt=false --overwrite",
  "annotate node NS-1 karpenter.sh/do-not-disrupt=x --overwrite --resource-version=1",
  "annotate pod alone --list",
  "annotate nodes -l karpenter.sh/nodepool=NS-pool karpenter.sh/do-not-disrupt-",
  "annotate pods -l app=web karpenter.sh/do-not-disrupt=4h",
  "annotate pods --field-selector spec.nodeName=NS-2 seen=yes --dry-run=server -o name",
  "label node NS-1 karpenter.sh/nodepool=other",
  "label node NS-1 topology.kubernetes.io/zone- --dry-run=server",
  "label node NS-1 'bad value=x y'",
  // Lines about single evictions.
  evict("web-c", "evictYaml"),
  evict("web-c", "evictDry"),
  evict("web-c", "evictC"),
  evict("nobody", "evictNobody"),
  evict("web-a", "evictNobody"),
  "apply -f - <second",
  'patch pdb web --type=merge -p \'{"spec":{"minAvailable":2}}\'',
  "wait pdb/web --for=jsonpath={.status.disruptionsAllowed}=1 --timeout=20s",
  "wait pdb/second --for=jsonpath={.status.disruptionsAllowed}=1 --timeout=20s",
  evict("web-c", "evictC"),
  "delete pdb second",
  evict("web-c", "evictWrong"),
  evict("web-c", "evictC"),
  "get pods -l app=web --field-selector spec.nodeName!= -o name",
  "get pods -l app=web --field-selector spec.nodeName= -o custom-columns=STATUS:.status.phase",
  "wait pdb/web --for=jsonpath={.status.disruptionsAllowed}=0 --timeout=20s",
  evict("web-a", "evictA"),
  "auth can-i create pods/eviction",
  "auth can-i create pods --subresource=eviction --as=system:serviceaccount:NS:default",
  "auth can-i patch nodes --as=system:serviceaccount:NS:default",
  "auth can-i delete nodeclaims.karpenter.sh",
  "auth can-i update nodepools --subresource=status",
  "auth can-i '*' nodepools.karpenter.sh/NS-pool",
  "auth can-i evict pods",
  "auth can-i get nodeclaims -A --as=system:serviceaccount:NS:default",
  "create --as=system:serviceaccount:NS:default --raw /api/v1/namespaces/NS/pods/web-a/eviction -f - <evictA",
  // Lines about drains.
  "drain NS-1",
  "drain NS-1 --ignore-daemonsets --timeout=7s",
  "drain NS-1 --ignore-daemonsets --dry-run=client",
  "drain NS-2 --ignore-daemonsets --timeout=5s",
  "drain NS-2 --force --timeout=5s",
  "drain NS-2 --force --delete-emptydir-data --pod-selector=app=alone --timeout=3s",
  "get pod alone",
  "get pod alone -o jsonpath={.metadata.deletionGracePeriodSeconds}",
  "describe pod alone",
  "drain NS-2 --force --delete-emptydir-data --pod-selector=app=alone --skip-wait-for-delete-timeout=1 --timeout=8s",
  "drain nobody",
  "drain",
  "drain NS-1 -l karpenter.sh/nodepool=NS-pool",
  "drain -l karpenter.sh/nodepool=NS-pool --pod-selector=app=nothing",
  "drain NS-1 --ignore-daemonsets --pod-selector 'app in ('",
  'during:drain NS-1 --ignore-daemonsets --timeout=20s => patch pdb web --type=merge -p \'{"spec":{"minAvailable":0}}\'',
  "get pods --field-selector spec.nodeName=NS-1 -o name",
  "get nodes -l kubernetes.io/hostname=NS-1",
  "drain NS-1 --force --ignore-daemonsets --disable-eviction --grace-period=0",
  "uncordon NS-1 NS-2",
  "uncordon NS-1",
  "debug node/NS-1 --image=app:2 --attach=false -- sleep 1",
  "get pods --field-selector spec.nodeName=NS-1 -o custom-columns=IMAGE:.spec.containers[*].image,PID:.spec.hostPID,TOLERATES:.spec.tolerations[*].operator",
  "debug node/nobody --image=app:2 --attach=false",
  "delete pods --field-selector spec.nodeName=NS-1,metadata.name!=agent-1 --force --grace-period=0",
  "delete pod alone --force",
  "delete pod alone --now --ignore-not-found",
  // Lines about watches and waits.
  "during:get nodes NS-1 -w --output-watch-events --request-timeout=4s => cordon NS-1",
  "during:get node NS-1 -o jsonpath='{.spec.unschedulable} ' --watch-only --request-timeout=4s => uncordon NS-1",
  `during:wait node/NS-1 --for=condition=Ready=False --timeout=8s => ${status("node", "NS-1", conditionOf("Ready", "False"))}`,
  "get nodes -l kubernetes.io/hostname=NS-1",
  "wait node/NS-1 --for=condition=Ready --timeout=1s",
  "wait nodes -l karpenter.sh/nodepool=nothing --for=condition=Ready --timeout=1s",
  "wait nodes -l karpenter.sh/capacity-type=spot --for=jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'=False --timeout=1s",
  "wait node/nobody --for=condition=Ready --timeout=1s",
  "apply -f - <told",
  "get events --field-selector reason=FailedScheduling -o wide",
  "get events --sort-by=.lastTimestamp -o custom-columns=REASON:.reason,WHAT:.message --field-selector reason=FailedScheduling",
  "events --types=Warning",
  "events -n default --for node/NS-2",
  "describe node NS-2",
  // Lines about Karpenter's own kinds.
  "apply -f - <pool",
  "apply -f - <pool",
  ...[
    "badBudget",
    "badSchedule",
    "badReason",
    "badPolicy",
    "badTaint",
    "badExpiry",
    "unknownField",
  ].map((name) => `apply -f - <${name}`),
  "apply -f - --dry-run=server -o name <fixed",
  "apply -f - <fixed",
  "apply -f - <claim",
  "get nodepools NS-pool NS-fixed",
  "get nodepool NS-pool -o wide",
  "get nodepool NS-pool -o yaml",
  "get nodepool NS-pool -o jsonpath={.spec.disruption}",
  "get nodeclaims NS-claim",
  "get nodeclaim NS-claim -o wide",
  "get nodeclaim -l karpenter.sh/nodepool=NS-pool -o name",
  "describe nodepool NS-pool",
  "describe nodeclaim NS-claim",
  "explain nodepool.spec.disruption",
  "explain nodepool.spec.disruption.budgets",
  "explain nodepool.spec.disruption.budgets.reasons",
  "explain nodepool.spec.template.spec.expireAfter",
  "explain nodepool.spec.template.spec.terminationGracePeriod",
  "explain nodepool.spec.disruption --recursive",
  "explain nodepool.spec.disruption.nothing",
  "explain nodeclaim.status.conditions",
  "explain nodeclaim.spec.requirements --recursive",
  "explain pdb.spec.unhealthyPodEvictionPolicy",
  "explain deployment.spec.strategy.rollingUpdate.maxSurge",
  "explain pod.spec.terminationGracePeriodSeconds",
  "explain nodepool --api-version=karpenter.sh/v1beta1",
  "explain nodepool.spec --api-version=karpenter.sh/v9",
  "api-resources --api-group=karpenter.sh",
  "api-resources --api-group=karpenter.sh -o wide --no-headers",
  'patch nodepool NS-pool --type=merge -p \'{"spec":{"disruption":{"budgets":[{"nodes":"0","schedule":"0 9 * * mon-fri","duration":"8h","reasons":["Drifted"]},{"nodes":"20%"}]}}}\'',
  'patch nodepool NS-pool --type=merge -p \'{"spec":{"disruption":{"budgets":[{"nodes":"1","duration":"8h"}]}}}\'',
  'patch nodepool NS-pool -p \'{"spec":{"weight":20}}\'',
  'patch nodepool NS-pool --type=json -p \'[{"op":"add","path":"/spec/disruption/budgets/-","value":{"nodes":"5"}}]\'',
  'patch nodepool NS-pool --type=json -p \'[{"op":"test","path":"/spec/weight","value":11},{"op":"remove","path":"/spec/weight"}]\'',
  'patch nodepool NS-pool --type=merge -p \'{"spec":{"replicas":3}}\'',
  status("nodepool", "NS-pool", conditionOf("Ready", "True")),
  status(
    "nodeclaim",
    "NS-claim",
    '{"capacity":{"cpu":"2"},"nodeName":"NS-1","providerID":"fake://NS-1"}',
  ),
  `during:wait nodeclaim/NS-claim --for=condition=Drifted --timeout=8s => ${status("nodeclaim", "NS-claim", conditionOf("Drifted", "True"))}`,
  "wait nodepool/NS-pool --for=condition=Ready --timeout=5s",
  "wait nodepools --all --for=condition=Ready --timeout=1s",
  "get nodepool NS-pool",
  "get nodeclaim NS-claim -o wide",
  "edit:weight: 10|weight: 30 edit nodepool NS-pool",
  'edit:nodes: "5"|nodes: "7" edit nodepool NS-pool -o json',
  "edit:consolidateAfter: 1m|consolidateAfter: soon edit nodepool NS-pool",
  "edit:providerID: fake|providerID: other edit nodeclaim NS-claim --subresource=status",
  "edit:kubernetes.io/os|kubernetes.io/arch edit nodeclaim NS-claim",
  "get nodepool NS-pool -o jsonpath={.spec.weight}",
  "annotate nodepool NS-pool karpenter.sh/disruption-paused=true",
  "annotate nodepools --all karpenter.sh/disruption-paused-",
  "scale nodepool NS-fixed --replicas=4",
  "scale nodepool NS-fixed --replicas=5 --current-replicas=2",
  "scale nodepool NS-pool --replicas=1",
  "scale nodepool NS-fixed --replicas=-1",
  "get nodepool NS-fixed --subresource=scale",
  'patch nodepool NS-fixed --subresource=scale --type=merge -p \'{"spec":{"replicas":1}}\'',
  "get nodepool NS-fixed -o jsonpath={.spec.replicas}",
  "autoscale nodepool NS-fixed --max=3",
  "rollout restart nodepool NS-pool",
  "rollout status nodepool NS-pool",
  "set image nodepool/NS-pool main=app:2",
  "expose nodepool NS-pool --port=80",
  "logs nodeclaim/NS-claim",
  // Lines about rollouts with pods.
  "apply -f - <db",
  "get statefulset db",
  ...["db-0", "db-1"].map((name) => status("pod", name, READY)),
  "rollout status statefulset/db --timeout=20s",
  "get statefulset db",
  "get pods -l app=db",
  "delete pod db-1 --force --grace-period=0",
  "rollout status statefulset/db --timeout=2s",
  status("pod", "db-1", READY),
  "rollout restart statefulset/db",
  "rollout status statefulset/db --timeout=2s",
  "rollout history statefulset/db",
  "rollout undo statefulset/db",
  "rollout undo statefulset/db --to-revision=7",
  "scale statefulset db --replicas=1 --timeout=20s",
  "scale statefulset db --replicas=3 --current-replicas=2",
  "scale statefulset --all --replicas=0",
  "wait pod/db-0 --for=delete --timeout=20s",
  "apply -f - <front",
  "rollout status deployment/front --timeout=2s",
  "rollout restart deployment -l tier=web",
  "rollout restart deployment -l tier=nothing",
  "rollout status deployment -l tier=web --timeout=2s",
  "rollout history deployment/front",
  "rollout undo deployment/front --dry-run=server",
  "rollout undo deployment/front",
  "rollout undo deployment/nothing",
  "get deployment front",
  "wait deployment/front --for=condition=Progressing --timeout=5s",
  "wait deployment/front --for=condition=Available=False --timeout=5s",
  "describe deployment front",
  "set env deployment/front WHEN=now",
  "rollout status deployment/front --timeout=1s --revision=1",
  "scale deployment front --replicas=0 --timeout=20s",
  // Lines about deletion.
  "delete nodeclaim NS-claim --timeout=2s",
  "get nodeclaim NS-claim -o jsonpath={.metadata.finalizers}",
  "delete nodeclaim NS-claim --wait=false",
  "delete nodeclaim NS-claim --force --grace-period=0 --wait=false",
  'during:wait nodeclaim/NS-claim --for=delete --timeout=8s => patch nodeclaim NS-claim --type=merge -p \'{"metadata":{"finalizers":null}}\'',
  "delete nodepool NS-pool NS-fixed nobody",
  "delete nodepools -l app=nothing",
  "delete node NS-1 --dry-run=server",
  "delete node NS-1 NS-2 --wait=false",
  "get nodes -l karpenter.sh/nodepool=NS-pool",
  "delete rs,ds,sts,deploy,pdb --all",
];
