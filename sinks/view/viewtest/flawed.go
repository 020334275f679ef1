package viewtest

import (
	"errors"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// optionalKey spoils a key that it is added to.
const optionalKey = "{" + sinktest.FlawKey + "?}"

// refusedColumn is the attribute of rows that the store refuses, as one that is too large.
const refusedColumn = "refused"

// flawed is the view with settings that the flaws of images spoil; of other images it
// makes the same rows.
func (v *subject) flawed() *subject {
	f := *v
	f.attributes = map[string]string{"spoilt": "{" + sinktest.FlawField + "|upper}", refusedColumn: "{" + sinktest.FlawStore + "}"}
	maps.Copy(f.attributes, v.attributes)
	f.shape = v.shape.flawed(sinktest.FlawWhen, sinktest.FlawValue)
	return &f
}

// flawed is the aggregate with such settings.
func (a *aggregate) flawed() *aggregate {
	f := *a
	f.values = slices.Clone(a.values)
	for i := range f.values {
		switch f.values[i].Name {
		case "spoilt":
			f.values[i].Path = sinktest.FlawValue
		case "refused":
			f.values[i].Path = sinktest.FlawStore
		}
	}
	f.shape = a.shape.flawed(sinktest.FlawWhen, sinktest.FlawField)
	return &f
}

// failing is a condition that can't be evaluated of images with one of the attributes.
func failing(when func(item.Image) (bool, error), attributes []string) func(item.Image) (bool, error) {
	return func(item item.Image) (bool, error) {
		for _, name := range attributes {
			if _, spoilt := item.Get(name); spoilt {
				return false, errors.New("the condition can't be evaluated")
			}
		}
		if when == nil {
			return true, nil
		}
		return when(item)
	}
}

// refusing writes what a store does not refuse for good.
func refusing[W any](ws []W, refuses func(*W) bool, write func([]W) ([]view.Result, error)) ([]view.Result, error) {
	rs := make([]view.Result, len(ws))
	taken, at := make([]W, 0, len(ws)), make([]int, 0, len(ws))
	for i := range ws {
		if refuses(&ws[i]) {
			rs[i].Err = errRefused
		} else {
			taken, at = append(taken, ws[i]), append(at, i)
		}
	}
	done, err := write(taken)
	for n := range done {
		rs[at[n]] = done[n]
	}
	return rs, err
}

var errRefused = errors.New("the store refuses it for good")

func refusesRow(m *view.Mutation) bool { return refuses(m.Attributes) }

func refusesClaim(w *state.ItemWrite) bool {
	return slices.ContainsFunc(w.Rows, func(s state.RowClaimsWrite) bool { return refuses(s.Claim.Attributes) })
}

func refuses(columns []state.Column) bool {
	return slices.ContainsFunc(columns, func(c state.Column) bool { return c.Name == refusedColumn })
}

func refusesShares(w *state.GroupWrite) bool {
	for _, c := range w.Items {
		for _, s := range c.Now.Shares {
			if slices.ContainsFunc(s.Values, func(text string) bool { return text == "a"+sinktest.Refused }) {
				return true
			}
		}
	}
	return false
}
