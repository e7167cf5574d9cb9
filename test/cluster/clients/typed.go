package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

func typedClients(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(overProtobuf(config))
	if err != nil {
		return err
	}
	core := client.CoreV1()
	made, err := core.Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"made-by": "clients"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("namespace %s is %s, labels %v, finalizers %v", made.Name, made.Status.Phase, made.Labels, made.Spec.Finalizers)
	if err := until(ctx, "a default service account", func() (bool, error) {
		_, err := core.ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	}); err != nil {
		return err
	}
	if err := configMaps(ctx, client); err != nil {
		return err
	}
	if err := pods(ctx, client); err != nil {
		return err
	}
	return deployments(ctx, client)
}

func configMaps(ctx context.Context, client kubernetes.Interface) error {
	maps := client.CoreV1().ConfigMaps(namespace)
	first, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Annotations: map[string]string{"a": "ä ☃"}},
		Data:       map[string]string{"one": "1", "empty": "", "text": "línea\n"},
		BinaryData: map[string][]byte{"bytes": {0, 1, 254, 255}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("created %s: data %q binary %v annotations %q", first.Name, first.Data, first.BinaryData, first.Annotations)
	say("owned by %s", owners(first.ManagedFields))
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	say("again: %s", refusal(err))
	second := first.DeepCopy()
	second.Data["one"] = "2"
	if second, err = maps.Update(ctx, second, metav1.UpdateOptions{}); err != nil {
		return err
	}
	say("updated: one=%s, version moved %t", second.Data["one"], second.ResourceVersion != first.ResourceVersion)
	_, err = maps.Update(ctx, first, metav1.UpdateOptions{})
	say("stale update: %s", refusal(err))
	third, err := maps.Patch(ctx, "settings", types.StrategicMergePatchType, []byte(`{"data":{"one":null,"two":"2"}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	say("patched: %v", keys(third.Data))
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "Not A Name"}}, metav1.CreateOptions{})
	say("bad name: %s", refusal(err))
	dry, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dry"}}, metav1.CreateOptions{DryRun: []string{"All"}})
	if err != nil {
		return err
	}
	_, err = maps.Get(ctx, dry.Name, metav1.GetOptions{})
	say("after a dry run: %s", refusal(err))
	for _, name := range []string{"a", "b", "c"} {
		labels := map[string]string{"paged": "yes", "name": name}
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	page, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "paged=yes", Limit: 2})
	if err != nil {
		return err
	}
	say("first page: %d, more: %t", len(page.Items), page.Continue != "")
	rest, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "paged=yes", Limit: 2, Continue: page.Continue})
	if err != nil {
		return err
	}
	say("second page: %s, more: %t, same version: %t", rest.Items[0].Name, rest.Continue != "", rest.ResourceVersion == page.ResourceVersion)
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "name in (a,b)"}); err != nil {
		return err
	}
	left, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "paged"})
	if err != nil {
		return err
	}
	say("left of the collection: %d", len(left.Items))
	err = maps.Delete(ctx, "c", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("nobody"))}})
	say("deleting another: conflict %t", apierrors.IsConflict(err))
	return maps.Delete(ctx, "c", metav1.DeleteOptions{})
}

func pods(ctx context.Context, client kubernetes.Interface) error {
	api := client.CoreV1().Pods(namespace)
	pod, err := api.Create(ctx, podCalled("lonely"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	requests := pod.Spec.Containers[0].Resources.Requests
	say("pod %s: %s, QoS %s, cpu %s memory %s, grace %d", pod.Name, pod.Status.Phase, pod.Status.QOSClass,
		requests.Cpu(), requests.Memory(), *pod.Spec.TerminationGracePeriodSeconds)
	say("tolerations %d, priority %d, probe port %s, token volumes %d", len(pod.Spec.Tolerations), *pod.Spec.Priority,
		pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Port.String(), len(pod.Spec.Volumes))
	if _, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "clients-node"},
		Spec:       corev1.NodeSpec{Unschedulable: true},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := api.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "lonely"},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "clients-node"},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	pod, err = api.Get(ctx, "lonely", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("bound to %s, condition %s=%s", pod.Spec.NodeName, pod.Status.Conditions[0].Type, pod.Status.Conditions[0].Status)
	err = api.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "lonely"},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "other"},
	}, metav1.CreateOptions{})
	say("again: %s", refusal(err))
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = &metav1.Time{Time: time.Unix(1_700_000_000, 0)}
	pod, err = api.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	say("status: %s since %s", pod.Status.Phase, pod.Status.StartTime.UTC().Format(time.RFC3339))
	if err := api.Delete(ctx, "lonely", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}); err != nil {
		return err
	}
	if err := client.CoreV1().Nodes().Delete(ctx, "clients-node", metav1.DeleteOptions{}); err != nil {
		return err
	}
	_, err = api.Get(ctx, "lonely", metav1.GetOptions{})
	say("after deletion: %s", refusal(err))
	return nil
}

func deployments(ctx context.Context, client kubernetes.Interface) error {
	api := client.AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "web"}
	deployment, err := api.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.FromString("50%")), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podCalled("").Spec},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	rolling := deployment.Spec.Strategy.RollingUpdate
	say("deployment: strategy %s surge %s unavailable %s, generation %d", deployment.Spec.Strategy.Type, rolling.MaxSurge, rolling.MaxUnavailable, deployment.Generation)
	if err := until(ctx, "two pods", func() (bool, error) {
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		return err == nil && len(list.Items) == 2, err
	}); err != nil {
		return err
	}
	scale, err := api.UpdateScale(ctx, "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 0},
	}, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	say("scaled to %d, selector %s", scale.Spec.Replicas, scale.Status.Selector)
	return until(ctx, "no pods", func() (bool, error) {
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		return err == nil && len(list.Items) == 0, err
	})
}

func podCalled(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "lonely"}},
		Spec: corev1.PodSpec{
			// Nobody's: the scheduler leaves it alone.
			SchedulerName:                "nobody",
			AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{{
				Name:  "main",
				Image: "example.com/image:1",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("1Gi"),
				}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")},
				}},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			}},
		},
	}
}

// What a refusal says to a program: code, reason and causes.
func refusal(err error) string {
	if err == nil {
		return "no refusal"
	}
	status, is := err.(apierrors.APIStatus)
	if !is {
		return err.Error()
	}
	parts := []string{fmt.Sprintf("%d %s: %s", status.Status().Code, status.Status().Reason, status.Status().Message)}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			parts = append(parts, fmt.Sprintf("[%s %s]", cause.Type, cause.Field))
		}
	}
	return strings.Join(parts, " ")
}

func owners(entries []metav1.ManagedFieldsEntry) string {
	var lines []string
	for _, entry := range entries {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", entry.Manager, entry.Operation, entry.Subresource, entry.FieldsV1.Raw))
	}
	sort.Strings(lines)
	return strings.Join(lines, "; ")
}

func keys[V any](values map[string]V) []string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
