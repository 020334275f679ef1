package simulation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/shardreader/coordinator"
)

func itoa(n int) string { return strconv.Itoa(n) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// short replaces the names of shards and streams in a text by the short names of the story.
func (w *world) short(text string) string {
	for i := len(w.shards) - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, w.shards[i].id, w.shards[i].String())
	}
	for _, t := range w.tables {
		for i, st := range t.streams {
			text = strings.ReplaceAll(text, st.st.ARN(), fmt.Sprintf("%s/%d", t.name, i+1))
		}
	}
	return text
}

// tellEvent adds an event that a worker receives to the story.
func (w *world) tellEvent(p *process, e coordinator.Event) {
	if !w.story.on {
		return
	}
	switch e := e.(type) {
	case coordinator.Tick, coordinator.PageTaken:
		return
	case coordinator.ReadTableResult:
		if e.Err == nil {
			return // the log lines of the table show its changes
		}
		w.tell(p.id, "< table: %d leases, %d members %s", len(e.Snapshot.Leases), len(e.Snapshot.Members), failed(e.Err))
	case coordinator.GetRecordsResult:
		n := 0
		if e.Records.Page != nil {
			n = len(e.Records.Page.Changes) + len(e.Records.Page.Errors)
		}
		if n > 0 || e.Records.Ended || e.Err != nil {
			w.tell(p.id, "< call %d: %d records, ended: %s %s", e.Call, n, yes(e.Records.Ended), failed(e.Err))
		}
	case coordinator.DescribeStreamResult:
		var shards []string
		for _, s := range e.Description.Shards {
			open := ""
			if s.Open() {
				open = "+"
			}
			shards = append(shards, s.ID+open)
		}
		w.tell(p.id, "< call %d: %s %s", e.Call, w.short(fmt.Sprint(shards)), failed(e.Err))
	case coordinator.WriteResult:
		if e.Err != nil {
			w.tell(p.id, "< call %d%s", e.Call, failed(e.Err))
		}
	case coordinator.Acked:
		w.tell(p.id, "< acked %s %s", w.short(e.Partition), e.Position)
	default:
		w.tell(p.id, "< %s", w.short(fmt.Sprintf("%T %+v", e, e)))
	}
}

func failed(err error) string {
	if err == nil {
		return ""
	}
	return "(" + err.Error() + ")"
}

// tellAction adds an action that a worker requests to the story.
func (w *world) tellAction(p *process, a coordinator.Action) {
	if !w.story.on {
		return
	}
	switch a := a.(type) {
	case coordinator.ReadTable, coordinator.WriteHeartbeat, coordinator.ReserveCall:
		return
	case coordinator.GetRecords:
		w.tell(p.id, "> call %d: GetRecords %s", a.Call, w.short(a.Query.Shard))
	case coordinator.GetShardIterator:
		w.tell(p.id, "> call %d: GetShardIterator %s %s %s", a.Call, w.short(a.At.Shard), a.At.Type, a.At.Sequence)
	case coordinator.DescribeStream:
		w.tell(p.id, "> call %d: DescribeStream %s", a.Call, w.short(fmt.Sprintf("%+v", a.Query)))
	case coordinator.SwapLease:
		w.tell(p.id, "> call %d: Swap %s %s/%d/%v -> %s/%d/%v wanted %q", a.Call, w.short(a.Old.Shard),
			a.Old.Owner, a.Old.Counter, a.Old.Checkpoint, a.Next.Owner, a.Next.Counter, a.Next.Checkpoint, a.Next.RequestedBy)
	case coordinator.CreateLease:
		w.tell(p.id, "> call %d: Create %s %v", a.Call, w.short(a.Lease.Shard), a.Lease.Checkpoint)
	case coordinator.DeleteLease:
		w.tell(p.id, "> call %d: Delete %s", a.Call, w.short(a.Old.Shard))
	case coordinator.Deliver:
		w.tell(p.id, "> deliver %s: %d records up to %s, end: %s", w.short(a.Page.Partition), len(a.Page.Changes)+len(a.Page.Errors), a.Page.Position, yes(a.Page.End))
	case coordinator.Log:
		w.tell(p.id, "> says: %s %s", a.Message, w.short(fmt.Sprint(a.Attrs)))
	default:
		w.tell(p.id, "> %s", w.short(fmt.Sprintf("%T %+v", a, a)))
	}
}
