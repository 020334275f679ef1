package pipeline

// Control is what a source can ask of the run that reads it. All methods return at once and are safe for concurrent use.
// They accept partitions of which nothing was read yet, and do nothing after the run has ended. [Pauser.Pause] and
// [Controlled.Control] must not call them.
type Control interface {
	// Drain has the run write all changes of partitions without waiting for batches to fill: those that were read, and
	// those that are read later. A source calls it if something waits for these changes.
	Drain(partitions ...string)

	// RevokeSoft takes partitions away from the run, but lets Writes in flight finish. A source calls it if the time
	// left is too short to begin anything. No Write starts with a change of partitions. Queued changes are counted as
	// [Revoked], and so are changes that fail from now on. Changes that a Write in flight delivers are finished. Nothing
	// of partitions is committed any more. A later Revoke of partitions is possible. Do not use their names again in
	// the same run.
	RevokeSoft(partitions ...string)

	// Revoke takes partitions away from the run, because another consumer reads them now. Queued changes of partitions
	// are counted as [Revoked]. The run cancels Writes that hold such changes, with cause as the cause of their
	// context, and tries changes of other partitions in them again at once. Nothing of partitions is committed any more,
	// although a Commit in flight may finish. Pages that no sink has received yet, and later ones, are dropped and
	// counted nowhere. Do not use the names of partitions again in the same run.
	//
	// A call costs time for all queued changes, so revoke many partitions with one call.
	Revoke(cause error, partitions ...string)

	// Forget announces that Read has returned all pages of partitions, and was called again since. It is valid for
	// revoked partitions too. The run drops its state of a partition once all its pages are finished and committed, as
	// after a page with End.
	Forget(partitions ...string)

	// Fail has the effect of a Read that returns err. It works also while the run does not call Read because memory is
	// full.
	Fail(err error)
}

// Controlled is implemented by sources that control their run. Run calls Control once before the first Read, and once
// with nil at its end, when no goroutine of the run is left.
type Controlled interface {
	Control(c Control)
}
