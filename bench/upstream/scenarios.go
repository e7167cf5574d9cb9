package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakecr "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test"
	nodepoolutils "sigs.k8s.io/karpenter/pkg/utils/nodepool"
)

// scenario is a small cluster as test/fuzz draws it: manifests and a catalogue.
type scenario struct {
	Manifests     []json.RawMessage `json:"manifests"`
	InstanceTypes []instanceType    `json:"instanceTypes"`
}

// outcome is what upstream makes of a scenario. An error is the set-up's.
type outcome struct {
	Claims        []claimed         `json:"newNodeClaims"`
	Existing      map[string]string `json:"existing"`
	Unschedulable map[string]string `json:"unschedulable"`
	Error         string            `json:"error,omitempty"`
}

type claimed struct {
	NodePool             string   `json:"nodePool"`
	Pods                 []string `json:"pods"`
	Requirements         []asked  `json:"requirements"`
	InstanceTypes        []string `json:"instanceTypes"`
	PriceMicroUsdPerHour int64    `json:"priceMicroUsdPerHour"`
}

type asked struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// planScenarios reads one scenario a line and writes one outcome a line.
func planScenarios(in io.Reader, out io.Writer) error {
	log.SetLogger(logging.NopLogger)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	writer := json.NewEncoder(out)
	for lines.Scan() {
		var read scenario
		if err := json.Unmarshal(lines.Bytes(), &read); err != nil {
			return err
		}
		if err := writer.Encode(guarded(read)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// guarded keeps one scenario from ending the run.
func guarded(read scenario) (result outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			result = outcome{Error: fmt.Sprintf("panic: %v", cause)}
		}
	}()
	result, err := planScenario(read)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return result
}

// objects are the manifests by kind.
type objects struct {
	pods, bound []*corev1.Pod
	nodes       []*corev1.Node
	daemons     []*corev1.Pod
	nodePools   []*v1.NodePool
	namespaces  []*corev1.Namespace
}

func sorted(manifests []json.RawMessage) (objects, error) {
	var all objects
	for _, text := range manifests {
		var head struct{ Kind string }
		if err := json.Unmarshal(text, &head); err != nil {
			return all, err
		}
		var err error
		switch head.Kind {
		case "Pod":
			pod := &corev1.Pod{}
			err = json.Unmarshal(text, pod)
			if pod.Spec.NodeName == "" {
				all.pods = append(all.pods, pod)
			} else {
				all.bound = append(all.bound, pod)
			}
		case "Node":
			node := &corev1.Node{}
			err = json.Unmarshal(text, node)
			all.nodes = append(all.nodes, node)
		case "DaemonSet":
			set := &appsv1.DaemonSet{}
			err = json.Unmarshal(text, set)
			daemon := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
			daemon.Name, daemon.Namespace, daemon.UID = set.Name, set.Namespace, types.UID(set.Name)
			all.daemons = append(all.daemons, daemon)
		case "NodePool":
			pool := v1.NodePool{}
			err = json.Unmarshal(text, &pool)
			all.nodePools = append(all.nodePools, test.NodePool(pool))
		case "Namespace":
			namespace := &corev1.Namespace{}
			err = json.Unmarshal(text, namespace)
			all.namespaces = append(all.namespaces, namespace)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func planScenario(read scenario) (outcome, error) {
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), test.Options())
	all, err := sorted(read.Manifests)
	if err != nil {
		return outcome{}, err
	}
	builder := fakecr.NewClientBuilder().WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.NodeName}
	})
	for _, one := range all.namespaces {
		builder.WithObjects(one.DeepCopy())
	}
	for _, one := range all.nodes {
		builder.WithObjects(one.DeepCopy())
	}
	for _, one := range all.bound {
		builder.WithObjects(one.DeepCopy())
	}
	kube := builder.Build()
	instanceTypes := instanceTypesOf(read.InstanceTypes)
	byPool := map[string][]*cloudprovider.InstanceType{}
	nodepoolutils.OrderByWeight(all.nodePools)
	for _, pool := range all.nodePools {
		byPool[pool.Name] = instanceTypes
	}
	cloud := fake.NewCloudProvider()
	cloud.InstanceTypes = instanceTypes
	clk := &clock.RealClock{}
	cluster := state.NewCluster(clk, kube, cloud)
	for _, node := range all.nodes {
		if err := cluster.UpdateNode(ctx, node); err != nil {
			return outcome{}, err
		}
	}
	for _, pod := range all.bound {
		if err := cluster.UpdatePod(ctx, pod); err != nil {
			return outcome{}, err
		}
	}
	nodes := cluster.DeepCopyNodes()
	topology, err := scheduling.NewTopology(ctx, kube, cluster, nodes, all.nodePools, byPool, all.pods)
	if err != nil {
		return outcome{}, fmt.Errorf("topology: %w", err)
	}
	scheduler := scheduling.NewScheduler(ctx, kube, all.nodePools, cluster, nodes, topology, byPool, all.daemons,
		events.NewRecorder(&record.FakeRecorder{}), clk, nil, nil)
	results, err := scheduler.Solve(ctx, all.pods)
	if err != nil {
		return outcome{}, fmt.Errorf("solve: %w", err)
	}
	return outcomeOf(results), nil
}

func outcomeOf(results scheduling.Results) outcome {
	found := outcome{Existing: map[string]string{}, Unschedulable: map[string]string{}}
	for _, claim := range results.NewNodeClaims {
		one := claimed{NodePool: claim.NodePoolName, PriceMicroUsdPerHour: price([]*scheduling.NodeClaim{claim})}
		for _, pod := range claim.Pods {
			one.Pods = append(one.Pods, key(pod))
		}
		for _, option := range claim.InstanceTypeOptions {
			one.InstanceTypes = append(one.InstanceTypes, option.Name)
		}
		for _, each := range claim.Requirements.NodeSelectorRequirements() {
			// The placeholder of a host name is taken off before a claim is made.
			if each.Key != corev1.LabelHostname {
				one.Requirements = append(one.Requirements, asked{each.Key, string(each.Operator), each.Values})
			}
		}
		found.Claims = append(found.Claims, one)
	}
	for _, node := range results.ExistingNodes {
		for _, pod := range node.Pods {
			found.Existing[key(pod)] = node.Name()
		}
	}
	for pod, err := range results.PodErrors {
		found.Unschedulable[key(pod)] = err.Error()
	}
	return found
}

func key(pod *corev1.Pod) string {
	return pod.Namespace + "/" + pod.Name
}

// scenarioFile plans every scenario of a file.
func scenarioFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return planScenarios(file, os.Stdout)
}
