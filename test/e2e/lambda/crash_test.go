package lambda

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
)

// withGoSink is items with the Go sink of test/e2e/lambda/breaking.
var withGoSink = strings.Replace(items, "dead_letters:", "  go: {custom: {name: obedient}}\ndead_letters:", 1)

// do returns a record of an item whose attribute Do tells the Go sink what to do.
func do(n int, pk, what string) []byte {
	return world.RecordAt(time.Now(), n, "INSERT", pk, "", `"Do":{"S":"`+what+`"}`)
}

// If a Go sink panics, one record becomes a dead letter. If it ends the process, the whole batch fails. The next
// invocation works in both cases.
func TestAGoSinkBreaksTheFunction(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	w.Worker(t, w.Config(t, world.Fixture, items, w.To), w.To) // makes the tables
	f := deploy(t, w, withGoSink, deployment{program: breaking, without: true})
	f.answers(t, event(do(1, "a", "panic"), do(2, "b", "nothing")), succeeded)
	f.fails(t, event(do(3, "c", "exit")), "Runtime.ExitError", "exit status 7")
	f.answers(t, event(do(4, "d", "nothing")), succeeded)
	f.fails(t, event(do(5, "e", "panic elsewhere")), "Runtime.ExitError", "exit status 2")
	f.answers(t, event(do(6, "f", "nothing")), succeeded)
	if n := strings.Count(f.Log(), "INIT START"); n != 3 {
		t.Errorf("the function was started %d times, want 3", n)
	}
	s := f.read(t)
	for _, item := range []string{"a", "b", "d", "f"} { // c and e may have rows, too
		if got := keys(s[world.Rows]); !strings.Contains(got, item) {
			t.Errorf("rows are of %s, and of no %s", got, item)
		}
	}
	letters := 0
	for name := range s[world.Letters] {
		if strings.HasPrefix(name, "go a ") {
			letters++
		}
	}
	if letters != 1 || len(s[world.Letters]) > 2 { // b may have been in one Write with a
		t.Errorf("letters: %v", s[world.Letters])
	}
}

// A Go sink that never returns makes two invocations fail and ends the process. The next invocation works.
func TestAGoSinkNeverReturns(t *testing.T) {
	w := world.New(t, world.Running(t))
	w.Worker(t, w.Config(t, world.Fixture, items, w.To), w.To) // makes the tables
	f := deploy(t, w, withGoSink, deployment{program: breaking, without: true, timeout: 4 * time.Second})
	f.answers(t, event(do(1, "a", "nothing")), succeeded)
	f.fails(t, event(do(2, "b", "never return")), "Error", "none of its 1 records is finished")
	f.fails(t, event(do(2, "b", "nothing")), "Stuck", "the process must be replaced")
	f.answers(t, event(do(2, "b", "nothing")), succeeded)
	if n := strings.Count(f.Log(), "INIT START"); n != 2 {
		t.Errorf("the function was started %d times, want 2", n)
	}
	if got := keys(f.read(t)[world.Rows]); got != "a b" {
		t.Errorf("rows are of %q", got)
	}
}
