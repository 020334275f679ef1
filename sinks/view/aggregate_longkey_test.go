package view_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// The partition key of a sharded group is a text. So the limit of its length applies to the text, also for a binary
// attribute.
func TestAggregatePlan_ABinaryKeyThatIsTooLongAsText(t *testing.T) {
	for n, fits := range map[int]bool{1500: true, 1600: false} {
		it := order()
		it["Blob"] = sinktest.Attr{"B": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, n))}
		options := totals(revenue(t, newGroupMemory()))
		options.PK, options.Shards = group(t, "PK={Blob}"), 4
		d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: it})[0]}
		err := newAggregate(t, options).Plan(&d)
		if fits == strings.Contains(planned(&d), "2134 bytes") || err != nil {
			t.Errorf("%d bytes: %s, %v", n, planned(&d), err)
		}
	}
}
