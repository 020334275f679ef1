package pipeline

// givesBack tells whether what can never be written goes back to its source: nobody keeps
// it, and the source need not wait for what is finished beside it.
func (s *scheduler) givesBack(it *item) bool {
	return s.run.p.o.DeadLetters == nil && it.page.tracker != nil
}

// mayWork tells whether what failed with err may work another time.
func mayWork(err error) bool {
	_, again := Retryable(err)
	return again
}

// giveBackQueue gives back what waits in a lane.
func (s *scheduler) giveBackQueue(l *lane) {
	for _, items := range [][]item{l.retry, l.queue} {
		for i := range items {
			s.finish(&items[i], Revoked, "")
		}
	}
	l.retry, l.queue = nil, nil
}
