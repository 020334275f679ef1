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

// untouched is the number of items of each sink that no injection touches.
const untouched = 10

// newDriftTable returns a table with the items for n injections of each kind.
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

// injectAll injects n differences of each kind, and returns the findings that an audit must have.
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

// same compares findings with the required findings, without regard to order.
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

// equal compares the contents that readers find with the required contents.
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
	begin() // begins the injections
	putItems(t *testing.T, tb *table)
	replay(t *testing.T, name string, records []byte)
	read() contents

	command(flags ...string) *commandLine // returns the command line of an audit or a repair
	flags(more ...string)                 // sets further flags of all later audits and repairs
	path(name string) string              // returns the path of a file of the test
	prefix() string                       // returns the beginning of the names of indexes
}

func reportOf(d deployment) string { return d.path("audit.jsonl") }

// audit runs an audit, checks its exit code and returns its findings.
func audit(t *testing.T, d deployment, code int) []found {
	t.Helper()
	d.command("--report", reportOf(d)).run(t, code)
	return readReport(t, d, reportOf(d))
}

// repair repairs the findings of the last audit, checks the exit code and returns the output.
func repair(t *testing.T, d deployment, code int) (said string) {
	t.Helper()
	return d.command("--repair", reportOf(d)).run(t, code)
}

// An audit of the embedded stores finds the injected differences of every kind, and nothing else. A repair fixes all of
// them.
func TestEmbedded(t *testing.T) {
	n := perKind(200)
	tb := newDriftTable(n)
	tb.embedded = true
	driftIsMended(t, newFolder(t), tb, n)
}

// An audit of DynamoDB and OpenSearch finds the injected differences of every kind, and nothing else. A repair fixes
// all of them.
func TestServers(t *testing.T) {
	n := perKind(10)
	driftIsMended(t, newLive(t), newDriftTable(n), n)
}

// An audit finds entries that another output of the sinks left. A repair does not change these entries, but fixes the
// other differences.
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
	want := injectedInto(t, d, tb, tb.kinds(), n)
	same(t, "an audit", foreseen(tb, audit(t, d, 8)), foreseen(tb, want))
	repair(t, d, 0)
	repair(t, d, 0) // changes nothing
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

// withoutGroupVersions removes the versions of groups. A row of DynamoDB has the version of the change that was added
// last. Changes that are written together are added in any order.
func withoutGroupVersions(fs []found) []found {
	for i := range fs {
		if fs[i].Kind == "group" {
			fs[i].Version = ""
		}
	}
	return fs
}

// foreseen returns findings without the parts that a test cannot know beforehand.
func foreseen(tb *table, fs []found) []found {
	if tb.embedded {
		return fs
	}
	return withoutGroupVersions(fs)
}

// injectedInto fills the sinks, and injects n differences of each kind. It returns the findings that an audit must
// have.
func injectedInto(t *testing.T, d deployment, tb *table, kinds []kind, n int) []found {
	t.Helper()
	d.replay(t, "first.jsonl", tb.records(1))
	d.remember()
	if second := tb.records(2); len(second) > 0 {
		d.replay(t, "second.jsonl", second)
	}
	d.putItems(t, tb)
	equal(t, "what the pipeline wrote", d.read(), tb.contents())
	same(t, "an audit of what the pipeline wrote", audit(t, d, 0), nil)
	d.begin()
	return injectAll(t, d, tb, kinds, n)
}

// older returns a record for each item whose place had a version when the place was repaired. The record is older than
// all changes of the item. With embedded stores all places have a version, because the audit knows the versions of the
// items.
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

// changeAll changes all items once more. Removed items come back.
func (tb *table) changeAll() {
	for _, pk := range tb.order {
		th := tb.now(pk)
		th.gone, th.price, th.name, th.words = false, th.price+1000, "later"+pk, []string{"y", "later"}
		tb.add(th)
	}
}

// latest returns the record of the last change of each item.
func (tb *table) latest() []byte {
	var lines bytes.Buffer
	for _, pk := range tb.order {
		h := tb.history[pk]
		lines.Write(tb.record(lastChange, h[len(h)-2].attributes(), h[len(h)-1]))
		lines.WriteByte('\n')
	}
	return lines.Bytes()
}
