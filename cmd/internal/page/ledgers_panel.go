package page

import (
	"maps"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline"
)

// ledgersPanel shows the two ledgers of this process. One counts the results of records, the other one the results of
// deliveries to each sink.
func ledgersPanel(s Status) panel {
	p := panel{Title: "Ledgers"}
	if s.Consumer == nil {
		return p.add(block{Scope: thisProcess, Text: "Only the page of a consumer has them: each keeps its own.", Tone: dim})
	}
	l := s.Consumer.Ledger
	p = p.add(block{Scope: thisProcess, Table: sourceLedger(l.Source), ID: "ledger-source"})
	if len(l.Sinks) > 0 {
		p = p.add(block{Scope: thisProcess, Table: sinkLedgers(l.Sinks), ID: "ledger-sinks"})
	}
	balance := block{Scope: thisProcess,
		Text: "Both balance: every record, and every delivery, is in one of these counts.", Tone: good}
	if err := l.Check(); err != nil {
		balance.Text, balance.Tone = "They do not balance, which is a bug of tablewake: "+err.Error(), bad
	}
	return p.add(balance)
}

func sourceLedger(l pipeline.SourceLedger) *table {
	t := newTable("Records read, since this process started", "Records", "#Count")
	add := func(name string, n int64) { t.Rows = append(t.Rows, []cell{{Text: name}, dimIfZeroCell(n)}) }
	add("read", l.Read)
	add("routed to sinks", l.Routed)
	add("duplicates", l.Duplicate)
	for _, reason := range slices.Sorted(maps.Keys(l.Filtered)) {
		add("filtered: "+reason, l.Filtered[reason])
	}
	add("of no sink", l.Unrouted)
	add("undecodable", l.Undecodable)
	return t
}

func sinkLedgers(ledgers map[string]pipeline.SinkLedger) *table {
	t := newTable("Deliveries to sinks, since this process started", "Sink", "#Routed", "#Written", "#Superseded",
		"#No effect", "#Coalesced", "#Suppressed", "#Dead letters", "#Quarantined", "#Revoked", "#Pending")
	for _, sink := range slices.Sorted(maps.Keys(ledgers)) {
		k := ledgers[sink]
		row := []cell{{Text: sink}}
		for _, n := range []int64{k.Routed, k.Written, k.Superseded, fleet.Sum(k.NoEffect), k.Coalesced, k.Suppressed,
			k.DeadLettered, k.Quarantined, k.Revoked, k.Pending} {
			row = append(row, dimIfZeroCell(n))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
