package pipeline

// Explanation is what a pipeline would do with one change.
type Explanation struct {
	Change  *Change
	Filters []FilterTrace // up to the first that drops
	Diff    []Difference
	Events  []Event
	Routes  []RouteTrace // empty where a filter drops
}

// FilterTrace is what one filter said.
type FilterTrace struct {
	Verdict Verdict
	Err     error
	Name    string
}

// RouteTrace is what one sink would do.
type RouteTrace struct {
	Name    string
	Filters []FilterTrace
	Taken   bool // no filter of the route dropped the change
	Ops     []Op
	Outcome Outcome
	Reason  string
	Err     error
}
