package opensearch

import "testing"

// phase returns the phase of an index, from the sink's record and the state of the index on the server. note adds only
// a new index to the record.
func TestPhase(t *testing.T) {
	noted := func(uuid string) *sinkRecord { return &sinkRecord{UUIDs: map[string]string{"docs": uuid}} }
	there := func(uuid string) *indexState { return &indexState{Settings: map[string]any{"index.uuid": uuid}} }
	for name, c := range map[string]struct {
		record *sinkRecord
		there  *indexState
		want   phase
	}{
		"never made":                       {&sinkRecord{}, nil, absent},
		"just made":                        {&sinkRecord{}, there("a"), unrecorded},
		"as it was noted":                  {noted("a"), there("a"), ready},
		"noted without a UUID":             {noted(""), there("a"), ready},
		"the server does not say its UUID": {noted("a"), there(""), ready},
		"gone":                             {noted("a"), nil, deleted},
		"made again":                       {noted("a"), there("b"), exchanged},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.record.phase("docs", c.there); got != c.want {
				t.Errorf("phase %d, want %d", got, c.want)
			}
			if wrote, want := c.record.noteUUID("docs", c.there), c.want == unrecorded; wrote != want {
				t.Errorf("noting it is %v, want %v", wrote, want)
			}
		})
	}
}
