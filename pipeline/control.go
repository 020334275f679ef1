package pipeline

// Control is what a source may ask of the run that reads it. Its methods return
// at once, may be called by any goroutine, and do nothing for a partition that
// the run does not know (any more).
type Control interface {
	// Drain asks that what was read of a partition is written without waiting for
	// batches to fill, because something waits for it.
	Drain(partition string)

	// Revoke takes a partition away from the run, because someone else reads it now. What
	// is queued of it is given up and counted as [Revoked]; Writes under way that
	// hold some of it have their context cancelled with cause, and what they hold
	// of other partitions is tried again at once. Nothing of it is committed any
	// more, and pages of it that come later are given up too. The name of a
	// revoked partition is not used again in that run.
	Revoke(partition string, cause error)
}

// Controlled is implemented by sources that control their run. Run calls Control
// once, before the first Read; and once more with nil when it has ended.
type Controlled interface {
	Control(c Control)
}
