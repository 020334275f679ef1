package leases_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// The log has the text of a table's refusal.
func TestErrorsInALog(t *testing.T) {
	table := leases.NewMemory(leases.Snapshot{})
	_, checkpoint := leases.ParseCheckpoint("-1")
	for want, err := range map[string]error{
		"leases: a lease without a shard":          table.Create(t.Context(), leases.Lease{}),
		"leases: a member without an ID":           table.Heartbeat(t.Context(), leases.Member{}),
		"leases: a stream without a name is begun": table.MarkBegun(t.Context(), ""),
		"leases: a checkpoint is a sequence number, TRIM_HORIZON, LATEST, AT_TIMESTAMP or SHARD_END": checkpoint,
		"conflict: the lease of shard s is owned by w":                                               &leases.Conflict{Current: leases.Lease{Shard: "s", Owner: "w"}},
	} {
		if got := redact.LogText(err); got != want {
			t.Errorf("%v is in the log as %q, want %q", err, got, want)
		}
	}
}

func TestParseCheckpoint(t *testing.T) {
	for _, c := range []leases.Checkpoint{
		{}, {Kind: leases.Latest}, {Kind: leases.AtTime}, {Kind: leases.ShardEnd}, leases.After("000042"), leases.After("1234567890123456789012345678901234567890"),
	} {
		if got, err := leases.ParseCheckpoint(c.String()); err != nil || got != c {
			t.Errorf("%s is %+v (%v), want %+v", c, got, err, c)
		}
	}
	for _, bad := range []string{"", "-1", "0x10", "trim_horizon", "42 ", "SHARD_END2"} {
		if got, err := leases.ParseCheckpoint(bad); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

// Leases are compared as tables keep them: times to the second, sets without order. Every field counts.
func TestLease_Equal(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	l := leases.Lease{Shard: "s", Parents: []string{"a", "b"}, From: at}
	m := leases.Lease{Shard: "s", Parents: []string{"b", "a", "a"}, Children: []string{}, From: at.Add(time.Millisecond).Local()}
	if !l.Equal(m) || !m.Equal(l) || m.Parents[0] != "b" {
		t.Errorf("%+v and %+v are not equal", l, m)
	}
	changes := map[string]func(*leases.Lease){
		"Shard":       func(l *leases.Lease) { l.Shard = "x" },
		"Stream":      func(l *leases.Lease) { l.Stream = "x" },
		"Owner":       func(l *leases.Lease) { l.Owner = "x" },
		"Counter":     func(l *leases.Lease) { l.Counter++ },
		"Checkpoint":  func(l *leases.Lease) { l.Checkpoint.Sub++ },
		"Parents":     func(l *leases.Lease) { l.Parents = []string{"a"} },
		"Children":    func(l *leases.Lease) { l.Children = []string{"a"} },
		"Switches":    func(l *leases.Lease) { l.Switches++ },
		"First":       func(l *leases.Lease) { l.First = "x" },
		"From":        func(l *leases.Lease) { l.From = time.Time{} },
		"Time":        func(l *leases.Lease) { l.Time = at },
		"RequestedBy": func(l *leases.Lease) { l.RequestedBy = "x" },
		"Pinned":      func(l *leases.Lease) { l.Pinned = "x" },
		"Load":        func(l *leases.Lease) { l.Load++ },
		"Stopped":     func(l *leases.Lease) { l.Stopped = "x" },
		"Opaque":      func(l *leases.Lease) { l.Opaque = "x" },
	}
	for f := range reflect.TypeFor[leases.Lease]().Fields() {
		if changes[f.Name] == nil {
			t.Errorf("the test does not change %s", f.Name)
		}
	}
	for name, change := range changes {
		other := l.Clone()
		change(&other)
		if l.Equal(other) {
			t.Errorf("another %s, and yet equal", name)
		}
	}
}

func TestMember_Equal(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	m := leases.Member{ID: "a", Behind: map[string]time.Time{"s": at}}
	same := leases.Member{ID: "a", Behind: map[string]time.Time{"s": at.Add(time.Millisecond)}, Stopped: map[string]string{}}
	if !m.Equal(same) {
		t.Errorf("%+v and %+v are not equal", m, same)
	}
	for name, change := range map[string]func(*leases.Member){
		"ID":        func(m *leases.Member) { m.ID = "x" },
		"Name":      func(m *leases.Member) { m.Name = "x" },
		"Heartbeat": func(m *leases.Member) { m.Heartbeat++ },
		"Leaving":   func(m *leases.Member) { m.Leaving = true },
		"Leases":    func(m *leases.Member) { m.LeaseCount++ },
		"Load":      func(m *leases.Member) { m.Load++ },
		"Calls":     func(m *leases.Member) { m.CallsPerMonth++ },
		"Pending":   func(m *leases.Member) { m.Pending++ },
		"Behind":    func(m *leases.Member) { m.Behind["s"] = at.Add(time.Second) },
		"Failing":   func(m *leases.Member) { m.Failing = map[string]leases.ReadFailure{"s": {}} },
		"Stopped":   func(m *leases.Member) { m.Stopped = map[string]string{"s": ""} },
	} {
		other := m.Clone()
		change(&other)
		if m.Equal(other) {
			t.Errorf("another %s, and yet equal", name)
		}
	}
}

func TestConflict_Error(t *testing.T) {
	for want, c := range map[string]leases.Conflict{
		"the lease is gone":                                  {Missing: true},
		"the lease of shard s is owned by w":                 {Current: leases.Lease{Shard: "s", Owner: "w"}},
		"the lease of shard s was changed by another worker": {Current: leases.Lease{Shard: "s"}},
	} {
		if got := c.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
