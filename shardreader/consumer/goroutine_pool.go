package consumer

// hand does a call in a goroutine, and does not wait for it. One that has done its call
// stays for the next: its stack has grown to what a call needs, and a consumer of thousands of
// shards makes thousands of calls a second. So there are as many as there ever were calls
// at once, which the worker bounds, until it has stopped or the consumer is closed.
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

// another waits for a call to do; nil: there are no more.
func (c *Consumer) nextPooled() func() {
	select {
	case call := <-c.idleCalls:
		return call
	case <-c.stopped:
	case <-c.ctx.Done():
	}
	return nil
}
