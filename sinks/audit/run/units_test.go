package run

import (
	"path/filepath"
	"testing"
)

// costlyItems is a snapshot that consumed 40 units.
type costlyItems struct{ *world }

func (costlyItems) Units() float64 { return 40 }

// The units of the summary are the units of the scan plus the units of the budget.
func TestAudit_UnitsOfTheScan(t *testing.T) {
	w := newTestWorld(10)
	o := w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	o.Items, o.Budget = costlyItems{w}, NewBudget(0)
	if err := o.Budget.Spend(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if sum, err := Audit(t.Context(), o); err != nil || sum.Units != 42 {
		t.Errorf("%+v, %v", sum, err)
	}
}
