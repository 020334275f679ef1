package backfill

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Counts of one have nouns and verbs in the singular.
func TestCountsOfOne(t *testing.T) {
	var out bytes.Buffer
	(&plannedRun{Source: "items x", Parts: 1, Items: 1, Bytes: 1}).write(&out)
	(&plannedRun{Source: "items y", Parts: 2, Items: 1000, Bytes: 2}).write(&out)
	(&result{Contested: []contested{{Sink: "a", Waiting: make([]item.Key, 1)}}, MoreContested: 1}).write(&out)
	(&result{Contested: []contested{{Sink: "a", Waiting: make([]item.Key, 2)}}, MoreContested: 2}).write(&out)
	for _, want := range []string{
		"items x: 1 part, 1 item, 1 byte\n", "items y: 2 parts, 1,000 items, 2 bytes\n",
		"and another one waits for it: ", "and 1 more row that several items claim\n",
		"and 2 others wait for it: ", "and 2 more rows that several items claim\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q it says %s", want, out.String())
		}
	}
}
