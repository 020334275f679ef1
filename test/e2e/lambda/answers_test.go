package lambda

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/faults"
)

func sorted(all []string) string {
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{})
	batch := event(product(1, "a"), order(2, "b"), product(3, "c"))
	f.answers(t, batch, succeeded)
	f.holds(t, "a b c", "a c", 3, 0)
	f.answers(t, batch, succeeded) // the same event again
	f.answers(t, event(world.RecordAt(time.Now(), 4, "REMOVE", "a", `"Type":{"S":"Product"},"n":{"N":"1"}`, "")), succeeded)
	f.holds(t, "b c", "c", 4, 0)
}

// Fact 16: the answer names the lowest unfinished record. Later records that succeeded come again, which is safe.
func TestFact16_APartialFailure(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	proxy := faults.Before(t, w.To.OpenSearch)
	to := w.To
	to.OpenSearch = proxy.Endpoint()
	f := deploy(t, w, items, deployment{to: to, timeout: 4 * time.Second})
	f.answers(t, event(order(1, "a")), succeeded) // a running function does not ask for the index again
	if err := proxy.Begin(faults.Refusal(), time.Minute); err != nil {
		t.Fatal(err)
	}
	batch := [][]byte{order(2, "b"), order(3, "c"), product(4, "d"), order(5, "e"), product(6, "f")}
	f.answers(t, event(batch...), failedFrom(4))
	f.holds(t, "a b c d e f", "", 6, 0)
	if err := proxy.End(); err != nil {
		t.Fatal(err)
	}
	f.answers(t, event(batch[2:]...), succeeded)
	f.holds(t, "a b c d e f", "d f", 6, 0)
}

// A sink that hangs does not keep other sinks from finishing. The function answers before its time is over.
func TestATimeoutInMidBatch(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	proxy := faults.Before(t, w.To.OpenSearch)
	to := w.To
	to.OpenSearch = proxy.Endpoint()
	f := deploy(t, w, items, deployment{to: to, timeout: 4 * time.Second})
	f.answers(t, event(order(1, "a")), succeeded)
	if err := proxy.Begin(faults.Hang(), time.Minute); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	batch := [][]byte{order(2, "b"), product(3, "c"), order(4, "d")}
	f.answers(t, event(batch...), failedFrom(3))
	if took := time.Since(began); took < time.Second {
		t.Errorf("it gave up after %v", took)
	}
	f.holds(t, "a b c d", "c", 4, 0)              // OpenSearch has c: only its answer was lost
	f.answers(t, event(order(5, "e")), succeeded) // the process still works
	if n := strings.Count(f.Log(), "INIT START"); n != 1 {
		t.Errorf("the function was started %d times", n)
	}
	if err := proxy.End(); err != nil {
		t.Fatal(err)
	}
	f.answers(t, event(batch[1:]...), succeeded)
	f.holds(t, "a b c d e", "c", 5, 0)
}

// A record that no sink can ever accept and an invalid record are in dead letters before the function answers that they
// succeeded.
func TestPoisonRecords(t *testing.T) {
	t.Parallel()
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{})
	broken := []byte(strings.Replace(string(order(2, "b")), `"n":{"N":"2"}`, `"n":{"N":"two"}`, 1))
	unloved := world.RecordAt(time.Now(), 3, "INSERT", "c", "", `"Type":{"S":"Product"},"n":{"M":{"x":{"S":"text"}}}`)
	f.answers(t, event(product(1, "a"), broken, unloved, product(4, "d")), succeeded)
	f.answers(t, event(world.RecordAt(time.Now(), 5, "MODIFY", "a", `"Type":{"S":"Product"},"n":{"N":"1"}`, `"Type":{"S":"Product"},"n":{"S":"no number"}`)), succeeded)
	s := f.read(t)
	if got := keys(s[world.Rows]); got != "a c d" {
		t.Errorf("rows are of %s", got)
	}
	if len(s[world.Lines]) != 4 {
		t.Errorf("%d lines are archived", len(s[world.Lines]))
	}
	undecodable, refused := 0, 0
	for name := range s[world.Letters] {
		if strings.HasPrefix(name, " ") { // the letter belongs to no sink
			undecodable++
		} else if strings.HasPrefix(name, "products ") {
			refused++
		}
	}
	if undecodable != 1 || refused == 0 || undecodable+refused != len(s[world.Letters]) {
		t.Errorf("letters: %v", s[world.Letters])
	}
	if strings.Contains(f.Log(), "no number") {
		t.Error("the log shows a value")
	}
}

func TestEventsThatAreNone(t *testing.T) {
	t.Parallel()
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{})
	f.answers(t, []byte(`{"Records":[]}`), succeeded)
	for name, tt := range map[string]struct{ event, why string }{
		"nothing":         {"", "the input is empty"},
		"no JSON":         {"records", "broken JSON"},
		"an empty object": {"{}", "the event has no Records"},
		"a list":          {"[]", "the event is not a JSON object"},
		"another service": {`{"Records":[{"eventSource":"aws:s3","s3":{}}]}`, "the event comes from aws:s3"},
		"broken":          {string(event(order(1, "a")))[:200], "the input ends too early"},
	} {
		t.Run(name, func(t *testing.T) { f.fails(t, []byte(tt.event), "Error", tt.why) })
	}
	f.answers(t, event(order(1, "a")), succeeded)
	f.holds(t, "a", "", 1, 0)
}

// The emulator cuts an event that is too large. No service would send such an event. It fails as a whole. An item of
// 400 KB and a batch of 5 MB of such items pass.
func TestOversize(t *testing.T) {
	t.Parallel()
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{})
	large := func(n int) []byte {
		return world.RecordAt(time.Now(), n, "INSERT", fmt.Sprintf("item%02d", n), "", fmt.Sprintf(`"n":{"N":"%d"},"Text":{"S":"%s"}`, n, strings.Repeat("x", 400_000)))
	}
	var batch [][]byte
	for n := range 13 {
		batch = append(batch, large(n))
	}
	f.answers(t, event(batch...), succeeded)
	f.answers(t, event(product(20, "a")), succeeded)
	for n := 30; n < 46; n++ {
		batch = append(batch, large(n))
	}
	f.fails(t, event(batch...), "Error", "the event is broken, and none of its records is delivered")
	rows := "a"
	for n := range 13 {
		rows += fmt.Sprintf(" item%02d", n)
	}
	f.holds(t, rows, "a", 14, 0)
}
