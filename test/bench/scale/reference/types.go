package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "controller-resilience.io", Version: "v1alpha1"}

// ControllerResilience has the fields that the bench sets and reads.
type ControllerResilience struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitempty"`
}

type Spec struct {
	Mode         string                `json:"mode,omitempty"`
	Suspend      bool                  `json:"suspend,omitempty"`
	Targets      []Target              `json:"targets"`
	TokenRestart *runtime.RawExtension `json:"tokenRestart,omitempty"`
}

type Target struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type ControllerResilienceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ControllerResilience `json:"items"`
}

func (in *Status) DeepCopy() *Status {
	out := *in
	out.Conditions = append([]metav1.Condition(nil), in.Conditions...)
	return &out
}

func (in *ControllerResilience) DeepCopyInto(out *ControllerResilience) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Targets = append([]Target(nil), in.Spec.Targets...)
	out.Spec.TokenRestart = in.Spec.TokenRestart.DeepCopy()
	out.Status = *in.Status.DeepCopy()
}

func (in *ControllerResilience) DeepCopyObject() runtime.Object {
	out := &ControllerResilience{}
	in.DeepCopyInto(out)
	return out
}

func (in *ControllerResilienceList) DeepCopyObject() runtime.Object {
	out := &ControllerResilienceList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	out.Items = make([]ControllerResilience, len(in.Items))
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}
