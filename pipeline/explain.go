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

// Difference is one path at which the old and the new image differ.
type Difference struct {
	Path     string
	Old, New Value // Absent where the path is missing
}

// Diff lists the paths at which a and b differ, in the order of the paths: leaves of
// maps by name, elements of lists by index, sets as a whole.
func Diff(a, b Image) []Difference { panic("diff") }
