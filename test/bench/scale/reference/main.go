// A controller with controller-runtime that does for each ControllerResilience without a target what
// the operator does: it watches the same kinds in the same namespaces, reads the object and its target
// live, and writes status. After a while it reads both again, from the caches, and writes an Event.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A problem has an Event when it has lasted for this long, as in the operator.
const grace = 30 * time.Second

// As many passes at once as in the operator.
const workers = 4

func main() {
	namespaces := flag.String("namespaces", "", "namespaces of the objects, separated by commas")
	leaseNamespace := flag.String("lease-namespace", "", "namespace of the Lease")
	leaseName := flag.String("lease-name", "reference", "name of the Lease")
	ctrl.SetLogger(zap.New())
	// The flag --kubeconfig is controller-runtime's.
	flag.Parse()
	if err := run(strings.Split(*namespaces, ","), *leaseNamespace, *leaseName); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(namespaces []string, leaseNamespace, leaseName string) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(groupVersion, &ControllerResilience{}, &ControllerResilienceList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	config := ctrl.GetConfigOrDie()
	// The operator has no limit either.
	config.QPS = -1
	watched := map[string]cache.Config{}
	for _, namespace := range namespaces {
		watched[namespace] = cache.Config{}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{
			DefaultNamespaces: watched,
			ByObject: map[client.Object]cache.ByObject{
				&ControllerResilience{}: {Namespaces: map[string]cache.Config{cache.AllNamespaces: {}}},
			},
		},
	})
	if err != nil {
		return err
	}
	passes := &reconciler{
		cached: manager.GetClient(),
		live:   manager.GetAPIReader(),
		events: manager.GetEventRecorder("reference"),
	}
	all := handler.EnqueueRequestsFromMapFunc(passes.allIn)
	return firstError(
		func() error {
			return ctrl.NewControllerManagedBy(manager).
				For(&ControllerResilience{}).
				Watches(&corev1.Pod{}, all).
				Watches(&corev1.ServiceAccount{}, all).
				Watches(&appsv1.Deployment{}, all).
				Watches(&appsv1.DaemonSet{}, all).
				Watches(&rbacv1.RoleBinding{}, all).
				WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
				Complete(passes)
		},
		func() error { return manager.Start(ctrl.SetupSignalHandler()) },
	)
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type reconciler struct {
	cached client.Client
	live   client.Reader
	events events.EventRecorder
}

// A change in a namespace concerns all its objects.
func (r *reconciler) allIn(ctx context.Context, changed client.Object) []reconcile.Request {
	var list ControllerResilienceList
	if err := r.cached.List(ctx, &list, client.InNamespace(changed.GetNamespace())); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile compares with the caches first. Only before it writes, it reads live.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object, wanted, err := r.observe(ctx, r.cached, request)
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if object.Status.ObservedGeneration != object.Generation {
		if object, wanted, err = r.observe(ctx, r.live, request); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		// As the operator, which looks for its annotation.
		if err := r.live.Get(ctx, client.ObjectKey{Name: request.Namespace}, &corev1.Namespace{}); err != nil {
			return reconcile.Result{}, err
		}
		object.Status = wanted
		return reconcile.Result{RequeueAfter: grace}, r.cached.Status().Update(ctx, object)
	}
	condition := meta.FindStatusCondition(object.Status.Conditions, "TokensAccepted")
	if left := grace - time.Since(condition.LastTransitionTime.Time); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	r.events.Eventf(object, nil, corev1.EventTypeWarning, condition.Reason, "Reconcile", "%s", condition.Message)
	return reconcile.Result{}, nil
}

// Returns the object and the status that it should have.
func (r *reconciler) observe(ctx context.Context, reader client.Reader, request reconcile.Request) (*ControllerResilience, Status, error) {
	object := &ControllerResilience{}
	if err := reader.Get(ctx, request.NamespacedName, object); err != nil {
		return nil, Status{}, err
	}
	status := *object.Status.DeepCopy()
	status.ObservedGeneration = object.Generation
	missing := []string{}
	for _, target := range object.Spec.Targets {
		err := reader.Get(ctx, client.ObjectKey{Namespace: request.Namespace, Name: target.Name}, &appsv1.Deployment{})
		if apierrors.IsNotFound(err) {
			missing = append(missing, target.Kind+" "+target.Name)
		} else if err != nil {
			return nil, Status{}, err
		}
	}
	message := fmt.Sprintf("%s not found.", strings.Join(missing, ", "))
	for _, state := range [][]string{
		{"TokensAccepted", "Unknown"},
		{"Ready", "False"},
		{"Reconciling", "False"},
		{"Stalled", "True"},
	} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type:               state[0],
			Status:             metav1.ConditionStatus(state[1]),
			Reason:             "TargetNotFound",
			Message:            message,
			ObservedGeneration: object.Generation,
		})
	}
	return object, status, nil
}
