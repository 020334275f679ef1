package state

// Target is whose state it is: a sink's, of one pipeline, in one table, since its output began
// there: what is remembered under another birth is another target's.
type Target struct {
	Pipeline, Table, View, Birth string
}
