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

// viewTable is an open table of views and aggregates, with the sinks that spread its rows over shards. A shard is one
// of the partitions over which the rows of a busy partition are spread.
type viewTable struct {
	view.Table
	reader mergedReader
	views  []spreadView // views with shards that write to the table
}

// newViewTable returns the table t of a store. It finds the sinks with shards by the settings in fingerprints.
func newViewTable(
	store view.Reader, t view.Table, fingerprints iter.Seq2[state.Fingerprint, error],
) (viewTable, error) {
	opened := viewTable{Table: t, reader: mergedReader{Reader: store}}
	for f, err := range fingerprints {
		if err != nil {
			return opened, err
		}
		if g := groupsOf(f, t); g.Shards > 1 { // if the aggregate writes to another table, no row matches
			opened.reader.groups = append(opened.reader.groups, g)
		}
		if v, isSpread := spreadViewOf(f, t); isSpread {
			opened.views = append(opened.views, v)
		}
	}
	return opened, nil
}

// groupsOf returns the groups of the aggregate whose settings are f. If f has the settings of another kind of sink, the
// groups have no shards.
func groupsOf(f state.Fingerprint, t view.Table) view.GroupRows {
	g := view.GroupRows{Table: t, Aggregate: f.Sink}
	g.Shards, _ = strconv.Atoi(f.Settings["aggregate.shards"]) // a missing setting means 1; Shards is 0 then
	for _, setting := range slices.Sorted(maps.Keys(f.Settings)) {
		name, isValue := strings.CutPrefix(setting, "aggregate.values.")
		if !isValue {
			continue
		}
		g.Values = append(g.Values, parseValueSetting(name))
	}
	return g
}

// parseValueSetting returns the value of an aggregate from the name of its setting. The setting of a count has only the
// name of the value. In the settings of other values, the kind follows the name, as in total.sum.
func parseValueSetting(setting string) view.Value {
	if dot := strings.LastIndexByte(setting, '.'); dot >= 0 {
		kind := setting[dot+1:]
		if slices.Contains([]string{"sum", "min", "max", "distinct"}, kind) {
			return view.Value{Name: setting[:dot], Kind: kind}
		}
	}
	return view.Value{Name: setting, Kind: "count"}
}
