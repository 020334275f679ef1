package query

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// groupsIn are the aggregates whose groups are spread over shards, as the settings
// tell that their rows were written under. Those of other tables have no rows in t.
func groupsIn(ctx context.Context, db *sqlite.Store, t view.Table) ([]view.Groups, error) {
	var all []view.Groups
	for f, err := range db.Fingerprints(ctx) {
		if err != nil {
			return nil, err
		}
		if g := groupsOf(f, t); g.Shards > 1 {
			all = append(all, g)
		}
	}
	return all, nil
}

func groupsOf(f state.Fingerprint, t view.Table) view.Groups {
	g := view.Groups{Table: t, Aggregate: f.Sink}
	g.Shards, _ = strconv.Atoi(f.Settings["aggregate.shards"]) // absent: 1
	for _, setting := range slices.Sorted(maps.Keys(f.Settings)) {
		name, ok := strings.CutPrefix(setting, "aggregate.values.")
		if !ok {
			continue
		}
		// It is NAME, of a count, or NAME.sum and the like, with the path.
		of := "count"
		if at := strings.LastIndexByte(name, '.'); at >= 0 && slices.Contains([]string{"sum", "min", "max", "distinct"}, name[at+1:]) {
			name, of = name[:at], name[at+1:]
		}
		g.Values = append(g.Values, view.Value{Name: name, Of: of})
	}
	return g
}
