// Asks kstatus, the library behind Flux, `kubectl kustomize`-based tools and kpt, for its opinion of objects. Reads objects as a JSON array, and
// writes an array with what was said of each.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type said struct {
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var objects []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return err
	}
	answers := make([]said, 0, len(objects))
	for _, object := range objects {
		answers = append(answers, ask(object))
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func ask(object []byte) said {
	var parsed unstructured.Unstructured
	// Keeps whole numbers whole, as kstatus expects.
	if err := parsed.UnmarshalJSON(object); err != nil {
		return said{Error: err.Error()}
	}
	result, err := status.Compute(&parsed)
	if err != nil {
		return said{Error: err.Error()}
	}
	return said{Status: result.Status.String(), Message: result.Message}
}
