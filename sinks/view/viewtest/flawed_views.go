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

// optionalKey is appended to the template of a key attribute. The template then fails on images with the attribute
// sinktest.FlawKey.
const optionalKey = "{" + sinktest.FlawKey + "?}"

// refusedColumn is an attribute of a row that makes the store refuse the row permanently, as if it was too large.
const refusedColumn = "refused"

// flawed returns the view with settings that fail on images with flaws (the attributes sinktest.Flaw*). For other
// images the rows are the same.
func (v *testView) flawed() *testView {
	f := *v
	f.attributes = map[string]string{"spoilt": "{" + sinktest.FlawField + "|upper}",
		refusedColumn: "{" + sinktest.FlawStore + "}"}
	maps.Copy(f.attributes, v.attributes)
	f.rowShape = v.rowShape.flawed(sinktest.FlawWhen, sinktest.FlawValue)
	return &f
}

// flawed returns the aggregate with settings that fail on images with flaws. For other images the rows are the same.
func (a *testAggregate) flawed() *testAggregate {
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
	f.rowShape = a.rowShape.flawed(sinktest.FlawWhen, sinktest.FlawField)
	return &f
}

// failingCondition returns a condition that fails on images with any of the attributes. For other images it returns the
// result of when, or true if when is nil.
func failingCondition(when func(item.Image) (bool, error), attributes []string) func(item.Image) (bool, error) {
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

// writeWithFaults makes a call that writes ws. The suite can make the call fail, including between two writes. If
// refused returns true for a write, this write fails permanently.
func writeWithFaults[W any](
	f *sinktest.Faults, ws []W, refused func(*W) bool, write func([]W) ([]view.Result, error),
) (rs []view.Result, err error) {
	err = f.Call(len(ws), func(n int) error {
		rs, err = refuseSome(ws[:n], refused, write)
		return err
	})
	return rs, err
}

// refuseSome makes the writes ws. If refused returns true for a write, this write fails permanently instead.
func refuseSome[W any](ws []W, refused func(*W) bool, write func([]W) ([]view.Result, error)) ([]view.Result, error) {
	rs := make([]view.Result, len(ws))
	accepted := make([]W, 0, len(ws))
	indexes := make([]int, 0, len(ws)) // of the accepted writes in ws
	for i := range ws {
		if refused(&ws[i]) {
			rs[i].Err = errRefused
			continue
		}
		accepted, indexes = append(accepted, ws[i]), append(indexes, i)
	}
	acceptedResults, err := write(accepted)
	for n, r := range acceptedResults {
		rs[indexes[n]] = r
	}
	return rs, err
}

var errRefused = errors.New("the store refuses it for good")

func refusesRow(m *view.Mutation) bool { return refusesFlaws(m.Attributes) }

func refusesClaim(w *state.ItemWrite) bool {
	return slices.ContainsFunc(w.Rows, func(s state.RowClaimsWrite) bool { return refusesFlaws(s.Claim.Attributes) })
}

func refusesFlaws(columns []state.Column) bool {
	return slices.ContainsFunc(columns, func(c state.Column) bool { return c.Name == refusedColumn })
}

func refusesShares(w *state.GroupWrite) bool {
	const refused = "a" + sinktest.Refused // the S Refused as the sortable text of a member
	refusesShare := func(s state.Share) bool { return slices.Contains(s.Values, refused) }
	return slices.ContainsFunc(w.Items, func(c state.ContributionWrite) bool {
		return slices.ContainsFunc(c.Next.Shares, refusesShare)
	})
}
