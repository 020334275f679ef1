package file_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/state"
)

func full() leases.Lease {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return leases.Lease{
		Shard: "shard-1", Stream: "arn", Owner: "w1", Counter: 7, Checkpoint: leases.Checkpoint{Kind: leases.Sequence, Sequence: "42", Sub: 1},
		Parents: []string{"p"}, Children: []string{"c", "d"}, Switches: 2, First: "10", From: at, Time: at.Add(time.Second),
		RequestedBy: "w2", Pinned: "host", Load: 1.5, Opaque: "key",
	}
}

// The next process finds the leases of the former one, all without an owner. So it need not wait until the old owner is
// gone.
func TestReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.json")
	first, err := file.Open(path, "shop")
	if err != nil {
		t.Fatal(err)
	}
	gaps := []record.Gap{
		{StreamARN: "a", Shard: "s", After: "1", Before: "5", From: time.Unix(10, 0).UTC(), To: time.Unix(20, 0).UTC(), Found: time.Unix(30, 0).UTC()},
		{StreamARN: "a", Shard: "s", After: "7", Whole: true, Found: time.Unix(31, 0).UTC()},
		{StreamARN: "b", Shard: "s", UnknownExtent: true, Found: time.Unix(32, 0).UTC()},
	}
	for _, err := range []error{
		first.Create(t.Context(), full()),
		first.Create(t.Context(), leases.Lease{Shard: "shard-2", Counter: 3}),
		first.Heartbeat(t.Context(), leases.Member{ID: "w1", Heartbeat: 1, Behind: map[string]time.Time{"shard-1": {}}}),
		first.AddGap(t.Context(), gaps[2]), first.AddGap(t.Context(), record.Gap{StreamARN: "a", Shard: "s", After: "1", Before: "3"}),
		first.AddGap(t.Context(), gaps[1]), first.AddGap(t.Context(), gaps[0]),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	repair := state.GapRepair{Stage: state.GapRepairing, Run: "r", Owner: "o", Exports: []string{"e"}, At: time.Unix(40, 5).UTC(), Version: 1}
	if done, err := first.SetGapRepair(t.Context(), gaps[1], repair); !done || err != nil {
		t.Fatal(done, err)
	}
	repair.Version = 2
	want := []state.NotedGap{
		{Gap: gaps[0], Repair: state.GapRepair{Stage: state.GapOpen, Version: 2}}, {Gap: gaps[1], Repair: repair},
		{Gap: gaps[2], Repair: state.GapRepair{Stage: state.GapOpen, Version: 1}},
	}
	look, noted, err := file.ReadUnlocked(path) // while it is in use
	if err != nil || len(look.Leases) != 2 || !look.Leases[0].Equal(full()) || len(look.Members) != 1 || !reflect.DeepEqual(noted, want) {
		t.Errorf("a look shows\n%+v\n%+v (%v)", look, noted, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := open(t, path)
	s, err := second.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	freed := full()
	freed.Owner, freed.RequestedBy, freed.Counter = "", "", 8
	if len(s.Leases) != 2 || !s.Leases[0].Equal(freed) || !s.Leases[1].Equal(leases.Lease{Shard: "shard-2", Counter: 3}) || len(s.Members) != 0 {
		t.Errorf("reopened it holds\n%+v", s)
	}
	if again := gapsOf(t, second); !reflect.DeepEqual(again, want) {
		t.Errorf("gaps %+v", again)
	}
	// The process that is gone cannot write any more, should it still be there.
	if _, ok := leases.AsConflict(second.Swap(t.Context(), full(), full())); !ok {
		t.Error("an owner of old wrote")
	}
}

func TestLook_Nothing(t *testing.T) {
	s, gaps, err := file.ReadUnlocked(filepath.Join(t.TempDir(), "none.json"))
	if err != nil || len(s.Leases)+len(s.Members)+len(gaps) != 0 {
		t.Errorf("%+v %v (%v)", s, gaps, err)
	}
}

// A second process, and a second Open in this one, is refused, and told why. A process that only checks whether the
// file is in use blocks no other.
func TestLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "leases.json")
		used := func(want bool) {
			t.Helper()
			if is, err := file.InUse(path); err != nil || is != want {
				t.Errorf("in use: %v (%v)", is, err)
			}
		}
		used(false)
		first := open(t, path)
		used(true)
		if _, err := file.Open(path, "shop"); err == nil || !strings.Contains(err.Error(), path+" is in use by another process") {
			t.Errorf("a second Open: %v", err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		used(false)
		open(t, path)
	})
}

// Where the lock is removed another process may take the leases: this one writes no more.
func TestTheLockIsRemoved(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"the lock":   func(path string) error { return os.Remove(path + ".lock") },
		"the folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		path := filepath.Join(t.TempDir(), "folder", "leases.json")
		first := open(t, path)
		if err := first.Create(t.Context(), leases.Lease{Shard: "of the first"}); err != nil {
			t.Fatal(err)
		}
		if err := remove(path); err != nil {
			t.Fatal(err)
		}
		second := open(t, path)
		if err := second.Create(t.Context(), leases.Lease{Shard: "of the second"}); err != nil {
			t.Fatal(err)
		}
		err := first.Create(t.Context(), leases.Lease{Shard: "lost"})
		if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "removed or replaced") || !strings.Contains(err.Error(), "start again") {
			t.Errorf("without %s the first writes: %v", name, err)
		}
		if s, _, err := file.ReadUnlocked(path); err != nil || len(s.Leases) == 0 || slices.ContainsFunc(s.Leases, func(l leases.Lease) bool { return l.Shard == "lost" }) {
			t.Errorf("without %s: %+v (%v)", name, s, err)
		}
	}
}

func TestClosed(t *testing.T) {
	table := open(t, filepath.Join(t.TempDir(), "leases.json"))
	for range 2 {
		if err := table.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Create(t.Context(), full()); !pipeline.IsFatal(err) {
		t.Errorf("a closed table: %v", err)
	}
}

func TestAnotherPipeline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.json")
	table, err := file.Open(path, "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Create(t.Context(), full()); err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(path, "shop"); err == nil || !strings.Contains(err.Error(), "of the pipeline other, not of shop") {
		t.Errorf("%v", err)
	}
}

// A damaged file is never read as an empty one: that would begin all shards again.
func TestDamaged(t *testing.T) {
	whole := `{"version": 2, "pipeline": "shop", "leases": [{"shard": "s", "checkpoint": "42", "counter": 1}], "members": [], "gaps": []}`
	for name, content := range map[string]string{
		"empty":                "",
		"cut":                  whole[:len(whole)/2],
		"more":                 whole + whole,
		"another file":         "name: shop\n",
		"newer":                strings.Replace(whole, `"version": 2`, `"version": 3`, 1),
		"unknown":              strings.Replace(whole, `"counter"`, `"contour"`, 1),
		"no shard":             strings.Replace(whole, `"shard": "s"`, `"shard": ""`, 1),
		"no checkpoint":        strings.Replace(whole, `"42"`, `""`, 1),
		"an impossible one":    strings.Replace(whole, `"42"`, `"-42"`, 1),
		"two leases of a kind": strings.Replace(whole, `[{`, `[{"shard": "s", "checkpoint": "LATEST", "counter": 1}, {`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // and it stays as it is, and is not locked
				_, err := file.Open(path, "shop")
				if err == nil || !strings.Contains(err.Error(), path+" is not a file of leases: ") || !strings.Contains(err.Error(), "restore it") {
					t.Errorf("%v", err)
				}
			}
			if b, err := os.ReadFile(path); string(b) != content {
				t.Errorf("it holds %q now (%v)", b, err)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "leases.json")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := open(t, path).Read(t.Context()); err != nil || len(s.Leases) != 1 || s.Leases[0].Checkpoint != leases.After("42") {
		t.Errorf("the whole one: %+v (%v)", s, err)
	}
}

// People can read it, and a change of one lease is a change of one line.
func TestReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.json")
	table := open(t, path)
	for _, l := range []leases.Lease{full(), {Shard: "shard-2"}} {
		if err := table.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
"version": 2,
"pipeline": "shop",
"leases": [
{"shard":"shard-1","checkpoint":"42","sub":1,"owner":"w1","counter":7,"stream":"arn","parents":["p"],"children":["c","d"],"switches":2,` +
		`"first":"10","from":"2026-03-04T05:06:07Z","time":"2026-03-04T05:06:08Z","wanted":"w2","pinned":"host","load":1.5,"opaque":"key"},
{"shard":"shard-2","checkpoint":"TRIM_HORIZON","counter":0}
],
"members": [
],
"gaps": [
]
}
`
	if string(b) != want {
		t.Errorf("the file is\n%s\nwant\n%s", b, want)
	}
}

// The remains of a write that a crash interrupted are ignored.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "leases.json")
	table := open(t, path)
	if err := table.Create(t.Context(), full()); err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".leases.json.new"), []byte(`{"version": 2, "leas`), 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	if err := again.Create(t.Context(), leases.Lease{Shard: "shard-2"}); err != nil {
		t.Fatal(err)
	}
	if s, _, err := file.ReadUnlocked(path); err != nil || len(s.Leases) != 2 {
		t.Errorf("%+v (%v)", s, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*.new")); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

// gapsOf returns the gaps of a table.
func gapsOf(t *testing.T, table *file.Table) (gaps []state.NotedGap) {
	t.Helper()
	for g, err := range table.Gaps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		gaps = append(gaps, g)
	}
	return gaps
}

// When a gap was found is kept with it, also when more becomes known of it.
func TestGaps_Found(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := open(t, filepath.Join(t.TempDir(), "leases.json"))
		found := time.Now().UTC()
		if err := table.AddGap(t.Context(), record.Gap{StreamARN: "a", Shard: "s"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := table.AddGap(t.Context(), record.Gap{StreamARN: "a", Shard: "s", Before: "9"}); err != nil {
			t.Fatal(err)
		}
		want := record.Gap{StreamARN: "a", Shard: "s", Before: "9", Found: found}
		if gaps := gapsOf(t, table); len(gaps) != 1 || gaps[0].Gap != want {
			t.Errorf("%+v, want %+v", gaps, want)
		}
	})
}

// The log has the error of a file, too.
func TestDamaged_InALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.json")
	for content, want := range map[string]string{
		`{"version":99}`:                        "its version is 99, and this program reads 2",
		`{"version":2,"leases":[{"shard":""}]}`: "a lease has no shard",
		`{"version":2,"leases":[{"shard":"s","checkpoint":"7"},{"shard":"s","checkpoint":"7"}]}`: `the shard "s" has two leases`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := file.ReadUnlocked(path)
		if got := redact.LogText(err); !strings.HasPrefix(got, "leases: "+path+" is not a file of leases: "+want) {
			t.Errorf("%s is in the log as %q, want %q", content, got, want)
		}
	}
}
