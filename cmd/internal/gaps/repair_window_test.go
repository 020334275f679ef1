package gaps

import (
	"fmt"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// minutes returns windows, each between two minutes after noon.
func minutes(ms ...int) (ws []window) {
	for i := 0; i < len(ms); i += 2 {
		ws = append(ws, window{noon.Add(time.Duration(ms[i]) * time.Minute), noon.Add(time.Duration(ms[i+1]) * time.Minute)})
	}
	return ws
}

func TestMissing(t *testing.T) {
	for name, c := range map[string]struct{ wanted, covered, want []window }{
		"exactly":        {minutes(0, 30), minutes(0, 30), nil},
		"wider":          {minutes(0, 30), minutes(-5, 40), nil},
		"two in touch":   {minutes(0, 30), minutes(15, 40, 0, 15), nil},
		"nothing":        {minutes(0, 30), nil, minutes(0, 30)},
		"the beginning":  {minutes(0, 30), minutes(1, 30), minutes(0, 1)},
		"the end":        {minutes(0, 30), minutes(0, 29), minutes(29, 30)},
		"between two":    {minutes(0, 30), minutes(0, 10, 20, 30), minutes(10, 20)},
		"another window": {minutes(0, 30, 60, 90), minutes(0, 30), minutes(60, 90)},
		"others":         {minutes(0, 30), minutes(-30, 0, 30, 60), minutes(0, 30)},
	} {
		if got := uncoveredWindows(c.wanted, c.covered); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestExportable(t *testing.T) {
	for name, c := range map[string]struct{ in, want []window }{
		"short":    {minutes(0, 2), minutes(-13, 2)},
		"a window": {minutes(0, 20), minutes(0, 20)},
		"a day":    {minutes(0, 24*60), minutes(0, 24*60)},
		"longer":   {minutes(0, 24*60+2), minutes(0, 12*60+1, 12*60+1, 24*60+2)},
		"almost three": {
			[]window{{noon, noon.Add(72*time.Hour - time.Second)}},
			[]window{{noon, noon.Add(24 * time.Hour)}, {noon.Add(24 * time.Hour), noon.Add(48 * time.Hour)}, {noon.Add(48 * time.Hour), noon.Add(72*time.Hour - time.Second)}},
		},
	} {
		if got := exportable(c.in[0]); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestWindowOf(t *testing.T) {
	g := state.NotedGap{Gap: record.Gap{From: noon, To: noon.Add(time.Hour), Found: noon.Add(25 * time.Hour)}}
	if w, err := windowOf(g); err != nil || w != minutes(-1, 61)[0] {
		t.Errorf("%v, %v", w, err)
	}
	g.To = time.Time{}
	if w, err := windowOf(g); err != nil || w != minutes(-1, 25*60+1)[0] {
		t.Errorf("without an end: %v, %v", w, err)
	}
	g.From = time.Time{}
	if _, err := windowOf(g); err == nil {
		t.Error("without a beginning it is covered")
	}
}
