package function

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks"
)

const ownCode = `version: 1
name: shop
source: {table: shop}
detect: {vip: {func: isVIP}}
sinks: {customers: {custom: {name: crm, with: {url: 'https://crm.example'}}}}
`

// The function makes the Go sinks of its configuration before the first event, with their settings.
func TestOpen_WithGoCode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tablewake.yaml")
	if err := os.WriteFile(path, []byte(ownCode), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(configVariable, path)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	errDown := errors.New("the customer system is down")
	var made []string
	down := sinks.With("crm", func(_ context.Context, s struct {
		URL string `yaml:"url"`
	}) (pipeline.Sink, error) {
		made = append(made, s.URL)
		return nil, errDown
	})
	vip := sinks.WithFunc("isVIP", nil)
	_, err := newHandler(t.Context(), slog.New(slog.DiscardHandler), []sinks.Extension{down, vip})
	if !errors.Is(err, errDown) || len(made) != 1 || made[0] != "https://crm.example" {
		t.Errorf("it opened %v: %v", made, err)
	}
}
