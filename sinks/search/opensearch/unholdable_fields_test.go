package opensearch_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
)

// If an index cannot hold the name or the depth of an attribute, the error names the attribute and the setting to
// change.
func TestUnholdable(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"m":`, 25) + `"` + canary + `"` + strings.Repeat("}", 25)
	rename := map[string]string{"Label": "z.b", "In.Label": "q.r"}
	for _, mode := range modes {
		w := newWorld(t)
		o := w.options("", small)
		o.Mode, o.Indexes.Fields = mode, search.Fields{Rename: rename}
		s := w.begin(o)
		apply(t, s, mutation(w.pipeline, "before", 1, `"v":1,"z":1,"in":{"v":"x"},"o.p":1,"In":{"q":1}`))
		for more, want := range map[string]string{
			`"a":1,"a.b":"` + canary + `"`:      `field "a.b"; OpenSearch reads the dot as a path into an object, and "a" is a value: give attribute ["a.b"] another name (fields.rename of the sink: {'["a.b"]': NAME}), or leave it out (fields.exclude)`,
			`"v.b":1`:                           `"v" is a value: give attribute ["v.b"] another name`,
			`"in":{"v.w":1}`:                    `"in.v" is a value: give attribute in["v.w"] another name`,
			`"l":[{"k":1},{"k.x":1}]`:           `"l.k" is a value: give attribute l["k.x"] another name`,
			`"z.b":1`:                           `give attribute Label another name (fields.rename of the sink: {'Label': NAME})`,
			`"In":{"q.r":1}`:                    `give attribute In.Label another name`,
			`".":1`:                             `field "."; OpenSearch can't hold a field of this name`,
			`"..":1`:                            `(fields.rename of the sink: {'[".."]': NAME})`,
			`".c":1`:                            `give attribute [".c"] another name`,
			`"c..d":1`:                          `give attribute ["c..d"] another name`,
			`"c. .d":1`:                         `give attribute ["c. .d"] another name`,
			`"x":[{"":1},{".":1}]`:              `OpenSearch can't hold a field without a name: give attribute x[""] another name`,
			`"in":{"":1}`:                       `give attribute in[""] another name`,
			`"in":{" ":1}`:                      `give attribute in[" "] another name`,
			`"x":[{"y":{".":1}}]`:               `give attribute x.y["."] another name`,
			`"_id":1`:                           `field "_id"; OpenSearch keeps this name for itself: give attribute _id another name`,
			`"d":` + deep:                       `field "d"; it is nested deeper than the index takes: leave it out (fields.exclude of the sink: d), or raise index.mapping.depth.limit`,
			`"d.e":[` + deep + `],"f":{"g":{}}`: `fields.exclude of the sink: ["d.e"]`,
			`"o":"` + canary + `"`:              `field "o"; change the mapping, or exclude the field`,
			`"v":"` + canary + `","an.innocent.name":1`: `field "v"; change the mapping, or exclude the field`,
		} {
			rs, err := s.Apply(t.Context(), []search.Mutation{mutation(w.pipeline, "x", 1, more), mutation(w.pipeline, "fine", 1, `"fine.name.":1`)})
			if err != nil || rs[1].Err != nil {
				t.Fatalf("%s %s: %v %v", mode, more, err, rs)
			}
			err = rs[0].Err
			if _, again := pipeline.Retryable(err); err == nil || again || pipeline.IsFatal(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s:\n\t%v\n\twant %s", mode, more, err, want)
			} else if strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the error shows a value: %v", more, err)
			}
		}
	}
}

// A document fits after the limit in the hint, index.mapping.depth.limit, is raised.
func TestUnholdable_LimitOfDepth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("", `{"settings":{"number_of_shards":1,"number_of_replicas":0,"index.mapping.depth.limit":40}}`))
	apply(t, s, mutation(w.pipeline, "x", 1, `"d":`+strings.Repeat(`{"m":`, 25)+`1`+strings.Repeat("}", 25)))
}
