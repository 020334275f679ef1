package page

import (
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
)

// functionsPanel shows the Lambda functions that run the pipeline. It replaces the panel of consumers, which such a
// pipeline does not have.
func functionsPanel(r *fleet.Report) panel {
	t := newTable("Event source mappings", "Function", "State", "Last batch", "#Iterator age", "#Lost in",
		"Mapping", "~Given up", "~Source")
	for i := range r.Functions {
		f := &r.Functions[i]
		if len(f.Mappings) == 0 {
			t.Rows = append(t.Rows, []cell{{Text: f.Name}, {Text: "no mapping", Tone: warn}, {}, {Text: f.AgeText()},
				{Text: f.LossText()}, {}, {}, {}})
		}
		for _, m := range f.Mappings {
			t.Rows = append(t.Rows, []cell{
				{Text: f.Name}, mappingState(m), {Text: m.Result, Tone: cli.Choose(m.Failing(), bad, plain)}, {Text: f.AgeText()},
				{Text: f.LossText()}, {Text: m.ID}, {Text: m.Failed.Text(r.At)}, {Text: m.Source},
			})
		}
	}
	return panel{Title: "Functions", Blocks: []block{{Scope: allConsumers, Table: t, ID: "functions-table"}, {
		Text: "The iterator age is the largest of the last ten minutes. What Lambda gave up stays in the bucket after it was delivered again.", Tone: dim,
	}}}
}

// functionLag returns the largest iterator age of all functions, as a total of the page.
func functionLag(r *fleet.Report) total {
	var worst *fleet.Function
	for i := range r.Functions {
		f := &r.Functions[i]
		isWorst := f.IteratorAge != nil && (worst == nil || *f.IteratorAge > *worst.IteratorAge)
		if isWorst {
			worst = f
		}
	}
	if worst == nil {
		return total{Label: "Behind by", Scope: allConsumers, Value: unknown, Tone: dim, Note: "no batch in the last ten minutes"}
	}
	return total{Label: "Behind by", Scope: allConsumers, Value: worst.AgeText(),
		Note: "largest iterator age of the last ten minutes"}
}

func mappingState(m fleet.Mapping) cell {
	switch {
	case m.State == "Enabled":
		return cell{Text: m.State, Tone: good}
	case m.Idle():
		return cell{Text: m.State, Tone: bad}
	}
	return cell{Text: m.State, Tone: busy}
}
