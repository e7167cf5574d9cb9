// Upstream's scheduler on a workload file of this bench: the opponent, run beside ours.
//
//	go run . [-workers N] workload.json
//	go run . -scenarios scenarios.ndjson
//
// With -scenarios it plans one scenario of test/fuzz a line instead and prints one outcome a line.
// It reads the file that bench/workload.ts describes, plans the batch once in this cold process
// and prints one line of JSON: milliseconds for setting up and for Solve, nodes, price, pods left.
// sigs.k8s.io/karpenter is an ordinary module here; nothing of it is changed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
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
	requirement "sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/test"
)

// workload is the file both engines read.
type workload struct {
	Name             string         `json:"name"`
	PreferencePolicy string         `json:"preferencePolicy"`
	InstanceTypes    []instanceType `json:"instanceTypes"`
	NodePools        []v1.NodePool  `json:"nodePools"`
	Pods             []podGroup     `json:"pods"`
}

// podGroup stands for so many pods made from one template.
type podGroup struct {
	Name     string                 `json:"name"`
	Count    int                    `json:"count"`
	Template corev1.PodTemplateSpec `json:"template"`
}

type report struct {
	Pods                 int     `json:"pods"`
	Workers              int     `json:"workers"`
	SetupMs              float64 `json:"setupMs"`
	SolveMs              float64 `json:"solveMs"`
	CPUMs                float64 `json:"cpuMs"`
	Nodes                int     `json:"nodes"`
	PriceMicroUsdPerHour int64   `json:"priceMicroUsdPerHour"`
	Unschedulable        int     `json:"unschedulable"`
	AllocatedBytes       uint64  `json:"allocatedBytes"`
}

func main() {
	workers := flag.Int("workers", 1, "concurrent evaluations, upstream's NumConcurrentReconciles")
	scenarios := flag.String("scenarios", "", "a file with one scenario a line")
	flag.Parse()
	if *scenarios != "" {
		if err := scenarioFile(*scenarios); err != nil {
			fail(err)
		}
		return
	}
	if flag.NArg() != 1 {
		fail(fmt.Errorf("one workload file is needed, got %d arguments", flag.NArg()))
	}
	read, err := readWorkload(flag.Arg(0))
	if err != nil {
		fail(err)
	}
	result, err := plan(read, *workers)
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

func readWorkload(path string) (workload, error) {
	var read workload
	text, err := os.ReadFile(path)
	if err != nil {
		return read, err
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return read, fmt.Errorf("%s: %w", path, err)
	}
	return read, nil
}

// plan sets a scheduler up as the provisioner does and solves once.
func plan(work workload, workers int) (report, error) {
	log.SetLogger(logging.NopLogger)
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), test.Options())
	instanceTypes := instanceTypesOf(work.InstanceTypes)
	nodePools := make([]*v1.NodePool, len(work.NodePools))
	byPool := map[string][]*cloudprovider.InstanceType{}
	for i := range work.NodePools {
		nodePools[i] = test.NodePool(work.NodePools[i])
		byPool[nodePools[i].Name] = instanceTypes
	}
	pods := podsOf(work.Pods)
	opts := []scheduling.Options{scheduling.NumConcurrentReconciles(workers)}
	if work.PreferencePolicy == "Ignore" {
		opts = append(opts, scheduling.IgnorePreferences)
	}

	cloud := fake.NewCloudProvider()
	cloud.InstanceTypes = instanceTypes
	client := fakecr.NewFakeClient()
	clk := &clock.RealClock{}
	runtime.GC()
	before := allocated()
	cpuBefore := cpuTime()
	start := time.Now()
	cluster := state.NewCluster(clk, client, cloud)
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, nodePools, byPool, pods, opts...)
	if err != nil {
		return report{}, fmt.Errorf("topology: %w", err)
	}
	recorder := events.NewRecorder(&record.FakeRecorder{})
	scheduler := scheduling.NewScheduler(ctx, client, nodePools, cluster, nil, topology, byPool, nil,
		recorder, clk, nil, nil, opts...)
	ready := time.Now()
	results, err := scheduler.Solve(ctx, pods)
	if err != nil {
		return report{}, fmt.Errorf("solve: %w", err)
	}
	done := time.Now()
	cpu := cpuTime() - cpuBefore
	return report{
		Pods:                 len(pods),
		Workers:              workers,
		SetupMs:              milliseconds(ready.Sub(start)),
		SolveMs:              milliseconds(done.Sub(ready)),
		CPUMs:                milliseconds(cpu),
		Nodes:                len(results.NewNodeClaims),
		PriceMicroUsdPerHour: price(results.NewNodeClaims),
		Unschedulable:        len(results.PodErrors),
		AllocatedBytes:       allocated() - before,
	}, nil
}

// podsOf makes the pods; each needs an identity of its own.
func podsOf(groups []podGroup) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, group := range groups {
		for i := range group.Count {
			pod := &corev1.Pod{ObjectMeta: group.Template.ObjectMeta, Spec: group.Template.Spec}
			pod = pod.DeepCopy()
			pod.Name = fmt.Sprintf("%s-%d", group.Name, i)
			pod.Namespace = "default"
			pod.UID = types.UID(fmt.Sprintf("%08d-%s", scramble(len(pods)), pod.Name))
			pods = append(pods, pod)
		}
	}
	return pods
}

// scramble spreads UIDs, by which upstream breaks ties: real ones are random. Fixed, to repeat.
func scramble(index int) uint32 {
	return uint32(index) * 2654435761 % 100_000_000
}

// price is what the plan costs when each claim becomes its cheapest possible offering.
func price(claims []*scheduling.NodeClaim) int64 {
	var total int64
	for _, claim := range claims {
		cheapest := math.Inf(1)
		for _, option := range claim.InstanceTypeOptions {
			for _, offering := range option.Offerings {
				if !offering.Available || offering.Price >= cheapest {
					continue
				}
				if claim.Requirements.IsCompatible(offering.Requirements, requirement.AllowUndefinedWellKnownLabels) {
					cheapest = offering.Price
				}
			}
		}
		total += int64(math.Round(cheapest * 1e6))
	}
	return total
}

func milliseconds(duration time.Duration) float64 {
	return float64(duration.Microseconds()) / 1000
}

// cpuTime is what all threads of the process have used so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
