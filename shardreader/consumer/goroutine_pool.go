package consumer

// goPooled runs a call in a goroutine, and does not wait for it. The goroutine then waits for the next call, because its
// stack has already grown: a consumer of thousands of shards makes thousands of calls a second. The goroutines end when
// the coordinator has stopped or the consumer is closed. The coordinator bounds their number: it bounds the calls at once.
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

// nextPooled waits for the next call. It returns nil if no more calls follow.
func (c *Consumer) nextPooled() func() {
	select {
	case call := <-c.idleCalls:
		return call
	case <-c.stopped:
	case <-c.ctx.Done():
	}
	return nil
}
