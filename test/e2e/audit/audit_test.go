package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// untouched is how many items of each sink nothing is done to.
const untouched = 10

// newDriftTable returns a table with the items of n injections of each kind.
func newDriftTable(n int) *table { return newTableOf(kinds(), n) }

func newTableOf(kinds []kind, n int) *table {
	tb := newTable()
	for _, k := range kinds {
		for i := range n {
			k.items(tb, injection(k, i))
		}
	}
	for _, sinks := range []string{"rows places", "names", "totals words", "exact fast"} {
		for i := range untouched {
			addsTwo(sinks)(tb, fmt.Sprintf("untouched-%s-%05d", strings.ReplaceAll(sinks, " ", "-"), i))
		}
	}
	return tb
}

// injection returns the key of the item of the i-th injection of a kind.
func injection(k kind, i int) string { return fmt.Sprintf("%s-%05d", k.name, i) }

// injectAll injects n differences of each kind, and returns what an audit must find.
func injectAll(t *testing.T, s stores, tb *table, kinds []kind, n int) (want []found) {
	t.Helper()
	for _, k := range kinds {
		for i := range n {
			pk := injection(k, i)
			k.inject(s, tb, pk)
			want = append(want, k.want(tb, pk)...)
		}
	}
	if err := s.done(); err != nil {
		t.Fatal(err)
	}
	return want
}

// readReport returns the findings of a report.
func readReport(t *testing.T, d deployment, path string) (all []found) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var l struct {
			Sink    string
			Finding *found
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Finding == nil {
			continue
		}
		l.Finding.Sink = l.Sink
		if l.Finding.Kind == "document" {
			l.Finding.Place = strings.TrimPrefix(l.Finding.Place, d.prefix())
		}
		all = append(all, *l.Finding)
	}
	return all
}

// same compares the found values with the required ones, without regard to order.
func same(t *testing.T, what string, got, want []found) {
	t.Helper()
	count := make(map[found]int)
	for _, f := range want {
		count[f]++
	}
	for _, f := range got {
		count[f]--
	}
	wrong := make(map[string][]string)
	total := 0
	for f, n := range count {
		switch {
		case n > 0:
			wrong["not found"] = append(wrong["not found"], fmt.Sprintf("%+v", f))
		case n < 0:
			wrong["should not be found"] = append(wrong["should not be found"], fmt.Sprintf("%+v", f))
		}
		if n != 0 {
			total++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(wrong)) {
		slices.Sort(wrong[kind])
		shown := wrong[kind][:min(60, len(wrong[kind]))]
		t.Errorf("%s, %s, %d of %d:\n\t%s", what, kind, len(wrong[kind]), len(want), strings.Join(shown, "\n\t"))
	}
}

// equal compares the readers' results with the required ones.
func equal(t *testing.T, what string, got, want contents) {
	t.Helper()
	var wrong []string
	for key, v := range want {
		if got[key] != v {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %s", key, got[key], v))
		}
	}
	for key, v := range got {
		if _, ok := want[key]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s should not be there: %s", key, v))
		}
	}
	slices.Sort(wrong)
	if len(wrong) > 0 {
		t.Errorf("%s: %d of %d differ:\n\t%s", what, len(wrong), len(want), strings.Join(wrong[:min(20, len(wrong))], "\n\t"))
	}
}

// deployment is a pipeline with its stores.
type deployment interface {
	stores
	begin() // the injections
	putItems(t *testing.T, tb *table)
	replay(t *testing.T, name string, records []byte)
	read() contents

	command(flags ...string) *commandLine // of an audit, or of a repair
	flags(more ...string)                 // gives all of them these flags
	path(name string) string              // of a file of the test
	prefix() string                       // what the names of indexes begin with
}

func reportOf(d deployment) string { return d.path("audit.jsonl") }

// audit runs an audit, wants its exit code, and returns what it found.
func audit(t *testing.T, d deployment, code int) []found {
	t.Helper()
	d.command("--report", reportOf(d)).run(t, code)
	return readReport(t, d, reportOf(d))
}

// repair repairs what the last audit found.
func repair(t *testing.T, d deployment, code int) (said string) {
	t.Helper()
	return d.command("--repair", reportOf(d)).run(t, code)
}

// Differences of every kind in the embedded stores are found, and nothing else. A repair mends them all.
func TestEmbedded(t *testing.T) {
	n := perKind(200)
	tb := newDriftTable(n)
	tb.embedded = true
	driftIsMended(t, newFolder(t), tb, n)
}

// The same on DynamoDB and OpenSearch.
func TestServers(t *testing.T) {
	n := perKind(10)
	driftIsMended(t, newLive(t), newDriftTable(n), n)
}

// Entries of another output are found, and stay. It does not keep the repair from the other differences.
func TestAnotherBirth(t *testing.T) {
	for name, d := range map[string]deployment{"embedded": newFolder(t), "servers": newLive(t)} {
		t.Run(name, func(t *testing.T) {
			tb := newTableOf(slices.Concat(birthKinds(), kinds()[:1]), 2)
			born := injectedInto(t, d, tb, birthKinds(), 2)
			d.begin()
			want := slices.Concat(born, injectAll(t, d, tb, kinds()[:1], 2))
			same(t, "an audit", withoutGroupVersions(audit(t, d, 8)), withoutGroupVersions(want))
			said := repair(t, d, 9)
			if n := strings.Count(said, "has the birth another"); n != len(born) {
				t.Errorf("%d repairs are refused for their birth, want %d:\n%s", n, len(born), said)
			}
			same(t, "an audit after the repair", withoutGroupVersions(audit(t, d, 8)), withoutGroupVersions(born))
		})
	}
}

func driftIsMended(t *testing.T, d deployment, tb *table, n int) {
	t.Helper()
	want := injectedInto(t, d, tb, kinds(), n)
	same(t, "an audit", foreseen(tb, audit(t, d, 8)), foreseen(tb, want))
	repair(t, d, 0)
	equal(t, "after the repair", d.read(), tb.contents())
	same(t, "an audit after the repair", audit(t, d, 0), nil)

	d.replay(t, "older.jsonl", tb.older(n))
	equal(t, "after changes of before", d.read(), tb.contents())
	tb.changeAll()
	d.putItems(t, tb)
	d.replay(t, "later.jsonl", tb.latest())
	equal(t, "after later changes", d.read(), tb.contents())
	same(t, "an audit after later changes", audit(t, d, 0), nil)
}

// withoutGroupVersions forgets the versions of groups: a row of DynamoDB has that of the change that was added last, which is any
// of those that were written together.
func withoutGroupVersions(fs []found) []found {
	for i := range fs {
		if fs[i].Kind == "group" {
			fs[i].Version = ""
		}
	}
	return fs
}

// foreseen returns findings as far as they are known beforehand.
func foreseen(tb *table, fs []found) []found {
	if tb.embedded {
		return fs
	}
	return withoutGroupVersions(fs)
}

// injectedInto fills the sinks, and injects n differences of each kind. It returns what an audit must find.
func injectedInto(t *testing.T, d deployment, tb *table, kinds []kind, n int) []found {
	t.Helper()
	d.replay(t, "first.jsonl", tb.records(1))
	d.remember()
	d.replay(t, "second.jsonl", tb.records(2))
	d.putItems(t, tb)
	equal(t, "what the pipeline wrote", d.read(), tb.contents())
	same(t, "an audit of what the pipeline wrote", audit(t, d, 0), nil)
	d.begin()
	return injectAll(t, d, tb, kinds, n)
}

// older returns changes of before, of all items whose places had a version when they were repaired. With embedded stores the
// audit knows the versions of the items, and so all places have one.
func (tb *table) older(n int) []byte {
	var lines bytes.Buffer
	for _, k := range kinds() {
		for i := range n {
			pk := injection(k, i)
			if !tb.embedded && slices.ContainsFunc(k.want(tb, pk), func(f found) bool { return f.Version == "" }) {
				continue
			}
			for _, pk := range []string{pk, second(pk)} {
				if tb.history[pk] == nil {
					continue
				}
				th := tb.history[pk][0]
				th.price, th.name, th.words = 5000, "older", []string{"older"}
				lines.Write(tb.record(0, "", th))
				lines.WriteByte('\n')
			}
		}
	}
	return lines.Bytes()
}

// changeAll changes all items once more. Removed entries come back.
func (tb *table) changeAll() {
	for _, pk := range tb.order {
		th := tb.now(pk)
		th.gone, th.price, th.name, th.words = false, th.price+1000, "later"+pk, []string{"y", "later"}
		tb.add(th)
	}
}

// latest returns the last change of each item.
func (tb *table) latest() []byte {
	var lines bytes.Buffer
	for _, pk := range tb.order {
		h := tb.history[pk]
		lines.Write(tb.record(lastChange, h[len(h)-2].attributes(), h[len(h)-1]))
		lines.WriteByte('\n')
	}
	return lines.Bytes()
}
