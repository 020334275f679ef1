package sqlite

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// totals is what the values of a group come to, sorted by their names.
type totals []total

type total struct {
	Name string           `json:"name"`
	Kind state.MemberKind `json:"kind,omitempty"` // zero: a count or a sum
	Text string           `json:"text"`           // of a min or a max [state.SortableText], else a number; "" where there is no member
}

func parseTotals(text string) (totals, error) {
	var ts totals
	err := json.Unmarshal([]byte(text), &ts)
	return ts, err
}

func (ts totals) marshal() (string, error) {
	b, err := json.Marshal(ts)
	return string(b), err
}

// of is the total of a value, made where it is missing.
func (ts *totals) of(name string, kind state.MemberKind) *total {
	i, ok := slices.BinarySearchFunc(*ts, name, func(t total, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		*ts = slices.Insert(*ts, i, total{Name: name, Kind: kind})
	}
	return &(*ts)[i]
}

// add adds to a count or a sum, which then is there, also as 0.
func (t *total) add(n state.Number) error {
	was, err := t.number()
	t.Text = was.Add(n).String()
	return err
}

func (t *total) number() (state.Number, error) {
	if t.Text == "" {
		return state.Number{}, nil
	}
	return state.ParseNumber(t.Text)
}

// count changes how many different members a distinct has; without any it has no text.
func (t *total) count(by int) error {
	n := 0
	var err error
	if t.Text != "" {
		n, err = strconv.Atoi(t.Text)
	}
	if t.Text = strconv.Itoa(n + by); n+by == 0 {
		t.Text = ""
	}
	return err
}

// columns is the totals as the row's attributes: what has no member is left out.
func (ts totals) columns() ([]state.Column, error) {
	cs := make([]state.Column, 0, len(ts))
	for i := range ts {
		t := &ts[i]
		if t.Text == "" {
			continue
		}
		v, err := t.value()
		if err != nil {
			return nil, err
		}
		cs = append(cs, state.Column{Name: t.Name, Value: v})
	}
	return cs, nil
}

func (t *total) value() (item.Value, error) {
	if t.Kind == state.Min || t.Kind == state.Max {
		return state.ParseSortable(t.Text)
	}
	n, err := t.number()
	return n.Value(), err
}
