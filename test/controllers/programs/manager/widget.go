package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// widgets is a reconciler that does what the spec of each Widget says:
//
//	blocksBefore: a time; workers of processes that started earlier block for ever
//	seconds: how long it takes
//	fails: it ends with an error
//	creates: it creates a ConfigMap each time
//	ignored: it does nothing, as with an object that is paused or of another class
type widgets struct {
	client.Client
	group     string
	startedAt time.Time
}

func (r widgets) newWidget() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: r.group, Version: "v1", Kind: "Widget"})
	return object
}

func (r widgets) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := r.newWidget()
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	is := func(field string) bool { value, _ := spec[field].(bool); return value }
	if is("ignored") {
		return ctrl.Result{}, nil
	}
	text, _ := spec["blocksBefore"].(string)
	if before, err := time.Parse(time.RFC3339, text); err == nil && r.startedAt.Before(before) {
		select {}
	}
	seconds, _ := spec["seconds"].(int64)
	time.Sleep(time.Duration(seconds) * time.Second)
	if is("fails") {
		return ctrl.Result{}, errors.New("it is to fail")
	}
	if is("creates") {
		made := metav1.ObjectMeta{Namespace: request.Namespace, GenerateName: request.Name + "-"}
		if err := r.Create(ctx, &corev1.ConfigMap{ObjectMeta: made}); err != nil {
			return ctrl.Result{}, err
		}
	}
	status := map[string]any{"observedGeneration": object.GetGeneration()}
	if err := unstructured.SetNestedMap(object.Object, status, "status"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Update(ctx, object)
}

func addWidgets(manager ctrl.Manager, o options) error {
	r := widgets{manager.GetClient(), o.group, time.Now()}
	return ctrl.NewControllerManagedBy(manager).
		For(r.newWidget()).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.workers}).
		Complete(r)
}
