// Upstream's question about one node, run beside ours: could it go, its pods elsewhere or on a new node?
//
//	go run ./consolidation [-candidates N] cluster.json
//
// It reads a cluster that bench/consolidation.ts drew, fills upstream's cluster state with it, and times
// disruption.SimulateScheduling for N of its nodes, spread evenly. The client answers from maps without
// copying, which is cheaper than the informer cache of a real operator. Prints one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakecr "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"
)

const fakeTypes = 400

type cluster struct {
	NodePools []v1.NodePool            `json:"nodePools"`
	Templates []corev1.PodTemplateSpec `json:"templates"`
	Nodes     []nodeFacts              `json:"nodes"`
}

type nodeFacts struct {
	Name        string              `json:"name"`
	Labels      map[string]string   `json:"labels"`
	Capacity    corev1.ResourceList `json:"capacity"`
	Allocatable corev1.ResourceList `json:"allocatable"`
	// Indices of templates: a pod each.
	Pods []int `json:"pods"`
}

type report struct {
	Nodes int       `json:"nodes"`
	Ms    []float64 `json:"ms"`
	CPUMs float64   `json:"cpuMs"`
	// Candidates whose pods all found a place.
	Placed   int `json:"placed"`
	Replaced int `json:"replaced"`
}

func main() {
	candidates := flag.Int("candidates", 5, "nodes to ask about")
	flag.Parse()
	if flag.NArg() != 1 || *candidates < 1 {
		fail(fmt.Errorf("wanted: [-candidates N] cluster.json"))
	}
	text, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		fail(err)
	}
	var read cluster
	if err := json.Unmarshal(text, &read); err != nil {
		fail(fmt.Errorf("%s: %w", flag.Arg(0), err))
	}
	result, err := measure(read, *candidates)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func measure(read cluster, count int) (report, error) {
	log.SetLogger(logging.NopLogger)
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "disruption"), test.Options())
	cloud := fake.NewCloudProvider()
	cloud.InstanceTypes = fake.InstanceTypes(fakeTypes)
	clk := clock.RealClock{}
	recorder := events.NewRecorder(&record.FakeRecorder{})
	objects := &objects{Client: fakecr.NewFakeClient(), nodes: map[string]*corev1.Node{}, pods: map[string][]corev1.Pod{}}
	pools := map[string]*v1.NodePool{}
	typesByPool := map[string]map[string]*cloudprovider.InstanceType{}
	for i := range read.NodePools {
		pool := test.NodePool(read.NodePools[i])
		// The fake cloud provider's own class: pools of others are not its business.
		pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.test.sh", Kind: "TestNodeClass", Name: "default"}
		pool.StatusConditions().SetTrue(v1.ConditionTypeValidationSucceeded)
		pool.StatusConditions().SetTrue(v1.ConditionTypeNodeClassReady)
		objects.pools = append(objects.pools, *pool)
		pools[pool.Name] = pool
		typesByPool[pool.Name] = map[string]*cloudprovider.InstanceType{}
		for _, one := range cloud.InstanceTypes {
			typesByPool[pool.Name][one.Name] = one
		}
	}
	known := state.NewCluster(clk, objects, cloud)
	if err := fill(ctx, read, objects, known); err != nil {
		return report{}, err
	}
	provisioner := provisioning.NewProvisioner(objects, recorder, cloud, known, clk, nil, nil)
	queue := disruption.NewQueue(objects, recorder, known, clk, provisioner)
	result := report{Nodes: len(read.Nodes)}
	nodes := known.DeepCopyNodes()
	var total time.Duration
	for i := range count {
		name := read.Nodes[i*len(read.Nodes)/count].Name
		for _, node := range nodes {
			if node.Name() != name {
				continue
			}
			candidate, err := disruption.NewCandidate(ctx, objects, recorder, clk, node, pdb.Limits{}, pools, typesByPool, queue, disruption.GracefulDisruptionClass)
			if err != nil {
				return report{}, fmt.Errorf("candidate %s: %w", name, err)
			}
			before, start := cpuTime(), time.Now()
			found, err := disruption.SimulateScheduling(ctx, objects, known, provisioner, clk, recorder, nil, disruption.SimulationOptions{}, candidate)
			if err != nil {
				return report{}, fmt.Errorf("simulating without %s: %w", name, err)
			}
			result.Ms = append(result.Ms, float64(time.Since(start).Microseconds())/1000)
			total += cpuTime() - before
			if found.AllNonPendingPodsScheduled() {
				result.Placed++
			}
			if len(found.NewNodeClaims) > 0 {
				result.Replaced++
			}
		}
	}
	result.CPUMs = float64(total.Microseconds()) / 1000
	return result, nil
}

// fill tells the cluster state of all nodes, claims and pods, as its informers would.
func fill(ctx context.Context, read cluster, objects *objects, known *state.Cluster) error {
	for index, facts := range read.Nodes {
		providerID := "bench://" + facts.Name
		meta := metav1.ObjectMeta{Name: facts.Name, Labels: facts.Labels, CreationTimestamp: metav1.Now()}
		node := &corev1.Node{
			ObjectMeta: meta,
			Spec:       corev1.NodeSpec{ProviderID: providerID},
			Status: corev1.NodeStatus{
				Capacity:    facts.Capacity,
				Allocatable: facts.Allocatable,
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		}
		claim := &v1.NodeClaim{ObjectMeta: meta, Status: v1.NodeClaimStatus{
			ProviderID: providerID, NodeName: facts.Name, Capacity: facts.Capacity, Allocatable: facts.Allocatable,
		}}
		for _, condition := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized} {
			claim.StatusConditions().SetTrue(condition)
		}
		objects.nodes[facts.Name] = node
		for at, template := range facts.Pods {
			objects.pods[facts.Name] = append(objects.pods[facts.Name], podOf(read.Templates[template], facts.Name, index, at))
		}
		known.UpdateNodeClaim(claim)
		if err := known.UpdateNode(ctx, node); err != nil {
			return fmt.Errorf("node %s: %w", facts.Name, err)
		}
		for at := range objects.pods[facts.Name] {
			if err := known.UpdatePod(ctx, &objects.pods[facts.Name][at]); err != nil {
				return fmt.Errorf("pod of %s: %w", facts.Name, err)
			}
		}
	}
	return nil
}

func podOf(template corev1.PodTemplateSpec, nodeName string, index, at int) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name = fmt.Sprintf("%s-%d", nodeName, at)
	pod.Namespace = "default"
	pod.UID = types.UID(fmt.Sprintf("%08d-%s", uint32(index*16+at)*2654435761%100_000_000, pod.Name))
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "bench", UID: "bench"}}
	pod.Spec.NodeName = nodeName
	pod.Status.Phase = corev1.PodRunning
	return pod
}

// objects answers what upstream reads in a simulation; all else is empty.
type objects struct {
	client.Client
	pools []v1.NodePool
	nodes map[string]*corev1.Node
	pods  map[string][]corev1.Pod
}

func (o *objects) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if node, ok := into.(*corev1.Node); ok {
		if known := o.nodes[key.Name]; known != nil {
			*node = *known
			return nil
		}
	}
	return o.Client.Get(ctx, key, into, opts...)
}

func (o *objects) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	switch list := into.(type) {
	case *v1.NodePoolList:
		list.Items = append([]v1.NodePool{}, o.pools...)
		return nil
	case *corev1.PodList:
		var wanted client.ListOptions
		wanted.ApplyOptions(opts)
		if wanted.FieldSelector != nil {
			name, _ := wanted.FieldSelector.RequiresExactMatch("spec.nodeName")
			list.Items = append([]corev1.Pod{}, o.pods[name]...)
			return nil
		}
		for _, pods := range o.pods {
			for i := range pods {
				if wanted.Namespace != "" && wanted.Namespace != pods[i].Namespace {
					continue
				}
				if wanted.LabelSelector == nil || wanted.LabelSelector.Matches(labelSet(pods[i].Labels)) {
					list.Items = append(list.Items, pods[i])
				}
			}
		}
		return nil
	}
	return o.Client.List(ctx, into, opts...)
}

type labelSet map[string]string

func (l labelSet) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelSet) Get(key string) string            { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) { value, ok := l[key]; return value, ok }

// cpuTime is what all threads of the process have used so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
