package expr

import (
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

func transition(t testing.TB) (*Change, *record.Change) {
	t.Helper()
	x, err := Env{}.CompileChange(`new.Status == "completed" && old.Status != new.Status`)
	if err != nil {
		t.Fatal(err)
	}
	return x, &record.Change{
		Op:  record.Modify,
		Old: parseImage(t, `{"PK": {"S": "USER#42"}, "Type": {"S": "Order"}, "Total": {"N": "10.5"}, "Status": {"S": "paid"}}`),
		New: parseImage(t, `{"PK": {"S": "USER#42"}, "Type": {"S": "Order"}, "Total": {"N": "10.5"}, "Status": {"S": "completed"}}`),
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	x, c := transition(t)
	if n := testing.AllocsPerRun(1000, func() {
		if ok, err := x.Match(c); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Many goroutines can evaluate one expression. The race detector checks this.
func TestMatchConcurrently(t *testing.T) {
	x, c := transition(t)
	item, err := Env{}.CompileItem(`item.Lines.exists(l, l.qty == 0.5) && item.PK.matches("^USER") && item.Status in ["paid", "open"]`)
	if err != nil {
		t.Fatal(err)
	}
	m := parseImage(t, order)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				ok, err := x.Match(c)
				ok2, err2 := item.Match(m)
				if !ok || !ok2 || err != nil || err2 != nil {
					t.Error(ok, ok2, err, err2)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkChange(b *testing.B) {
	x, c := transition(b)
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := x.Match(c); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkItem(b *testing.B) {
	item := parseImage(b, order)
	for _, src := range []string{
		`item.Type == "Order" && item.Status in ["paid", "shipped", "completed"]`,
		`item.Total == 10.50`,
		`item.Lines.exists(l, l.qty > 1.5)`,
		`item.Address.City == "Bonn"`,
	} {
		x, err := Env{}.CompileItem(src)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(src, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := x.Match(item); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := (Env{}).CompileItem(`item.Type == "Order" && item.Total > 10.50`); err != nil {
			b.Fatal(err)
		}
	}
}
