// Command clients does what programs written with client-go and controller-runtime do, against the cluster of
// KUBECONFIG, and prints one line for each thing that it saw. Two clusters that print the same lines are the same
// to such programs. Ids, times and versions are never printed.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	_ "karpenter-ts/test/cluster/parent"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

const namespace = "clients"

type chapter struct {
	title string
	run   func(context.Context, *rest.Config) error
}

func main() {
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	config.QPS, config.Burst = 500, 500
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	failed := false
	for _, chapter := range []chapter{
		{"typed clients over protobuf", typedClients},
		{"every kind in protobuf and in JSON", bothEncodings},
		{"watches and informers", informers},
		{"server-side apply", apply},
		{"eviction", eviction},
		{"leader election", leaderElection},
		{"metadata, dynamic, discovery", otherClients},
		{"controller-runtime", controllerRuntime},
		{"what programs live through that run for long", lasting},
		{"a manager with webhooks", managerWithWebhooks},
	} {
		say("# %s", chapter.title)
		if err := chapter.run(ctx, config); err != nil {
			say("failed: %v", err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func say(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}

// In built-in kinds' own encoding, as kubelets and controllers ask for it.
func overProtobuf(config *rest.Config) *rest.Config {
	result := rest.CopyConfig(config)
	result.ContentType = "application/vnd.kubernetes.protobuf"
	result.AcceptContentTypes = "application/vnd.kubernetes.protobuf"
	return result
}

// Asks again until the answer is yes.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		yes, err := holds()
		if yes || err != nil {
			return err
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("never happened: %s", what)
		}
	}
}
