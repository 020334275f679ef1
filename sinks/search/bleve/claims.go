package bleve

import (
	"context"
	"sync"
)

// claims keep two writers from one document, and let them write different ones
// at the same time.
type claims struct {
	mu   sync.Mutex
	held map[string]chan struct{} // by id; closed when it is free again
}

// take waits until none of the ids is held, then holds all of them until release.
func (c *claims) take(ctx context.Context, ids []string) (release func(), err error) {
	for {
		wait := c.try(ids)
		if wait == nil {
			return func() { c.release(ids) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try holds the ids, or holds none and returns what to wait for.
func (c *claims) try(ids []string) (wait <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if done, held := c.held[id]; held {
			return done
		}
	}
	if c.held == nil {
		c.held = make(map[string]chan struct{})
	}
	done := make(chan struct{})
	for _, id := range ids {
		c.held[id] = done
	}
	return nil
}

func (c *claims) release(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.held[ids[0]])
	for _, id := range ids {
		delete(c.held, id)
	}
}
