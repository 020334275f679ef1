package dynamo

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.GroupStore = (*Store)(nil)

// maxReads is how often a write reads the rows of groups again if other writers change them. After that the write
// fails, and the change is delivered again later.
const maxReads = 8

// MaxActions returns the maximum number of actions of a transaction.
func (s *Store) MaxActions() int { return dynamo.MaxActions }

// Contribute applies each write in one transaction. It writes the contributions, which record what each item counts
// for, the rows of their groups, and the members of the rows. Members are the stored values that a min, max or distinct
// is computed from. Writes that have rows in common are written one after the other.
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

// run repeats the transaction until it succeeds or fails. It returns lost if a contribution has changed since it was
// read.
func (c *groupWriter) run(ctx context.Context) (lost bool, err error) {
	items := make([]dynamo.Action, len(c.write.Items), dynamo.MaxActions)
	for i := range items {
		if items[i], err = c.SetContribution(c.stateTarget, &c.write.Items[i]); err != nil {
			return false, err
		}
	}

	rows := make([]rowID, len(c.write.Groups))
	c.groups = make([]groupRowWrite, len(c.write.Groups))
	for i := range c.groups {
		g := &c.groups[i]
		g.GroupChange = &c.write.Groups[i]
		rows[i] = rowID{c.target.Name, g.Row}
		if g.ref, err = refOf(c.target.Table, g.Row); err != nil {
			return false, err
		}
	}
	release, err := c.rowQueue.Wait(ctx, rows...)
	defer release()
	if err != nil {
		return false, err
	}
	if err := c.readRows(ctx, func(g *groupRowWrite) bool { return !g.addable() }); err != nil {
		return false, err
	}
	for tries := 0; ; tries++ {
		lost, retry, err := c.tryOnce(ctx, items)
		if !retry {
			return lost, err
		}
		if tries == maxReads {
			return false, pipeline.Transient(errs.Errorf(
				"dynamodb: other workers changed a group's row in table %s %d times meanwhile", redact.Safe(c.target.Name), tries))
		}
	}
}

// tryOnce sends the transaction once. lost is true if a contribution has changed since it was read. retry is true if a
// row differs from its expected state; tryOnce then has the current row for the next try.
func (c *groupWriter) tryOnce(ctx context.Context, items []dynamo.Action) (lost, retry bool, err error) {
	actions := items
	groupEnds := make([]int, len(c.groups)) // end of each group's actions in actions
	for i := range c.groups {
		if actions, err = c.appendActions(ctx, actions, &c.groups[i]); err != nil {
			return c.rowError(ctx, err)
		}
		groupEnds[i] = len(actions)
	}
	err = c.Transact(ctx, actions)
	if unmet, ok := errors.AsType[*dynamo.ConditionError](err); ok {
		lost = c.noteUnmet(len(items), groupEnds, unmet)
		return lost, !lost, nil
	}
	notRead := func(g *groupRowWrite) bool { return !g.rowRead }
	if c.anyGroup(notRead) && maybeAddFailed(err) {
		return false, true, c.readRows(ctx, notRead)
	}
	return false, false, err
}

// noteUnmet handles a transaction whose conditions were not met. If a contribution has changed since it was read, the
// write is lost, and noteUnmet returns true. Otherwise only rows of groups have changed, and noteUnmet keeps the stored
// rows for the next try.
func (c *groupWriter) noteUnmet(items int, groupEnds []int, unmet *dynamo.ConditionError) (lost bool) {
	for _, u := range unmet.Unmet {
		if u.ActionIndex < items {
			return true
		}
	}
	for _, u := range unmet.Unmet {
		for i, end := range groupEnds {
			if u.ActionIndex < end { // of the group's actions, only the action on the row has a condition
				c.groups[i].rowRead, c.groups[i].stored = true, u.Item
				break
			}
		}
	}
	return false
}

// rowError handles rowErr, the error of a change that cannot be made to a row. The row was read after the
// contributions, so row and contributions may not match. rowError reads the contributions again. If they have changed,
// the write is lost. Otherwise the row is damaged or belongs to another sink, and rowError returns rowErr.
func (c *groupWriter) rowError(ctx context.Context, rowErr error) (lost, retry bool, err error) {
	if _, retryable := pipeline.Retryable(rowErr); retryable || len(c.write.Items) == 0 {
		return false, false, rowErr
	}
	keys := make([]item.Key, len(c.write.Items))
	for i := range keys {
		keys[i] = c.write.Items[i].Source
	}
	cs, err := c.Contributions(ctx, c.stateTarget, keys)
	if err != nil {
		return false, false, err
	}
	for i := range cs {
		if !c.write.Items[i].Expects(cs[i]) {
			return true, false, nil
		}
	}
	return false, false, rowErr
}

// maybeAddFailed reports whether DynamoDB may have rejected an addition in place, because the sum is too large or is
// stored as text. The answer is not certain: the errors of DynamoDB name the failed action, but those of DynamoDB Local
// do not.
func maybeAddFailed(err error) bool {
	return errors.Is(err, dynamo.ErrNumber) || errors.Is(err, dynamo.ErrInvalid)
}

// anyGroup reports whether cond is true for any group.
func (c *groupWriter) anyGroup(cond func(*groupRowWrite) bool) bool {
	for i := range c.groups {
		if cond(&c.groups[i]) {
			return true
		}
	}
	return false
}

// readRows reads the rows of the groups for which cond is true.
func (c *groupWriter) readRows(ctx context.Context, cond func(*groupRowWrite) bool) error {
	var refs []dynamo.Ref
	var groups []*groupRowWrite
	for i := range c.groups {
		if g := &c.groups[i]; cond(g) {
			refs, groups = append(refs, g.ref), append(groups, g)
		}
	}
	if len(refs) == 0 {
		return nil
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

// appendActions appends the actions that change a group. The action on its row is the first one.
func (c *groupWriter) appendActions(
	ctx context.Context, dst []dynamo.Action, g *groupRowWrite,
) ([]dynamo.Action, error) {
	if !g.rowRead {
		return append(dst, c.addAction(g)), nil
	}
	return c.appendReplace(ctx, dst, g)
}
