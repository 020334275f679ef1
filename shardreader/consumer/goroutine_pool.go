package consumer

// goPooled runs call in a goroutine, and does not wait for it. The goroutine is used again for later calls, because its
// stack has already grown. A consumer of thousands of shards makes thousands of calls a second. The goroutines end when
// the coordinator has stopped or the consumer is closed. There are no more goroutines than calls in flight, and the
// coordinator limits these calls.
func (c *Consumer) goPooled(call func()) {
	select {
	case c.idleCalls <- call:
	default:
		c.goroutines.Go(func() {
			for call != nil {
				call()
				call = c.nextPooled()
			}
		})
	}
}

// nextPooled waits for the next call. It returns nil when the coordinator has stopped or the consumer is closed.
func (c *Consumer) nextPooled() func() {
	select {
	case call := <-c.idleCalls:
		return call
	case <-c.stopped.Done():
	case <-c.ctx.Done():
	}
	return nil
}
