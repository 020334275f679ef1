package consume

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// leaseRow is a lease as `leases list -o json` prints it.
type leaseRow struct {
	Shard, Owner, Checkpoint string
	Counter                  int64
	LastRecord               *time.Time `json:"last_record"`
}

// leases returns the leases of the world's lease table. It asks again if DynamoDB Local is overloaded and does not
// answer in time.
func (w *world) leases(t *testing.T) []leaseRow {
	t.Helper()
	code, out := w.run(t, "leases", "list", "-o", "json")
	for n := 0; code != 0 && n < 5 && strings.Contains(out, ": no answer"); n++ {
		t.Log(out)
		code, out = w.run(t, "leases", "list", "-o", "json")
	}
	if code != 0 {
		t.Fatalf("tablewake leases list: exit code %d\n%s", code, out)
	}
	_, list, _ := strings.Cut(out, "\n[") // the list follows messages about the stores
	var all []leaseRow
	if err := json.Unmarshal([]byte("["+list), &all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return all
}

// owner returns the owner of a shard, or "" if the shard has none or is read to its end.
func (w *world) owner(t *testing.T, shard string) string {
	t.Helper()
	for _, l := range w.leases(t) {
		if l.Shard == shard && l.Checkpoint != "SHARD_END" {
			return l.Owner
		}
	}
	return ""
}

// owns reports whether a worker whose id has that prefix owns a shard that is not read to its end.
func (w *world) owns(t *testing.T, worker string) bool {
	t.Helper()
	for _, l := range w.leases(t) {
		if strings.HasPrefix(l.Owner, worker) && l.Checkpoint != "SHARD_END" {
			return true
		}
	}
	return false
}

// Leases are changed by hand while consumers work. No record is lost, a pin moves a shard, and a shard that is reset is
// read again without harm to the sinks.
func TestLeasesByHand(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "1")
	w := newWorld(t, "shop", s.endpoint, "")
	s.do(t, "POST", "/admin/write", map[string]any{"records": 100, "keys": 20, "deletes": 0.1}, nil)
	first := w.start(t, "task-1", w.dynamo)
	first.reads(t)
	second := w.start(t, "task-2", w.dynamo)
	second.says(t, "health: http")
	w.converge(t, func() []item { return s.items(t) })
	shard := w.leases(t)[0].Shard
	s.do(t, "POST", "/admin/write", map[string]any{"records": 150, "keys": 20, "rate": 20, "seed": 2}, nil)

	w.look(t, 0, "leases", "pin", shard, "task-2")
	until(t, "task-2 has the shard that is pinned to it", func() bool { return strings.HasPrefix(w.owner(t, shard), "task-2-") })
	w.look(t, 0, "leases", "unpin", shard)
	w.look(t, 0, "leases", "release", shard)
	until(t, "somebody has the shard that was released", func() bool { return w.owner(t, shard) != "" })
	if out := w.look(t, 1, "leases", "reset", shard, "--to", "latest"); !strings.Contains(out, "--skip says that this is meant") {
		t.Errorf("a reset that loses records: %s", out)
	}
	w.look(t, 0, "leases", "reset", shard, "--to", "trim_horizon")
	until(t, "all is written", func() bool { return s.stats(t).Running == 0 })
	w.converge(t, func() []item { return s.items(t) })
	w.healthy(t)
	if read := first.stop(t).Records + second.stop(t).Records; read < int64(s.stats(t).Records)+100 {
		t.Errorf("%d records were read, which is not all of them and the first hundred again", read)
	}
}
