package sqlite

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// totals has the value of each count, sum, min, max and distinct of a group, sorted by name.
type totals []total

type total struct {
	Name string           `json:"name"`
	Kind state.MemberKind `json:"kind,omitempty"` // zero for a count or a sum
	// Text is the [state.SortableText] of a min or max, otherwise a number. It is "" if the total has no value
	Text string `json:"text"`
}

func parseTotals(text string) (totals, error) {
	var ts totals
	err := json.Unmarshal([]byte(text), &ts)
	return ts, err
}

// find returns the total with a name. It inserts the total if it is missing.
func (ts *totals) find(name string, kind state.MemberKind) *total {
	i, ok := slices.BinarySearchFunc(*ts, name, func(t total, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		*ts = slices.Insert(*ts, i, total{Name: name, Kind: kind})
	}
	return &(*ts)[i]
}

// add adds n to a count or a sum. From then on the row has the total, even if the total is 0.
func (t *total) add(n state.Number) error {
	old, err := t.number()
	t.Text = old.Add(n).String()
	return err
}

func (t *total) number() (state.Number, error) {
	if t.Text == "" {
		return state.Number{}, nil
	}
	return state.ParseNumber(t.Text)
}

// count adds by to t, the number of different values of a distinct. If the result is 0, Text becomes "".
func (t *total) count(by int) error {
	n := 0
	var err error
	if t.Text != "" {
		n, err = strconv.Atoi(t.Text)
	}
	n += by
	t.Text = ""
	if n != 0 {
		t.Text = strconv.Itoa(n)
	}
	return err
}

// columns returns the totals as attributes of the group's row. It leaves out totals without a value.
func (ts totals) columns() ([]state.Column, error) {
	columns := make([]state.Column, 0, len(ts))
	for i := range ts {
		t := &ts[i]
		if t.Text == "" {
			continue
		}
		v, err := t.value()
		if err != nil {
			return nil, err
		}
		columns = append(columns, state.Column{Name: t.Name, Value: v})
	}
	return columns, nil
}

func (t *total) value() (item.Value, error) {
	if t.Kind == state.Min || t.Kind == state.Max {
		return state.ParseSortable(t.Text)
	}
	n, err := t.number()
	return n.Value(), err
}
