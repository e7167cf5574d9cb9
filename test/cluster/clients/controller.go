package main

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "clients.example.com/held"

// Copies each watched config map into an owned secret, and lets go of it when it ends.
type copier struct {
	client.Client
	sync.Mutex
	failures int
}

func (c *copier) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	source := &corev1.ConfigMap{}
	if err := c.Get(ctx, request.NamespacedName, source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Labels["copy"] != "me" {
		return ctrl.Result{}, nil
	}
	if source.DeletionTimestamp != nil {
		base := source.DeepCopy()
		if controllerutil.RemoveFinalizer(source, finalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(c.Patch(ctx, source, client.MergeFrom(base)))
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(source, finalizer) {
		return ctrl.Result{}, c.Update(ctx, source)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: source.Name + "-copy", Namespace: source.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, c.Client, secret, func() error {
		secret.Data = map[string][]byte{}
		for key, value := range source.Data {
			secret.Data[key] = []byte(value)
		}
		return controllerutil.SetControllerReference(source, secret, c.Scheme())
	})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		c.Lock()
		c.failures++
		c.Unlock()
	}
	return ctrl.Result{}, err
}

func controllerRuntime(ctx context.Context, config *rest.Config) error {
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme.Scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		HealthProbeBindAddress:        "0",
		LeaderElection:                true,
		LeaderElectionID:              "clients-controller",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return err
	}
	if err := manager.GetFieldIndexer().IndexField(ctx, &corev1.Secret{}, "type", func(object client.Object) []string {
		return []string{string(object.(*corev1.Secret).Type)}
	}); err != nil {
		return err
	}
	copier := &copier{Client: manager.GetClient()}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(copier); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	err = useManager(ctx, manager)
	stop()
	if failure := <-ended; failure != nil && !errors.Is(failure, context.Canceled) {
		return failure
	}
	say("failed reconciliations: %d", copier.failures)
	return err
}

func useManager(ctx context.Context, manager ctrl.Manager) error {
	cached, direct := manager.GetClient(), manager.GetAPIReader()
	source := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "source", Namespace: namespace, Labels: map[string]string{"copy": "me"}},
		Data:       map[string]string{"a": "1"},
	}
	if err := cached.Create(ctx, source); err != nil {
		return err
	}
	copied := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: "source-copy"}
	if err := until(ctx, "a copy", func() (bool, error) { return direct.Get(ctx, key, copied) == nil, nil }); err != nil {
		return err
	}
	say("copied: %s, controlled by %s %s", copied.Data["a"], copied.OwnerReferences[0].Kind, copied.OwnerReferences[0].Name)
	if err := direct.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
		return err
	}
	base := source.DeepCopy()
	source.Data["a"] = "2"
	if err := cached.Patch(ctx, source, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	if err := until(ctx, "a new copy in the cache", func() (bool, error) {
		var found corev1.SecretList
		err := cached.List(ctx, &found, client.MatchingFields{"type": "Opaque"})
		return err == nil && len(found.Items) == 1 && string(found.Items[0].Data["a"]) == "2", nil
	}); err != nil {
		return err
	}
	say("the cache has the new copy, found by its index")
	if err := cached.Delete(ctx, copied); err != nil {
		return err
	}
	if err := until(ctx, "a copy again", func() (bool, error) {
		return direct.Get(ctx, key, copied) == nil && copied.DeletionTimestamp == nil, nil
	}); err != nil {
		return err
	}
	say("a deleted copy comes again")
	if err := useCustomKind(ctx, cached, direct); err != nil {
		return err
	}
	if err := cached.Delete(ctx, source, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	if err := until(ctx, "the end of source and copy", func() (bool, error) {
		return apierrors.IsNotFound(direct.Get(ctx, client.ObjectKeyFromObject(source), source)) &&
			apierrors.IsNotFound(direct.Get(ctx, key, copied)), nil
	}); err != nil {
		return err
	}
	say("let go of the source; the copy went with it")
	return nil
}

// A custom kind through controller-runtime's unstructured client: JSON, status apart, apply.
func useCustomKind(ctx context.Context, cached client.Client, direct client.Reader) error {
	pool := nodePool("runtime", "t3.small", "10%")
	if err := cached.Create(ctx, pool); err != nil {
		return err
	}
	base := pool.DeepCopy()
	if err := unstructured.SetNestedField(pool.Object, int64(3), "spec", "weight"); err != nil {
		return err
	}
	if err := cached.Patch(ctx, pool, client.MergeFrom(base)); err != nil {
		return err
	}
	weight, _, _ := unstructured.NestedInt64(pool.Object, "spec", "weight")
	say("nodepool: weight %d, generation %d", weight, pool.GetGeneration())
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePoolList"})
	if err := direct.List(ctx, list); err != nil {
		return err
	}
	say("listed: %s of %d", list.GetKind(), len(list.Items))
	return cached.Delete(ctx, pool)
}
