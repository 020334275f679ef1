package pipeline

// Control is what a source may ask of the run that reads it. Its methods return
// at once and may be called by any goroutine, also for partitions of which nothing
// was read yet; when the run has ended they do nothing. They may not be called by
// [Pauser.Pause] or [Controlled.Control].
type Control interface {
	// Drain asks that what was read of partitions, and what comes of them from now
	// on, is written without waiting for batches to fill, because something waits
	// for it.
	Drain(partitions ...string)

	// Recall asks for what is not begun of partitions, because there is no time for it: no
	// Write starts with any of it, what is queued is given back and counted as [Revoked], and
	// so is what fails from now on. Writes under way may finish, and what they finish is
	// finished. Nothing of the partitions is committed any more. The name of a recalled
	// partition is not used again in that run; it may be revoked yet.
	Recall(partitions ...string)

	// Revoke takes partitions away from the run, because someone else reads them now. What
	// is queued of them is given up and counted as [Revoked]; Writes under way that
	// hold some of it have their context cancelled with cause, and what they hold
	// of other partitions is tried again at once. Nothing of them is committed any
	// more (a Commit that is under way may finish), and pages that were not given to
	// a sink yet, also those that come later, are given up and counted nowhere. The
	// name of a revoked partition is not used again in that run.
	//
	// It looks at all that is queued, once for all partitions of a call.
	Revoke(cause error, partitions ...string)

	// Forget says that Read has returned all that comes of partitions, revoked ones too, and
	// was called again since. When what was read of one is finished and committed, the run
	// keeps nothing of it, as behind a page with End.
	Forget(partitions ...string)

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
