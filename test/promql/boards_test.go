package promql

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// check parses an expression, and looks up every metric and label in the expression. It returns the metrics, by their
// names on the page.
func check(t *testing.T, all map[string]metric, where, expr string) (used []string) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, expr)
		return nil
	}
	labels := map[string]bool{} // labels of the metrics in the expression
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		m, known := all[s.Name]
		if !known {
			t.Errorf("%s asks for %s, which nothing emits", where, s.Name)
			return nil
		}
		used = append(used, m.documented)
		for _, l := range m.labels {
			labels[l] = true
		}
		for _, by := range s.LabelMatchers {
			if by.Name != model.MetricNameLabel && !slices.Contains(m.labels, by.Name) {
				t.Errorf("%s asks for %s of %s, which it does not have", where, by.Name, s.Name)
			}
		}
		return nil
	})
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		var names []string
		switch n := n.(type) {
		case *parser.AggregateExpr:
			names = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				names = n.VectorMatching.MatchingLabels
			}
		}
		for _, name := range names {
			if !labels[name] {
				t.Errorf("%s groups by %s, which no metric in it has: %s", where, name, expr)
			}
		}
		return nil
	})
	return used
}

// Prometheus accepts the rules. They use existing metrics, and say what to do. Each metric for which the page has an
// alarm is in one of the rules.
func TestAlerts(t *testing.T) {
	groups, errs := rulefmt.ParseFile(tree+"deploy/prometheus/alerts.yaml", false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	all, used := metrics(t), map[string]bool{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			for _, name := range check(t, all, r.Alert, r.Expr) {
				used[name] = true
			}
			if s := r.Labels["severity"]; s != "page" && s != "warn" {
				t.Errorf("%s has the severity %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s does not say what is wrong, or what to do", r.Alert)
			}
		}
	}
	for _, m := range all {
		if m.alarm && !used[m.documented] {
			t.Errorf("the page has an alarm of %s, and no rule has", m.documented)
		}
	}
}

// board has the parts of a dashboard that are tested.
type board struct {
	Title, UID string
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ RefID, Expr string }
	}
}

// The dashboard is JSON with panels that do not overlap, queries existing metrics, and shows each of them.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(tree + "deploy/grafana/tablewake.json")
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	// These are the values of Grafana's variables.
	given := strings.NewReplacer("$__rate_interval", "5m", "$pipeline", "shop")
	all, used, ids, taken := metrics(t), map[string]bool{}, map[int]bool{}, map[[2]int]string{}
	for _, p := range b.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("the panel %q has the id %d, as another has, or no title", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x > 23 {
					t.Fatalf("%s overlaps %q, or the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, `pipeline=~"$pipeline"`) {
				t.Errorf("%s shows other pipelines than the one that is chosen: %s", p.Title, target.Expr)
			}
			for _, name := range check(t, all, p.Title, given.Replace(target.Expr)) {
				used[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if doc := all[name].documented; !used[doc] {
			t.Errorf("the dashboard does not show %s", doc)
		}
	}
	if b.UID != "tablewake" || len(b.Templating.List) != 2 {
		t.Errorf("the dashboard is %q with %d variables", b.UID, len(b.Templating.List))
	}
}
