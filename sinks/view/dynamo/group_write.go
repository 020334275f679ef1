package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.GroupStore = (*Store)(nil)

// maxReads is how often a write is tried again with the current rows, if other writers change the rows of its groups.
// After that the write fails, and the change is delivered again later.
const maxReads = 8

// MaxActions returns the maximum number of actions of a transaction.
func (s *Store) MaxActions() int { return dynamo.MaxActions }

// Contribute applies each write in one transaction: the contributions of the items, the rows of their groups, and the
// members of the rows. A contribution records what an item counts for. Members are the stored values that a min, max or
// distinct is computed from. Writes that have rows in common are written one after the other.
func (s *Store) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	if len(ws) == 0 {
		return nil, nil
	}
	counted := func(yield func(item.Key) bool) {
		for i := range ws {
			for _, c := range ws[i].Items {
				if len(c.Next.Shares) > 0 && !yield(c.Source) {
					return
				}
			}
		}
	}
	if err := s.beforeWrite(ctx, t, counted); err != nil {
		return nil, err
	}
	return runEach(s.DB, len(ws), func(i int) (lost bool, err error) {
		c := groupWriter{Store: s, target: t, stateTarget: t.State(), write: &ws[i]}
		return c.run(ctx)
	})
}

// groupWriter writes one GroupWrite.
type groupWriter struct {
	*Store
	target      view.Target
	stateTarget state.Target // target.State()
	write       *state.GroupWrite
	groups      []groupRowWrite
}

// groupRowWrite is the change of one group's row.
type groupRowWrite struct {
	*state.GroupChange
	ref     dynamo.Ref
	rowRead bool        // the row was read into stored. If false, the write adds to the row without reading it
	stored  dynamo.Item // the row; nil if there is none
}

// rowID identifies a row among the rows of all tables.
type rowID struct {
	table string
	row   state.Row
}

// run sends the transaction until it succeeds or fails. lost is true if a contribution has changed since it was read.
func (c *groupWriter) run(ctx context.Context) (lost bool, err error) {
	items := make([]dynamo.Action, len(c.write.Items), dynamo.MaxActions)
	for i := range items {
		if items[i], err = c.SetContribution(c.stateTarget, &c.write.Items[i]); err != nil {
			return false, err
		}
	}
	rows, err := c.setGroups()
	if err != nil {
		return false, err
	}

	release, err := c.rowQueue.Wait(ctx, rows...)
	defer release()
	if err != nil {
		return false, err
	}
	notAddable := c.groupsThat(func(g *groupRowWrite) bool { return !g.addable() })
	if err := c.readRows(ctx, notAddable); err != nil {
		return false, err
	}
	for range maxReads + 1 {
		result, err := c.tryOnce(ctx, items)
		if result != tryAgain {
			return result == tryLost, err
		}
	}
	return false, pipeline.Transient(errs.Errorf(
		"dynamodb: other workers changed a group's row in table %s %d times meanwhile", redact.Safe(c.target.Name), maxReads))
}

// setGroups sets c.groups, and returns the IDs of their rows.
func (c *groupWriter) setGroups() (rows []rowID, err error) {
	rows = make([]rowID, len(c.write.Groups))
	c.groups = make([]groupRowWrite, len(c.write.Groups))
	for i := range c.groups {
		g := &c.groups[i]
		g.GroupChange = &c.write.Groups[i]
		rows[i] = rowID{c.target.Name, g.Row}
		if g.ref, err = refOf(c.target.Table, g.Row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// groupsThat returns the groups for which matches is true.
func (c *groupWriter) groupsThat(matches func(*groupRowWrite) bool) (groups []*groupRowWrite) {
	for i := range c.groups {
		if g := &c.groups[i]; matches(g) {
			groups = append(groups, g)
		}
	}
	return groups
}

// tryResult is the result of sending a transaction once.
type tryResult uint8

const (
	tryEnded tryResult = iota // the transaction succeeded or failed
	tryLost                   // a contribution has changed since it was read
	tryAgain                  // a row differs from its expected state
)

// tryOnce sends the transaction once. If the result is tryAgain, c.groups has the current rows for the next try.
func (c *groupWriter) tryOnce(ctx context.Context, items []dynamo.Action) (tryResult, error) {
	actions := items                        // those on contributions come first
	groupEnds := make([]int, len(c.groups)) // end of each group's actions in actions
	for i := range c.groups {
		var err error
		if actions, err = c.appendActions(ctx, actions, &c.groups[i]); err != nil {
			return c.handleRowError(ctx, err)
		}
		groupEnds[i] = len(actions)
	}

	err := c.Transact(ctx, actions)
	if unmet, ok := errors.AsType[*dynamo.ConditionError](err); ok {
		return c.noteUnmet(len(items), groupEnds, unmet), nil
	}
	if !maybeAddFailed(err) {
		return tryEnded, err
	}
	unread := c.groupsThat(func(g *groupRowWrite) bool { return !g.rowRead })
	if len(unread) == 0 {
		return tryEnded, err
	}
	if err := c.readRows(ctx, unread); err != nil {
		return tryEnded, err
	}
	return tryAgain, nil
}

// appendActions appends the actions that write the row of g.
func (c *groupWriter) appendActions(
	ctx context.Context, dst []dynamo.Action, g *groupRowWrite,
) ([]dynamo.Action, error) {
	if g.rowRead {
		return c.appendReplace(ctx, dst, g)
	}
	return append(dst, c.addAction(g)), nil
}

// noteUnmet handles a transaction whose conditions were not met. If a contribution has changed since it was read, the
// result is tryLost. Otherwise only rows of groups have changed. Then noteUnmet keeps the stored rows for the next try,
// and the result is tryAgain.
func (c *groupWriter) noteUnmet(items int, groupEnds []int, unmet *dynamo.ConditionError) tryResult {
	for _, u := range unmet.Unmet {
		if u.ActionIndex < items {
			return tryLost
		}
	}
	for _, u := range unmet.Unmet {
		// Of a group's actions, only the action on the row has a condition.
		i := slices.IndexFunc(groupEnds, func(end int) bool { return u.ActionIndex < end })
		c.groups[i].rowRead, c.groups[i].stored = true, u.Item
	}
	return tryAgain
}

// handleRowError handles rowErr, the error of a change that cannot be made to a row. The row was read after the
// contributions, so row and contributions may not match. handleRowError reads the contributions again. If they have
// changed, the result is tryLost. Otherwise the row is damaged or belongs to another sink, and handleRowError returns
// rowErr.
func (c *groupWriter) handleRowError(ctx context.Context, rowErr error) (tryResult, error) {
	_, isRetryable := pipeline.Retryable(rowErr)
	hasContributions := len(c.write.Items) > 0
	if isRetryable || !hasContributions {
		return tryEnded, rowErr
	}
	keys := make([]item.Key, len(c.write.Items))
	for i := range keys {
		keys[i] = c.write.Items[i].Source
	}
	stored, err := c.Contributions(ctx, c.stateTarget, keys)
	if err != nil {
		return tryEnded, err
	}
	for i := range stored {
		if !c.write.Items[i].Expects(stored[i]) {
			return tryLost, nil
		}
	}
	return tryEnded, rowErr
}

// maybeAddFailed reports whether err may mean that DynamoDB rejected an addition in place, because the sum is too large
// or is stored as text. This is not certain, because the errors of DynamoDB Local do not name the failed action.
func maybeAddFailed(err error) bool {
	return errors.Is(err, dynamo.ErrNumber) || errors.Is(err, dynamo.ErrInvalid)
}

// readRows reads the rows of groups into their stored fields.
func (c *groupWriter) readRows(ctx context.Context, groups []*groupRowWrite) error {
	if len(groups) == 0 {
		return nil
	}
	refs := make([]dynamo.Ref, len(groups))
	for i, g := range groups {
		refs[i] = g.ref
	}
	rows, err := c.Get(ctx, refs)
	if err != nil {
		return err
	}
	for i, g := range groups {
		g.rowRead, g.stored = true, rows[i]
	}
	return nil
}
