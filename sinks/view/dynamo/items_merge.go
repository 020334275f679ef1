package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// merger makes one transaction of writes that build on each other: of every guard, seat,
// claim and row only what the last of them says, on condition of what the first read. Each is
// one action then, as DynamoDB demands.
type merger struct {
	db     *dynamo.DB
	target view.Target
	guards []guardMove
	seats  []seatMove
	size   int // actions

	rows []*seatMove // of each action: the seat whose row it is on; nil of what is on no row
}

// guardMove is the guard of an item from one version to another.
type guardMove struct {
	source pipeline.Key
	was    pipeline.Version
	void   bool // as it was
	now    state.Guard
}

// seatMove is a row from one revision to another.
type seatMove struct {
	row      state.Row
	was, now string
	claims   []claimMove
	holder   view.Claim
}

// claimMove is what an item claims from now on; the zero Claim: nothing.
type claimMove struct {
	source pipeline.Key
	now    view.Claim
}

func newMerger(db *dynamo.DB, t view.Target) *merger { return &merger{db: db, target: t} }

// add puts w behind what is there. False where it doesn't build on it, or where it would
// be too much for a transaction: then nothing is added.
func (m *merger) add(w *view.ItemWrite) bool {
	g := m.guard(w.Source)
	if g != nil && (g.now.Version != w.Was || g.now.Void != w.WasVoid) {
		return false
	}
	more := 0
	if g == nil {
		more++
	}
	for i := range w.Rows {
		s := m.seat(w.Rows[i].Row)
		switch {
		case s == nil:
			more += 3 // seat, claim, row
		case s.now != w.Rows[i].Was:
			return false
		case s.claim(w.Source) == nil:
			more++
		}
	}
	if m.size+more > dynamo.MaxActions {
		return false
	}
	m.size += more
	if g == nil {
		m.guards = append(m.guards, guardMove{source: w.Source, was: w.Was, void: w.WasVoid, now: w.Guard})
	} else {
		g.now = w.Guard
	}
	for i := range w.Rows {
		sw := &w.Rows[i]
		s := m.seat(sw.Row)
		if s == nil {
			m.seats = append(m.seats, seatMove{row: sw.Row, was: sw.Was})
			s = &m.seats[len(m.seats)-1]
		}
		s.now, s.holder = sw.Revision, sw.Owner
		if c := s.claim(w.Source); c != nil {
			c.now = sw.Claim
		} else {
			s.claims = append(s.claims, claimMove{w.Source, sw.Claim})
		}
	}
	return true
}

func (m *merger) guard(source pipeline.Key) *guardMove {
	for i := range m.guards {
		if m.guards[i].source == source {
			return &m.guards[i]
		}
	}
	return nil
}

func (m *merger) seat(row state.Row) *seatMove {
	for i := range m.seats {
		if m.seats[i].row == row {
			return &m.seats[i]
		}
	}
	return nil
}

func (s *seatMove) claim(source pipeline.Key) *claimMove {
	for i := range s.claims {
		if s.claims[i].source == source {
			return &s.claims[i]
		}
	}
	return nil
}

// What an action is on, as errors name it.
const (
	ofGuard = "the guard of an item"
	ofSeat  = "the seat of a row"
	ofClaim = "a claim on a row"
	ofRow   = "a row"
)

// actions are those of the transaction, and what each of them is on.
func (m *merger) actions() (all []dynamo.Action, of []string, err error) {
	all, of = make([]dynamo.Action, 0, m.size), make([]string, 0, m.size)
	m.rows = make([]*seatMove, 0, m.size)
	add := func(a dynamo.Action, what string, row *seatMove) {
		all, of, m.rows = append(all, a), append(of, what), append(m.rows, row)
	}
	for i := range m.guards {
		add(m.guardAction(&m.guards[i]), ofGuard, nil)
	}
	target := targetOf(m.target)
	for i := range m.seats {
		s := &m.seats[i]
		add(m.seatAction(s), ofSeat, nil)
		for c := range s.claims {
			ref := m.db.ClaimRef(target, s.row, s.claims[c].source)
			if now := &s.claims[c].now; now.Source == "" {
				add(dynamo.Action{Delete: &types.Delete{TableName: aws.String(ref.Table), Key: ref.Key}}, ofClaim, nil)
			} else {
				add(dynamo.Action{Put: &types.Put{TableName: aws.String(ref.Table), Item: claimItem(ref.Key, now)}}, ofClaim, nil)
			}
		}
		row, err := m.rowAction(s)
		if err != nil {
			return nil, nil, err
		}
		add(row, ofRow, s)
	}
	return all, of, nil
}

// guardAction puts a guard over the version that was read. One without a row may be
// forgotten one day.
func (m *merger) guardAction(g *guardMove) dynamo.Action {
	ref := m.db.GuardRef(targetOf(m.target), g.source)
	it := ref.Key
	it[guardVersion] = str(g.now.Version.String())
	it[guardRow] = str(string(g.now.Row))
	if g.now.Row == "" {
		m.db.Stamp(it)
	}
	put := &types.Put{TableName: aws.String(ref.Table), Item: it}
	setVersion(put, g.was, g.void, g.now.Void)
	return dynamo.Action{Put: put}
}

// seatAction puts a seat over the revision that was read, or takes it away.
func (m *merger) seatAction(s *seatMove) dynamo.Action {
	ref := m.db.SeatRef(targetOf(m.target), s.row)
	condition, values := aws.String("attribute_not_exists(pk)"), dynamo.Item(nil)
	if s.was != "" {
		condition, values = aws.String("revision = :was"), dynamo.Item{":was": str(s.was)}
	}
	if s.now == "" {
		return dynamo.Action{Delete: &types.Delete{TableName: aws.String(ref.Table), Key: ref.Key, ConditionExpression: condition, ExpressionAttributeValues: values}}
	}
	it := ref.Key
	it[seatRevision] = str(s.now)
	it[seatHolder] = str(string(s.holder.Source))
	return dynamo.Action{Put: &types.Put{TableName: aws.String(ref.Table), Item: it, ConditionExpression: condition, ExpressionAttributeValues: values}}
}

// ours lets a row be written or taken away where nothing is, and where it is the view's.
const ours = "attribute_not_exists(#pk) OR (" + mine + ")"

// rowAction puts the row of whoever holds it, or takes it away. What keeps it from being
// undone is the seat and the guard, beside which it is written.
func (m *merger) rowAction(s *seatMove) (dynamo.Action, error) {
	t := m.target
	ref, err := refOf(t.Table, s.row)
	if err != nil {
		return dynamo.Action{}, err
	}
	names := map[string]string{"#pk": t.PK, "#tw": markAttribute, "#view": markView, "#by": markPipeline, "#birth": markBirth}
	values := dynamo.Item{":view": str(t.View), ":by": str(t.Pipeline), ":birth": str(t.Birth)}
	if s.holder.Source == "" {
		return dynamo.Action{Delete: &types.Delete{
			TableName: aws.String(t.Name), Key: ref.Key,
			ConditionExpression: aws.String(ours), ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}}, nil
	}
	pk, sk, _ := s.row.Decode() // refOf has read it
	row := item(t, &view.Mutation{PK: pk, SK: sk, Source: s.holder.Source, Attributes: s.holder.Attributes}, s.holder.Version.String(), 0)
	return dynamo.Action{Put: &types.Put{
		TableName: aws.String(t.Name), Item: row,
		ConditionExpression: aws.String(ours), ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, nil
}
