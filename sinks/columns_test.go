package sinks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
)

// A configuration must not use the names of the columns that every Parquet object has. Other names are allowed.
func TestFixedColumns(t *testing.T) {
	parse := func(name string) error {
		_, err := config.Parse("tablewake.yaml", fmt.Appendf(nil, `
version: 1
name: audit
source: {table: ledger}
sinks:
  audit:
    archive: {format: parquet, columns: {%s: '{UpdatedBy?}'}}
`, name), nil)
		return err
	}
	for _, name := range archive.FixedColumns() {
		if err := parse(name); err == nil || !strings.Contains(err.Error(), "take another name") {
			t.Errorf("a column %q: %v", name, err)
		}
	}
	for _, name := range []string{"actor", "created_at", "_1", "select", "kinds"} {
		if err := parse(name); err != nil {
			t.Errorf("a column %q: %v", name, err)
		}
	}
}
