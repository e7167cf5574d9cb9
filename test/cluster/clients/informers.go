package main

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// Events as a program's handlers saw them.
type diary struct {
	sync.Mutex
	lines []string
}

func (d *diary) note(what string, object any) {
	d.Lock()
	defer d.Unlock()
	if gone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	secret := object.(*corev1.Secret)
	d.lines = append(d.lines, what+" "+secret.Name+"="+string(secret.Data["value"]))
}

func (d *diary) length() int {
	d.Lock()
	defer d.Unlock()
	return len(d.lines)
}

func informers(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(overProtobuf(config))
	if err != nil {
		return err
	}
	// Once by list and watch, once by one watch that begins with what there is.
	for _, streaming := range []bool{false, true} {
		features.ReplaceFeatureGates(gates{features.FeatureGates(), streaming})
		say("streamed beginnings: %t", streaming)
		if err := oneInformer(ctx, client); err != nil {
			return err
		}
	}
	return plainWatches(ctx, client)
}

// The library's choices, but for how informers begin.
type gates struct {
	features.Gates
	streaming bool
}

func (g gates) Enabled(key features.Feature) bool {
	if key == features.WatchListClient {
		return g.streaming
	}
	return g.Gates.Enabled(key)
}

func oneInformer(ctx context.Context, client kubernetes.Interface) error {
	secrets := client.CoreV1().Secrets(namespace)
	secret := func(name, value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"value": []byte(value)}}
	}
	if _, err := secrets.Create(ctx, secret("before", "1"), metav1.CreateOptions{}); err != nil {
		return err
	}
	factory := clientinformers.NewSharedInformerFactoryWithOptions(client, 0, clientinformers.WithNamespace(namespace))
	informer := factory.Core().V1().Secrets()
	seen := &diary{}
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { seen.note("added", object) },
		UpdateFunc: func(_, object any) { seen.note("updated", object) },
		DeleteFunc: func(object any) { seen.note("deleted", object) },
	}); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	factory.Start(running.Done())
	factory.WaitForCacheSync(running.Done())
	if _, err := secrets.Create(ctx, secret("during", "2"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := secrets.Update(ctx, secret("during", "3"), metav1.UpdateOptions{}); err != nil {
		return err
	}
	for _, name := range []string{"before", "during"} {
		if err := secrets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if err := until(ctx, "five events", func() (bool, error) { return seen.length() >= 5, nil }); err != nil {
		say("%v", seen.lines)
		return err
	}
	for _, line := range seen.lines {
		say("%s", line)
	}
	return nil
}

func plainWatches(ctx context.Context, client kubernetes.Interface) error {
	pods := client.CoreV1().Pods(namespace)
	stream, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=watched", TimeoutSeconds: ptr.To(int64(20))})
	if err != nil {
		return err
	}
	if _, err := pods.Create(ctx, podCalled("watched"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := pods.Delete(ctx, "watched", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}); err != nil {
		return err
	}
	for event := range stream.ResultChan() {
		pod := event.Object.(*corev1.Pod)
		if event.Type == watch.Modified {
			// Whether a pod is first marked and then gone: docs/reference/differences.md.
			continue
		}
		say("%s %s %s", event.Type, pod.Name, pod.Spec.Containers[0].Resources.Requests.Cpu())
		if event.Type == watch.Deleted {
			break
		}
	}
	stream.Stop()
	// A version that was never given, asked for once: the library would go on asking.
	err = client.CoreV1().RESTClient().Get().MaxRetries(0).Namespace(namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{ResourceVersion: "99999999999"}, scheme.ParameterCodec).Do(ctx).Error()
	say("a version from the future: timeout %t, cause %t", apierrors.IsTimeout(err), apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge))
	_, err = pods.List(ctx, metav1.ListOptions{LabelSelector: "a in ("})
	say("a selector that is none: bad request %t", apierrors.IsBadRequest(err))
	return nil
}
