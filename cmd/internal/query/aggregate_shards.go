package query

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// shards has the sinks whose settings spread their output over shards. A shard is one of the partitions that share the
// rows of a busy one.
type shards struct {
	groups []view.GroupRows // groups of all aggregates; those of other tables have no rows in t
	views  []spreadView     // views whose table is t
}

func shardsOf(fingerprints iter.Seq2[state.Fingerprint, error], t view.Table) (all shards, err error) {
	for f, err := range fingerprints {
		if err != nil {
			return all, err
		}
		if g := groupsOf(f, t); g.Shards > 1 {
			all.groups = append(all.groups, g)
		}
		if v, ok := spreadViewOf(f, t); ok {
			all.views = append(all.views, v)
		}
	}
	return all, nil
}

func groupsOf(f state.Fingerprint, t view.Table) view.GroupRows {
	g := view.GroupRows{Table: t, Aggregate: f.Sink}
	g.Shards, _ = strconv.Atoi(f.Settings["aggregate.shards"]) // a missing setting means 1; Shards is 0 then
	for _, setting := range slices.Sorted(maps.Keys(f.Settings)) {
		name, ok := strings.CutPrefix(setting, "aggregate.values.")
		if !ok {
			continue
		}
		// The name of a count is whole. Other values have their kind behind the name, as in total.sum.
		kind := "count"
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 &&
			slices.Contains([]string{"sum", "min", "max", "distinct"}, name[dot+1:]) {
			name, kind = name[:dot], name[dot+1:]
		}
		g.Values = append(g.Values, view.Value{Name: name, Of: kind})
	}
	return g
}
