package pipeline

// Control is what a source may ask of the run that reads it. Its methods return
// at once and may be called by any goroutine, also for partitions of which nothing
// was read yet; when the run has ended they do nothing. They may not be called by
// [Pauser.Pause] or [Controlled.Control].
type Control interface {
	// Drain asks that what was read of a partition, and what comes of it from now
	// on, is written without waiting for batches to fill, because something waits
	// for it.
	Drain(partition string)

	// Revoke takes a partition away from the run, because someone else reads it now. What
	// is queued of it is given up and counted as [Revoked]; Writes under way that
	// hold some of it have their context cancelled with cause, and what they hold
	// of other partitions is tried again at once. Nothing of it is committed any
	// more (a Commit that is under way may finish), and pages that were not given to
	// a sink yet, also those that come later, are given up and counted nowhere. The
	// name of a revoked partition is not used again in that run.
	Revoke(partition string, cause error)

	// Fail is as if Read had returned err, also while the run has no room for more and
	// does not call Read.
	Fail(err error)
}

// Controlled is implemented by sources that control their run. Run calls Control
// once, before the first Read; and once more with nil when nothing of the run is
// under way any more.
type Controlled interface {
	Control(c Control)
}
