package consumer

import (
	"errors"

	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// revocation holds the partitions that are revoked for one cause.
type revocation struct {
	cause      error
	partitions []string
}

// perform performs the actions of the coordinator. It performs Revoke actions first, because a lease must not be
// released while the pipeline may still write its records. The caller holds no lock.
func (c *Consumer) perform(actions []coordinator.Action) {
	c.controlPipeline(actions)
	for _, a := range actions {
		switch a := a.(type) {
		case coordinator.Revoke, coordinator.Drain, coordinator.Forget:
		case coordinator.Log:
			c.log.LogAttrs(c.ctx, a.Level, a.Message, a.Attrs...)
		case coordinator.AtEnd:
			c.mu.Lock()
			c.atEnd = &a
			c.mu.Unlock()
		case coordinator.Stopped:
			c.stop()
		default:
			c.makeCall(a)
		}
	}
}

// addRevoke adds an action to the last revocation, or to a new one if the action has another cause.
func addRevoke(revokes []revocation, a coordinator.Revoke) []revocation {
	last := len(revokes) - 1
	if last < 0 || !errors.Is(a.Cause, revokes[last].cause) {
		return append(revokes, revocation{a.Cause, []string{a.Partition}})
	}
	revokes[last].partitions = append(revokes[last].partitions, a.Partition)
	return revokes
}

// controlPipeline performs the actions that revoke, drain and forget partitions of the pipeline.
func (c *Consumer) controlPipeline(actions []coordinator.Action) {
	var revokes []revocation
	var drain, forget []string
	for _, a := range actions {
		switch a := a.(type) {
		case coordinator.Revoke:
			revokes = addRevoke(revokes, a)
		case coordinator.Drain:
			drain = append(drain, a.Partition)
		case coordinator.Forget:
			forget = append(forget, a.Partition)
		}
	}
	c.mu.Lock()
	control := c.control
	c.mu.Unlock()
	if control == nil {
		return
	}
	for _, r := range revokes {
		control.Revoke(r.cause, r.partitions...)
	}
	if len(drain) > 0 {
		control.Drain(drain...)
	}
	if len(forget) > 0 {
		control.Forget(forget...)
	}
}
