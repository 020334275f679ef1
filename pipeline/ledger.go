package pipeline

// Ledger counts every record once at the source and once at each sink it was routed to.
type Ledger struct {
	Source SourceLedger          `json:"source"`
	Sinks  map[string]SinkLedger `json:"sinks"`
	Events map[string]int64      `json:"events"` // raised, by detector
}

// SourceLedger balances: Read = Duplicate + sum(Filtered) + Unrouted + Undecodable + Routed.
type SourceLedger struct {
	Read        int64            `json:"read"`
	Duplicate   int64            `json:"duplicate"`
	Filtered    map[string]int64 `json:"filtered"` // by reason
	Unrouted    int64            `json:"unrouted"` // wanted by no route
	Undecodable int64            `json:"undecodable"`
	Routed      int64            `json:"routed"`
}

// SinkLedger balances: Routed = Written + Superseded + sum(NoEffect) + Coalesced +
// Suppressed + DeadLettered + Quarantined + Pending.
type SinkLedger struct {
	Routed       int64            `json:"routed"`
	Written      int64            `json:"written"`
	Superseded   int64            `json:"superseded"`
	NoEffect     map[string]int64 `json:"no_effect"` // by reason
	Coalesced    int64            `json:"coalesced"`
	Suppressed   int64            `json:"suppressed"`
	DeadLettered int64            `json:"dead_lettered"`
	Quarantined  int64            `json:"quarantined"`
	Pending      int64            `json:"pending"`
	Dropped      map[string]int64 `json:"dropped"` // by the route's own filters, by reason: never routed here, so outside the balance
}

// Check is nil when both ledgers balance, and else says which line does not.
func (l Ledger) Check() error { panic("runner") }
