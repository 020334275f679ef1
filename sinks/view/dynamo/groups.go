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

// maxRead is how often a write reads a group's row again because others changed it.
// After that the change is delivered again, behind what else there is to do.
const maxRead = 8

// MaxActions is what one transaction takes.
func (s *Store) MaxActions() int { return dynamo.MaxActions }

// Contribute applies each write in one transaction: the contributions, the rows of their
// groups, and the members that the rows are made of. Writes that have rows in common take
// turns.
func (s *Store) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	if len(ws) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, counted(ws)); err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ws))
	return writeParts(s.DB, rs, len(ws), func(i int, down *outage) {
		rs[i].Err = down.error()
		if rs[i].Err == nil {
			c := counting{Store: s, target: t, of: t.State(), write: &ws[i]}
			rs[i].Lost, rs[i].Err = c.run(ctx)
			down.note(rs[i].Err)
		}
	})
}

// counting is one GroupWrite on its way.
type counting struct {
	*Store
	target view.Target
	of     state.Target
	write  *state.GroupWrite
	groups []groupWrite
}

// groupWrite is how one row is to be changed.
type groupWrite struct {
	*state.GroupChange
	ref  dynamo.Ref
	read bool        // row is what stands there; else the change is added to whatever does
	row  dynamo.Item // nil: none
}

// rowID tells the rows of all tables apart.
type rowID struct {
	table string
	row   state.Row
}

// run returns true where the version of a contribution is not what was read.
func (c *counting) run(ctx context.Context) (lost bool, err error) {
	items := make([]dynamo.Action, len(c.write.Items), dynamo.MaxActions)
	for i := range items {
		if items[i], err = c.SetContribution(c.of, &c.write.Items[i]); err != nil {
			return false, err
		}
	}
	rows := make([]rowID, len(c.write.Groups))
	c.groups = make([]groupWrite, len(c.write.Groups))
	for i := range c.groups {
		g := &c.groups[i]
		g.GroupChange = &c.write.Groups[i]
		rows[i] = rowID{c.target.Name, g.Row}
		if g.ref, err = refOf(c.target.Table, g.Row); err != nil {
			return false, err
		}
	}
	done, err := c.turns.take(ctx, rows)
	defer done()
	if err != nil {
		return false, err
	}
	if err := c.readRows(ctx, func(g *groupWrite) bool { return !g.addable() }); err != nil {
		return false, err
	}
	for tries := 0; ; tries++ {
		lost, again, err := c.try(ctx, items)
		if !again {
			return lost, err
		}
		if tries == maxRead {
			return false, pipeline.Transient(errs.Errorf("dynamodb: other workers changed a group's row in table %s %d times meanwhile", redact.Safe(c.target.Name), tries))
		}
	}
}

// try sends the transaction once. again is true where a row is not what it was taken
// for; what it is then is known.
func (c *counting) try(ctx context.Context, items []dynamo.Action) (lost, again bool, err error) {
	actions := items
	ends := make([]int, len(c.groups)) // of each group's actions
	for i := range c.groups {
		if actions, err = c.actions(ctx, actions, &c.groups[i]); err != nil {
			return c.verdict(ctx, err)
		}
		ends[i] = len(actions)
	}
	err = c.Transact(ctx, actions)
	unmet, ok := errors.AsType[*dynamo.ConditionError](err)
	if !ok {
		if added := func(g *groupWrite) bool { return !g.read }; c.any(added) && beyondAdding(err) {
			return false, true, c.readRows(ctx, added)
		}
		return false, false, err
	}
	for _, u := range unmet.Unmet {
		if u.Action < len(items) {
			return true, false, nil
		}
	}
	for _, u := range unmet.Unmet {
		for i, end := range ends {
			if u.Action < end { // only a row's own action has a condition
				c.groups[i].read, c.groups[i].row = true, u.Item
				break
			}
		}
	}
	return false, true, nil
}

// Contributions reads what items count for.
func (s *Store) Contributions(ctx context.Context, t view.Target, items []item.Key) ([]state.Contribution, error) {
	return s.DB.Contributions(ctx, t.State(), items)
}

// verdict is the error of a row to which the change cannot be made, unless it is because
// others were first: a row was read after the contributions, and does not fit to what they
// were. Where they are still the same behind it, the row itself is at fault.
func (c *counting) verdict(ctx context.Context, of error) (lost, again bool, err error) {
	if _, passing := pipeline.Retryable(of); passing || len(c.write.Items) == 0 {
		return false, false, of
	}
	keys := make([]item.Key, len(c.write.Items))
	for i := range keys {
		keys[i] = c.write.Items[i].Source
	}
	cs, err := c.Contributions(ctx, c.target, keys)
	if err != nil {
		return false, false, err
	}
	for i := range cs {
		if cs[i].Version != c.write.Items[i].Was || cs[i].Void != c.write.Items[i].WasVoid {
			return true, false, nil
		}
	}
	return false, false, of
}

// beyondAdding tells whether an error may be that of a sum which a number of DynamoDB
// cannot hold, or of a sum that is a text by now. The service names the action, and
// DynamoDB Local does not.
func beyondAdding(err error) bool {
	return errors.Is(err, dynamo.ErrNumber) || errors.Is(err, dynamo.ErrInvalid)
}

func (c *counting) any(is func(*groupWrite) bool) bool {
	for i := range c.groups {
		if is(&c.groups[i]) {
			return true
		}
	}
	return false
}

// readRows reads the rows of the groups that are meant.
func (c *counting) readRows(ctx context.Context, meant func(*groupWrite) bool) error {
	var refs []dynamo.Ref
	var of []*groupWrite
	for i := range c.groups {
		if g := &c.groups[i]; meant(g) {
			refs, of = append(refs, g.ref), append(of, g)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	rows, err := c.Get(ctx, refs)
	if err != nil {
		return err
	}
	for i, g := range of {
		g.read, g.row = true, rows[i]
	}
	return nil
}

// actions appends what changes a group: its row first.
func (c *counting) actions(ctx context.Context, dst []dynamo.Action, g *groupWrite) ([]dynamo.Action, error) {
	if !g.read {
		return append(dst, c.add(g)), nil
	}
	return c.replace(ctx, dst, g)
}
