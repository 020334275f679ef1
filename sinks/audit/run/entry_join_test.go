package run

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
)

// If a row belongs to the wrong item, the audit reports only one difference, because one write repairs the row.
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
