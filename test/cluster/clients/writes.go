package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	acapps "k8s.io/client-go/applyconfigurations/apps/v1"
	accore "k8s.io/client-go/applyconfigurations/core/v1"
	acmeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
)

func apply(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(overProtobuf(config))
	if err != nil {
		return err
	}
	deployments := client.AppsV1().Deployments(namespace)
	wanted := func(image string) *acapps.DeploymentApplyConfiguration {
		labels := map[string]string{"app": "applied"}
		return acapps.Deployment("applied", namespace).WithSpec(acapps.DeploymentSpec().
			WithReplicas(0).
			WithSelector(acmeta.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(accore.PodTemplateSpec().WithLabels(labels).WithSpec(accore.PodSpec().
				WithContainers(accore.Container().WithName("main").WithImage(image).
					WithPorts(accore.ContainerPort().WithContainerPort(80))))))
	}
	made, err := deployments.Apply(ctx, wanted("one"), metav1.ApplyOptions{FieldManager: "first"})
	if err != nil {
		return err
	}
	say("applied: image %s, by %s", made.Spec.Template.Spec.Containers[0].Image, managers(made.ManagedFields))
	_, err = deployments.Apply(ctx, wanted("two"), metav1.ApplyOptions{FieldManager: "second"})
	say("by another: %s", refusal(err))
	forced, err := deployments.Apply(ctx, wanted("two"), metav1.ApplyOptions{FieldManager: "second", Force: true})
	if err != nil {
		return err
	}
	say("forced: image %s, by %s", forced.Spec.Template.Spec.Containers[0].Image, managers(forced.ManagedFields))
	mine, err := acapps.ExtractDeployment(forced, "second")
	if err != nil {
		return err
	}
	say("second owns %d containers and %d replicas", len(mine.Spec.Template.Spec.Containers), *mine.Spec.Replicas)
	given, err := deployments.Apply(ctx, acapps.Deployment("applied", namespace).WithLabels(map[string]string{"a": "b"}), metav1.ApplyOptions{FieldManager: "third"})
	if err != nil {
		return err
	}
	say("third: labels %v, by %s", given.Labels, managers(given.ManagedFields))
	return deployments.Delete(ctx, "applied", metav1.DeleteOptions{})
}

func managers(entries []metav1.ManagedFieldsEntry) []string {
	names := map[string]bool{}
	for _, entry := range entries {
		// The controller of Deployments writes when it comes to it.
		if entry.Subresource == "" && entry.Manager != "kube-controller-manager" {
			names[entry.Manager+" "+string(entry.Operation)] = true
		}
	}
	return keys(names)
}

func eviction(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(overProtobuf(config))
	if err != nil {
		return err
	}
	pods, budgets := client.CoreV1().Pods(namespace), client.PolicyV1().PodDisruptionBudgets(namespace)
	pod := podCalled("guarded")
	pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(0))
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	running, err := pods.Get(ctx, "guarded", metav1.GetOptions{})
	if err != nil {
		return err
	}
	running.Status.Phase = corev1.PodRunning
	running.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := pods.UpdateStatus(ctx, running, metav1.UpdateOptions{}); err != nil {
		return err
	}
	budget, err := budgets.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "lonely"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("budget: at least %s", budget.Spec.MinAvailable)
	if err := until(ctx, "a budget that counts", func() (bool, error) {
		now, err := budgets.Get(ctx, "guard", metav1.GetOptions{})
		return err == nil && now.Status.ObservedGeneration == 1 && now.Status.CurrentHealthy == 1, err
	}); err != nil {
		return err
	}
	evict := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "guarded", Namespace: namespace}}
	err = pods.EvictV1(ctx, evict)
	say("evicted: %s", refusal(err))
	say("too many requests %t", apierrors.IsTooManyRequests(err))
	if err := budgets.Delete(ctx, "guard", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := until(ctx, "an eviction", func() (bool, error) { return pods.EvictV1(ctx, evict) == nil, nil }); err != nil {
		return err
	}
	_, err = pods.Get(ctx, "guarded", metav1.GetOptions{})
	say("without a budget: gone %t", apierrors.IsNotFound(err))
	return nil
}

func leaderElection(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(overProtobuf(config))
	if err != nil {
		return err
	}
	events := make(chan string, 16)
	elect := func(name string) (context.CancelFunc, error) {
		candidate, stop := context.WithCancel(ctx)
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "leader", client.CoreV1(),
			client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			stop()
			return nil, err
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, ReleaseOnCancel: true, LeaseDuration: 15 * time.Second,
			RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { events <- name + " leads" },
				OnStoppedLeading: func() { events <- name + " no longer leads" },
			},
		})
		if err != nil {
			stop()
			return nil, err
		}
		go elector.Run(candidate)
		return stop, nil
	}
	stopFirst, err := elect("first")
	if err != nil {
		return err
	}
	say("%s", <-events)
	stopSecond, err := elect("second")
	if err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	stopFirst()
	say("%s", <-events)
	say("%s", <-events)
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("lease: %s for %d s, transitions %d, renewed %t", *lease.Spec.HolderIdentity, *lease.Spec.LeaseDurationSeconds,
		*lease.Spec.LeaseTransitions, !lease.Spec.RenewTime.Before(lease.Spec.AcquireTime))
	stopSecond()
	say("%s", <-events)
	return nil
}
