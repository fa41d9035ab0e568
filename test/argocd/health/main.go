// Asks a health check of Argo CD's for its opinion, as Argo CD does: with its own library, and without Lua's standard libraries, which a script in
// argocd-cm does not have either. Reads objects as a JSON array, and writes an array with what was said of each.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type said struct {
	Health *health.HealthStatus `json:"health,omitempty"`
	Error  string               `json:"error,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: %s GROUP/KIND HEALTH.LUA < OBJECTS.json", os.Args[0])
	}
	script, err := os.ReadFile(os.Args[2])
	if err != nil {
		return err
	}
	var objects []map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return err
	}
	overrides := lua.ResourceHealthOverrides{os.Args[1]: v1alpha1.ResourceOverride{HealthLua: string(script)}}
	answers := make([]said, 0, len(objects))
	for _, object := range objects {
		answers = append(answers, ask(overrides, object))
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func ask(overrides lua.ResourceHealthOverrides, object map[string]any) said {
	status, err := overrides.GetResourceHealth(&unstructured.Unstructured{Object: object})
	if err != nil {
		return said{Error: err.Error()}
	}
	return said{Health: status}
}
