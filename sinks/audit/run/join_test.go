package run

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
)

// A place that names another item than its owner is one difference: one write repairs it.
func TestAudit_RowOfAnotherItem(t *testing.T) {
	w := newTestWorld(30)
	w.rows["k00001"] = storedRow{"k00002", "v1", 1}
	o := w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	sum, err := Audit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if found := findings(t, o.Report); !maps.Equal(found, map[string]audit.Verdict{"k00001": audit.Wrong}) || sum.Differing != 1 {
		t.Errorf("found %v, %+v", found, sum)
	}
}
